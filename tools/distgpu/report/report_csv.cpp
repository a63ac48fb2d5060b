#include "report/report_csv.h"

#include "base/format.h"
#include "report/summary.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

constexpr std::array columns{"job",
                             "step",
                             "node",
                             "kind",
                             "gpu",
                             "rank",
                             "model",
                             "busy_mean",
                             "busy_p10",
                             "memory_peak",
                             "memory_total",
                             "joules",
                             "xids",
                             "lost_after",
                             "cpus",
                             "cpu_seconds",
                             "worker_cpu_seconds",
                             "bytes_read",
                             "bytes_written",
                             "bytes_exchanged",
                             "first_gpu_after",
                             "ended_after",
                             "wait_status",
                             "restarts"};

// A field with a comma, a quote or the end of a line is quoted. Texts come from files: printable()
// leaves no end of a line.
std::string field(std::string_view text) {
    std::string plain = printable(text);
    if (plain.find_first_of(",\"") == std::string::npos) return plain;
    std::string quoted = "\"";
    for (const char c : plain) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

template <class Value>
std::string field(const std::optional<Value>& value) {
    return value ? formatted("{}", *value) : "";
}

std::string line(const std::vector<std::string>& fields) {
    return join(fields, ",") + "\r\n";
}

std::string gpu_line(const StepReport& report, const GpuOnNode& each) {
    const GpuReport& gpu = *each.gpu;
    std::optional<double> mean;
    std::optional<std::uint32_t> p10;
    if (is_measured(gpu)) {
        mean = gpu.busy.mean();
        p10 = gpu.busy.quantile(0.1);
    }
    const auto memory = [&](std::uint64_t bytes) {
        return gpu.memory_total > 0 ? std::to_string(bytes) : "";
    };
    std::vector<std::string> xids;
    for (const XidEvent& xid : gpu.xids) xids.push_back(std::to_string(xid.number));
    std::vector<std::string> fields{
        field(report.job), field(report.step),      field(each.node->node),   "gpu",
        field(gpu.pci),    join(gpu.ranks, " "),    field(gpu.model),         field(mean),
        field(p10),        memory(gpu.memory_peak), memory(gpu.memory_total), field(gpu.joules),
        join(xids, " "),   field(gpu.lost)};
    fields.resize(columns.size());
    return line(fields);
}

std::string rank_line(const StepReport& report, const RankOnNode& each) {
    const RankReport& rank = *each.rank;
    std::vector<std::string> gpus;
    for (const std::string& gpu : rank.gpus) gpus.push_back(gpu);
    return line({field(report.job),
                 field(report.step),
                 field(each.node->node),
                 "rank",
                 field(join(gpus, " ")),
                 std::to_string(rank.rank),
                 "",
                 field(mean_busy(each)),
                 "",
                 std::to_string(rank.memory_peak),
                 "",
                 "",
                 "",
                 "",
                 std::to_string(rank.cpus),
                 formatted("{}", rank.cpu_seconds),
                 formatted("{}", rank.worker_cpu_seconds),
                 std::to_string(rank.bytes_read),
                 std::to_string(rank.bytes_written),
                 std::to_string(rank.bytes_exchanged),
                 field(rank.first_gpu),
                 field(rank.ended),
                 field(rank.status),
                 std::to_string(rank.restarts)});
}

}  // namespace

std::string report_csv(const StepReport& report) {
    std::string text = line({columns.begin(), columns.end()});
    for (const GpuOnNode& each : gpus_of(report)) text += gpu_line(report, each);
    for (const RankOnNode& each : ranks_of(report)) text += rank_line(report, each);
    return text;
}

}  // namespace distgpu

// What the texts of a report share: its GPUs and ranks in one list each, their names, and
// quantities as people write them. A name may come from an untrusted file.
#pragma once

#include "report/node_report.h"

#include <functional>
#include <span>

namespace distgpu {

// These point into a report, which must outlive them.
struct GpuOnNode {
    const NodeReport* node = nullptr;
    const GpuReport* gpu = nullptr;
};

struct RankOnNode {
    const NodeReport* node = nullptr;
    const RankReport* rank = nullptr;
};

std::vector<GpuOnNode> gpus_of(const StepReport& report);    // by node, then by PCI address
std::vector<RankOnNode> ranks_of(const StepReport& report);  // ascending

// The mean of the items that have a value, which `value` returns; nullopt if none has one.
template <class Items, class Value = std::identity>
std::optional<double> mean_of(const Items& items, Value value = {}) {
    double sum = 0;
    std::size_t count = 0;
    for (const auto& item : items) {
        const std::optional<double> number = std::invoke(value, item);
        sum += number.value_or(0);
        if (number) ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
}

// Whether a library said how busy it is. A GPU that was not measured is not a GPU that was idle.
bool is_measured(const GpuReport& gpu);

// In percent, of those that were measured.
std::optional<double> mean_busy(std::span<const GpuOnNode> gpus);

// The GPUs that the rank may use, of those on its node.
std::vector<GpuOnNode> gpus_of(const RankOnNode& rank);
std::optional<double> mean_busy(const RankOnNode& rank);

// The middle of the values in ascending order, the upper one of two. Precondition: there is one.
double median_of(std::vector<double> values);

double began(const StepReport& report);       // of the first node; 0 without reports
double seconds_of(const StepReport& report);  // from then until the last report was written
bool has_ended(const StepReport& report);     // as far as there are reports

// "GPU 0000:06:00.0 on node07 (rank 12)".
std::string name_of(const GpuOnNode& gpu);

std::string busy_text(double percent);   // "71%"
std::string time_text(double seconds);   // "45 s", "12 min", "1 h 2 min", "3 d 4 h"
std::string bytes_text(double bytes);    // "512 B", "1.5 GiB", "71 GiB"
std::string energy_text(double joules);  // "350 Wh", "1.2 kWh"

// "step 5.0 on cluster hpc (pytorch,report): 16 ranks on 2 nodes, 1 h 2 min".
std::string heading(const StepReport& report);

// The notes of all nodes, each once, with the number of nodes if there are several.
std::vector<std::string> notes_of(const StepReport& report);

// "the report took 0.02% of a CPU per node, 12 MiB".
std::string cost_text(const StepReport& report);

}  // namespace distgpu

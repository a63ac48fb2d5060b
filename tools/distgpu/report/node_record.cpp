#include "report/node_record.h"

#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace distgpu {
namespace {

// What was used from one moment to the other; a counter that has fallen begins anew.
double since(double before, double now) {
    return now < before ? now : now - before;
}

std::uint64_t since(std::uint64_t before, std::uint64_t now) {
    return now < before ? now : now - before;
}

std::vector<double> sums_per(const Intervals& series, double seconds) {
    std::vector<double> values;
    for (const Interval& interval : series) values.push_back(interval.sum / seconds);
    return values;
}

std::vector<double> most_of(const Intervals& series) {
    std::vector<double> values;
    for (const Interval& interval : series) values.push_back(interval.most);
    return values;
}

std::vector<std::optional<std::uint32_t>> means_of(const Intervals& series) {
    std::vector<std::optional<std::uint32_t>> values;
    for (const Interval& interval : series) {
        values.emplace_back();
        if (interval.count == 0) continue;
        const double mean = interval.sum / static_cast<double>(interval.count);
        values.back() = static_cast<std::uint32_t>(std::lround(mean));
    }
    return values;
}

}  // namespace

NodeRecord::NodeRecord(std::string node, double began, double interval)
    : node_(std::move(node)), began_(began), timeline_(interval) {}

std::size_t NodeRecord::index_of(double time) {
    return timeline_.index_of(std::max(time, 0.0), [this] { fold_all(); });
}

void NodeRecord::fold_all() {
    for (auto& [number, rank] : ranks_) {
        for (Intervals* series :
             {&rank.cpu, &rank.worker_cpu, &rank.cpu_wait, &rank.worker_cpu_wait, &rank.memory}) {
            fold(*series);
        }
    }
    for (auto& [pci, gpu] : gpus_) {
        for (Intervals* series : {&gpu.busy, &gpu.memory}) fold(*series);
    }
}

void NodeRecord::add(double time, const RankProcess& process, const RankCounters& counters) {
    if (ranks_.size() == max_recorded_ranks && !ranks_.contains(process.rank)) return;
    if (process.has_own_rank) {
        forget_launcher_of(process);
    } else if (have_seen_ranks_of(process)) {
        return;
    }
    const auto [found, is_new] = ranks_.try_emplace(process.rank);
    Rank& rank = found->second;
    rank.has_own_rank = process.has_own_rank;
    if (is_new || rank.pid != process.pid || rank.begin != process.begin) {
        if (!is_new) ++rank.report.restarts;
        rank.before.cpu_seconds += std::exchange(rank.last.cpu_seconds, 0);
        rank.before.worker_cpu_seconds += std::exchange(rank.last.worker_cpu_seconds, 0);
        rank.last.cpu_wait_seconds = rank.last.worker_cpu_wait_seconds = 0;
        rank.before.bytes_read += std::exchange(rank.last.bytes_read, 0);
        rank.before.bytes_written += std::exchange(rank.last.bytes_written, 0);
        rank.exchanged = 0;
        rank.pid = process.pid;
        rank.begin = process.begin;
        rank.report.ended.reset();
        rank.report.status.reset();
    }
    rank.report.rank = process.rank;
    rank.report.task = process.task;
    rank.report.program = process.program;
    rank.report.cpus = process.cpus;
    add_use(time, rank, counters);
}

// Of a launcher and a rank with its own number: Slurm's number of the launcher's task may be that
// of another task's rank.
bool NodeRecord::has_task_or_number_of(const RankProcess& process, std::uint32_t number,
                                       const Rank& rank) {
    return rank.report.task == process.task || number == process.rank;
}

// A launcher outlives its ranks.
bool NodeRecord::have_seen_ranks_of(const RankProcess& launcher) const {
    return std::ranges::any_of(ranks_, [&](const auto& each) {
        const auto& [number, rank] = each;
        return rank.has_own_rank && has_task_or_number_of(launcher, number, rank);
    });
}

// Another launcher may have had the number of this rank.
void NodeRecord::forget_launcher_of(const RankProcess& process) {
    std::erase_if(ranks_, [&](const auto& each) {
        const auto& [number, rank] = each;
        if (rank.has_own_rank || !has_task_or_number_of(process, number, rank)) return false;
        for (auto& [pci, gpu] : gpus_) gpu.ranks.erase(number);
        return true;
    });
}

// A counter that is lower than before has lost processes that another one than the rank waited for.
void NodeRecord::add_use(double time, Rank& rank, const RankCounters& counters) {
    RankCounters& last = rank.last;
    const std::size_t index = index_of(time);
    const auto raise = [](auto& value, auto now) {
        const auto grown = std::max(value, now);
        return grown - std::exchange(value, grown);
    };
    add_to(rank.cpu, index, raise(last.cpu_seconds, counters.cpu_seconds));
    add_to(rank.worker_cpu, index, raise(last.worker_cpu_seconds, counters.worker_cpu_seconds));
    const auto waited = [](double& before, double now) {
        return std::max(now - std::exchange(before, now), 0.0);
    };
    add_to(rank.cpu_wait, index, waited(last.cpu_wait_seconds, counters.cpu_wait_seconds));
    add_to(rank.worker_cpu_wait, index,
           waited(last.worker_cpu_wait_seconds, counters.worker_cpu_wait_seconds));
    raise(last.bytes_read, counters.bytes_read);
    raise(last.bytes_written, counters.bytes_written);
    rank.report.memory_peak = std::max(rank.report.memory_peak, counters.memory);
    add_to(rank.memory, index, static_cast<double>(counters.memory));
}

void NodeRecord::add_exchanged(double time, std::uint32_t rank, std::uint64_t bytes) {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return;
    RankReport& report = found->second.report;
    report.bytes_exchanged += since(std::exchange(found->second.exchanged, bytes), bytes);
    if (report.bytes_exchanged > 0 && !report.first_bytes) report.first_bytes = time;
}

void NodeRecord::add(double time, const GpuReadings& readings) {
    gpu_cpu_seconds_ = readings.cpu_seconds;
    if (!readings.problem.empty()) add_note(readings.problem);
    for (const GpuReading& reading : readings.gpus) add_gpu(time, reading);
    for (const ProcessGpus& process : readings.processes) {
        const auto rank = std::ranges::find_if(ranks_, [&](const auto& each) {
            return static_cast<std::uint32_t>(each.second.pid) == process.pid;
        });
        if (rank == ranks_.end()) continue;
        rank->second.report.gpus = process.gpus;
        for (const std::string& pci : process.gpus) {
            const auto gpu = gpus_.find(pci);
            if (gpu != gpus_.end()) gpu->second.ranks.insert(rank->first);
        }
    }
}

void NodeRecord::add_gpu(double time, const GpuReading& reading) {
    if (gpus_.size() == max_recorded_gpus && !gpus_.contains(reading.pci)) return;
    const auto [found, is_new] = gpus_.try_emplace(reading.pci);
    Gpu& gpu = found->second;
    GpuReport& report = gpu.report;
    report.pci = reading.pci;
    if (reading.is_lost) {
        if (!report.lost) report.lost = time;
        gpu.last_time = time;
        return;
    }
    report.lost.reset();
    report.uuid = reading.uuid;
    report.model = reading.model;
    report.source = reading.source;
    report.memory_total = reading.memory_total;
    report.memory_peak = std::max(report.memory_peak, reading.memory_used);
    const std::size_t index = index_of(time);
    if (reading.memory_total > 0) {
        add_to(gpu.memory, index, static_cast<double>(reading.memory_used));
    }
    const double passed = is_new ? 0 : time - gpu.last_time;
    gpu.last_time = time;
    for (const std::string& reason : reading.reasons) gpu.slow[reason] += passed;
    for (const std::uint32_t number : reading.xids) report.xids.push_back({number, time});
    report.pcie_width_max = reading.pcie_width_max;
    if (reading.pcie_width > 0) {
        const std::uint32_t width = report.pcie_width;
        report.pcie_width = width == 0 ? reading.pcie_width : std::min(width, reading.pcie_width);
    }
    add_energy(passed, gpu, reading);
    add_load(time, gpu, reading);
}

// The driver's counter begins at 0 when the driver is loaded again: what it then has was used
// since.
void NodeRecord::add_energy(double seconds, Gpu& gpu, const GpuReading& reading) {
    std::optional<double>& sum = gpu.report.joules;
    if (reading.joules) {
        if (gpu.joules) sum = sum.value_or(0) + since(*gpu.joules, *reading.joules);
        gpu.joules = reading.joules;
    } else if (reading.watts) {
        sum = sum.value_or(0) + *reading.watts * seconds;
    }
}

// The library keeps samples from before the step, too.
void NodeRecord::add_load(double time, Gpu& gpu, const GpuReading& reading) {
    for (std::size_t i = 0; i < std::min(reading.times.size(), reading.busy.size()); ++i) {
        const double when = reading.times[i] - began_;
        if (when < 0 || when > time) continue;
        const std::uint32_t percent = std::min(reading.busy[i], 100U);
        gpu.report.busy.add(percent);
        add_to(gpu.busy, index_of(when), percent);
        if (percent > 0 && !gpu.first_work) gpu.first_work = when;
    }
}

void NodeRecord::end_task(double time, std::uint32_t task, std::optional<int> status,
                          std::optional<std::uint32_t> only_rank) {
    bool was_seen = false;
    for (auto& [number, rank] : ranks_) {
        if (rank.report.task != task) continue;
        was_seen = true;
        rank.report.ended = time;
        rank.report.status = status;
    }
    if (was_seen || !only_rank || ranks_.size() == max_recorded_ranks) return;
    RankReport& report = ranks_[*only_rank].report;
    report.rank = *only_rank;
    report.task = task;
    report.ended = time;
    report.status = status;
}

void NodeRecord::add_note(std::string note) {
    constexpr std::size_t most = 16;
    if (notes_.size() < most) notes_.insert(std::move(note));
}

RankReport NodeRecord::report_of(const Rank& rank) const {
    RankReport report = rank.report;
    report.cpu_seconds = rank.before.cpu_seconds + rank.last.cpu_seconds;
    report.worker_cpu_seconds = rank.before.worker_cpu_seconds + rank.last.worker_cpu_seconds;
    report.bytes_read = rank.before.bytes_read + rank.last.bytes_read;
    report.bytes_written = rank.before.bytes_written + rank.last.bytes_written;
    report.cpu_series = sums_per(rank.cpu, timeline_.interval());
    report.worker_cpu_series = sums_per(rank.worker_cpu, timeline_.interval());
    report.cpu_wait_series = sums_per(rank.cpu_wait, timeline_.interval());
    report.worker_cpu_wait_series = sums_per(rank.worker_cpu_wait, timeline_.interval());
    report.memory_series = most_of(rank.memory);
    for (const std::string& pci : report.gpus) {
        const auto gpu = gpus_.find(pci);
        if (gpu == gpus_.end() || !gpu->second.first_work) continue;
        const double work = *gpu->second.first_work;
        report.first_gpu = std::min(report.first_gpu.value_or(work), work);
    }
    return report;
}

GpuReport NodeRecord::report_of(const Gpu& gpu) {
    GpuReport report = gpu.report;
    report.ranks.assign(gpu.ranks.begin(), gpu.ranks.end());
    for (const auto& [reason, seconds] : gpu.slow) report.slow_clocks.push_back({reason, seconds});
    report.busy_series = means_of(gpu.busy);
    report.memory_series = most_of(gpu.memory);
    return report;
}

NodeReport NodeRecord::report(double time, bool is_complete) const {
    NodeReport report{.node = node_,
                      .began = began_,
                      .seconds = time,
                      .is_complete = is_complete,
                      .interval = timeline_.interval()};
    for (const auto& [pci, gpu] : gpus_) report.gpus.push_back(report_of(gpu));
    for (const auto& [number, rank] : ranks_) report.ranks.push_back(report_of(rank));
    report.cost.gpu_cpu_seconds = gpu_cpu_seconds_;
    report.notes.assign(notes_.begin(), notes_.end());
    return report;
}

}  // namespace distgpu

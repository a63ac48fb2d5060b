// A step of an hour in which nothing stands out, for tests to change.
#pragma once

#include "report/node_report.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace distgpu {

inline constexpr double gib = 1U << 30U;
inline constexpr std::size_t intervals = 60;  // of a minute

inline void set_busy(GpuReport& gpu, std::uint32_t percent) {
    gpu.busy = {};
    gpu.busy.add(percent, 3600);
    gpu.busy_series.assign(intervals, percent);
}

// 300 W for an hour.
inline GpuReport made_up_gpu(std::uint32_t local_rank, std::uint32_t rank) {
    GpuReport gpu;
    gpu.pci = "0000:0" + std::to_string(local_rank + 1) + ":00.0";
    gpu.model = "NVIDIA H100";
    gpu.source = "NVML";
    gpu.ranks = {rank};
    set_busy(gpu, 95);
    gpu.memory_total = std::uint64_t{80} << 30U;
    gpu.memory_peak = std::uint64_t{40} << 30U;
    gpu.joules = 300 * 3600;
    gpu.pcie_width = gpu.pcie_width_max = 16;
    gpu.memory_series.assign(intervals, 40 * gib);
    return gpu;
}

// One core for itself and two for its data loaders, of 16.
inline RankReport made_up_rank(std::uint32_t local_rank, std::uint32_t rank) {
    RankReport report;
    report.rank = report.task = rank;
    report.program = "python3";
    report.gpus = {"0000:0" + std::to_string(local_rank + 1) + ":00.0"};
    report.cpus = 16;
    report.cpu_seconds = 3600;
    report.worker_cpu_seconds = 7200;
    report.memory_peak = std::uint64_t{8} << 30U;
    report.bytes_read = std::uint64_t{100} << 30U;
    report.bytes_written = std::uint64_t{1} << 30U;
    report.bytes_exchanged = std::uint64_t{2} << 20U;
    report.first_gpu = 20;
    report.first_bytes = 5;
    report.ended = 3600;
    report.status = 0;
    report.cpu_series.assign(intervals, 1);
    report.worker_cpu_series.assign(intervals, 2);
    report.memory_series.assign(intervals, 8 * gib);
    return report;
}

// Nodes n1, n2, ..., up to 9 GPUs on each; a rank for each GPU.
inline StepReport made_up_report(std::uint32_t nodes, std::uint32_t gpus) {
    StepReport report;
    report.cluster = "hpc";
    report.job = "5";
    report.step = "5.0";
    report.spec = "pytorch,report";
    report.nodes = nodes;
    report.tasks = nodes * gpus;
    for (std::uint32_t i = 0; i < nodes; ++i) {
        NodeReport node;
        node.node = "n" + std::to_string(i + 1);
        node.began = 1'800'000'000;
        node.seconds = 3600;
        node.is_complete = true;
        node.interval = 60;
        node.cost = {.cpu_seconds = 1.8, .memory_peak = 12U << 20U, .gpu_cpu_seconds = 1.8};
        for (std::uint32_t k = 0; k < gpus; ++k) {
            node.gpus.push_back(made_up_gpu(k, i * gpus + k));
            node.ranks.push_back(made_up_rank(k, i * gpus + k));
        }
        report.reports.push_back(node);
    }
    return report;
}

// Of a report with this many GPUs per node.
inline GpuReport& gpu_of(StepReport& report, std::size_t rank) {
    const std::size_t gpus = report.reports[0].gpus.size();
    return report.reports[rank / gpus].gpus[rank % gpus];
}

inline RankReport& rank_of(StepReport& report, std::size_t rank) {
    const std::size_t ranks = report.reports[0].ranks.size();
    return report.reports[rank / ranks].ranks[rank % ranks];
}

// 14.8 cores for the data loaders and one for the program.
inline void starve(StepReport& report, std::size_t rank) {
    set_busy(gpu_of(report, rank), 38);
    rank_of(report, rank).worker_cpu_series.assign(intervals, 14.8);
}

}  // namespace distgpu

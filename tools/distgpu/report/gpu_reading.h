// What the reader of a node's GPUs tells its sampler: one line of JSON for each of its questions.
//
// The reader is a process of its own, `distgpu report --read-gpus`, because a driver that hangs
// blocks the process that calls it, and because the vendors' libraries need more memory than the
// sampler may.
#pragma once

#include "report/node_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A GPU at one moment, and its load since the last one.
struct GpuReading {
    std::string pci{};
    std::string uuid{};
    std::string model{};
    std::string source{};               // as in GpuReport
    std::vector<double> times{};        // of the load's samples, seconds since 1970
    std::vector<std::uint32_t> busy{};  // percent, for each of them
    std::uint64_t memory_total = 0;     // bytes; 0: unknown
    std::uint64_t memory_used = 0;
    std::optional<double> joules{};      // since the driver was loaded
    std::optional<double> watts{};       // now; only where the GPU counts no joules
    std::vector<std::string> reasons{};  // why its clocks are low now
    std::vector<std::uint32_t> xids{};   // since the last reading
    std::uint32_t pcie_width = 0;        // 0: unknown
    std::uint32_t pcie_width_max = 0;
    bool is_lost = false;  // it no longer answers its driver

    bool operator==(const GpuReading&) const = default;
    static void fields(auto& io, auto& it) {
        io("pci", it.pci, "uuid", it.uuid, "model", it.model, "source", it.source, "times",
           it.times, "busy", it.busy, "memory_total", it.memory_total, "memory_used",
           it.memory_used, "joules", it.joules, "watts", it.watts, "reasons", it.reasons, "xids",
           it.xids, "pcie_width", it.pcie_width, "pcie_width_max", it.pcie_width_max, "lost",
           it.is_lost);
    }
};

// The GPUs that a rank's process may use.
struct ProcessGpus {
    std::uint32_t pid = 0;
    std::vector<std::string> gpus{};  // PCI addresses

    bool operator==(const ProcessGpus&) const = default;
    static void fields(auto& io, auto& it) { io("pid", it.pid, "gpus", it.gpus); }
};

struct GpuReadings {
    double cpu_seconds = 0;  // that the reader has used so far
    std::vector<ProcessGpus> processes{};
    std::vector<GpuReading> gpus{};  // those of these processes
    std::string problem{};           // why GPUs are not measured; empty if they are

    bool operator==(const GpuReadings&) const = default;
    static void fields(auto& io, auto& it) {
        io("cpu_seconds", it.cpu_seconds, "processes", it.processes, "gpus", it.gpus, "problem",
           it.problem);
    }
};

}  // namespace distgpu

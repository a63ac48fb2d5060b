// What the key report records of a step on one node: its GPUs, its ranks, and what that cost. A
// report's file holds one of these for each node.
#pragma once

#include "base/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Each struct lists its JSON fields in fields() (base/json_fields.h). Bytes are bytes, times are
// seconds since the node's sampler began, and a missing value was not measured.

// A release that changes what a field means counts it up.
inline constexpr std::string_view report_schema = "distgpu.report/1";

// Equal intervals since the beginning, up to this many; when they are full, each two become one.
inline constexpr std::size_t max_intervals = 240;

// How many samples showed 0%, 1%, ... 100%: exact for a mean and a quantile, whatever the length.
struct BusyShare {
    std::vector<std::uint32_t> counts;  // 101, or empty if there are no samples

    std::uint64_t samples() const;
    double mean() const;  // percent; 0 without samples
    // The percentage that this part of the samples (0.1 for p10) does not exceed; 0 without
    // samples.
    std::uint32_t quantile(double part) const;
    void add(std::uint32_t percent, std::uint32_t times = 1);

    bool operator==(const BusyShare&) const = default;
    static void fields(auto& io, auto& it) { io("counts", it.counts); }
};

struct XidEvent {
    std::uint32_t number = 0;  // NVIDIA's XID Errors
    double time = 0;

    bool operator==(const XidEvent&) const = default;
    static void fields(auto& io, auto& it) { io("number", it.number, "time", it.time); }
};

// A reason for which the GPU's clocks were lower than they could be.
struct SlowClock {
    std::string reason;  // "power cap", "hardware thermal", ...
    double seconds = 0;  // during which NVML gave it

    bool operator==(const SlowClock&) const = default;
    static void fields(auto& io, auto& it) { io("reason", it.reason, "seconds", it.seconds); }
};

// One physical GPU, however many ranks use it.
struct GpuReport {
    std::string uuid{};                  // empty where the vendor's library does not tell
    std::string pci{};                   // "0000:06:00.0"
    std::string model{};                 // empty if unknown
    std::string source{};                // "NVML", "amdgpu"; empty: not measured
    std::vector<std::uint32_t> ranks{};  // that may use it, ascending
    BusyShare busy{};
    std::uint64_t memory_total = 0;
    std::uint64_t memory_peak = 0;
    std::optional<double> joules{};
    std::vector<SlowClock> slow_clocks{};
    std::vector<XidEvent> xids{};
    std::uint32_t pcie_width = 0;      // the narrowest that was seen; 0: unknown
    std::uint32_t pcie_width_max = 0;  // of the GPU and its slot
    std::optional<double> lost{};      // when it fell off the bus
    std::vector<std::optional<std::uint32_t>> busy_series{};  // percent in each interval
    std::vector<double> memory_series{};                      // most bytes in each interval

    bool operator==(const GpuReport&) const = default;
    static void fields(auto& io, auto& it) {
        io("uuid", it.uuid, "pci", it.pci, "model", it.model, "source", it.source, "ranks",
           it.ranks, "busy", it.busy, "memory_total", it.memory_total, "memory_peak",
           it.memory_peak, "joules", it.joules, "slow_clocks", it.slow_clocks, "xids", it.xids,
           "pcie_width", it.pcie_width, "pcie_width_max", it.pcie_width_max, "lost", it.lost,
           "busy_series", it.busy_series, "memory_series", it.memory_series);
    }
};

struct RankReport {
    std::uint32_t rank = 0;
    std::uint32_t task = 0;           // Slurm's number of the task that it belongs to
    std::string program{};            // its name only: "python3"
    std::vector<std::string> gpus{};  // PCI addresses of those that it may use
    std::uint32_t cpus = 0;           // on which it may run
    double cpu_seconds = 0;           // its own
    double worker_cpu_seconds = 0;    // of the processes below it, such as data loaders
    std::uint64_t memory_peak = 0;    // with these processes
    std::uint64_t bytes_read = 0;     // from files, pipes and storage, with these processes
    std::uint64_t bytes_written = 0;
    std::uint64_t bytes_exchanged = 0;    // over TCP; at least, as a connection may end unseen
    std::optional<double> first_gpu{};    // when a GPU of its own first worked
    std::optional<double> first_bytes{};  // when it first exchanged data with another process
    std::optional<double> ended{};
    std::optional<int> status{};              // wait status of its task
    std::uint32_t restarts = 0;               // how often a launcher started it anew
    std::vector<double> cpu_series{};         // cores in use in each interval
    std::vector<double> worker_cpu_series{};  // the same of the processes below it
    // Threads that could run, but had no CPU: its main one, and those of the processes below it.
    std::vector<double> cpu_wait_series{};
    std::vector<double> worker_cpu_wait_series{};
    std::vector<double> memory_series{};  // most bytes in each interval

    bool operator==(const RankReport&) const = default;
    static void fields(auto& io, auto& it) {
        io("rank", it.rank, "task", it.task, "program", it.program, "gpus", it.gpus, "cpus",
           it.cpus, "cpu_seconds", it.cpu_seconds, "worker_cpu_seconds", it.worker_cpu_seconds,
           "memory_peak", it.memory_peak, "bytes_read", it.bytes_read, "bytes_written",
           it.bytes_written, "bytes_exchanged", it.bytes_exchanged, "first_gpu", it.first_gpu,
           "first_bytes", it.first_bytes, "ended", it.ended, "status", it.status, "restarts",
           it.restarts, "cpu_series", it.cpu_series, "worker_cpu_series", it.worker_cpu_series,
           "cpu_wait_series", it.cpu_wait_series, "worker_cpu_wait_series",
           it.worker_cpu_wait_series, "memory_series", it.memory_series);
    }
};

// What the report itself cost on the node.
struct ReportCost {
    double cpu_seconds = 0;  // of the sampler
    std::uint64_t memory_peak = 0;
    double gpu_cpu_seconds = 0;  // of the vendor's library, in a process of its own
    std::uint64_t writes = 0;

    bool operator==(const ReportCost&) const = default;
    static void fields(auto& io, auto& it) {
        io("cpu_seconds", it.cpu_seconds, "memory_peak", it.memory_peak, "gpu_cpu_seconds",
           it.gpu_cpu_seconds, "writes", it.writes);
    }
};

struct NodeReport {
    std::string node;
    double began = 0;                 // seconds since 1970
    double seconds = 0;               // until this was written
    bool is_complete = false;         // the node's tasks had ended
    double interval = 0;              // seconds of one interval of the series
    std::vector<GpuReport> gpus{};    // by PCI address
    std::vector<RankReport> ranks{};  // ascending
    std::uint64_t network_bytes = 0;  // received and sent by the interfaces and HCA ports
    std::string out_of_memory{};      // out_of_memory_text() of its control group
    ReportCost cost{};
    std::vector<std::string> notes{};  // what was not measured, and why

    bool operator==(const NodeReport&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "began", it.began, "seconds", it.seconds, "complete", it.is_complete,
           "interval", it.interval, "gpus", it.gpus, "ranks", it.ranks, "network_bytes",
           it.network_bytes, "out_of_memory", it.out_of_memory, "cost", it.cost, "notes", it.notes);
    }
};

// A report's file: of one node while the step runs, of all nodes when it has ended.
struct StepReport {
    std::string schema{report_schema};
    std::string cluster{};
    std::string job{};   // as squeue shows it: "5", "5_1", "5+1"
    std::string step{};  // "5.0"
    std::string spec{};  // of --distgpu: "pytorch,report"
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;
    std::vector<NodeReport> reports{};  // in the order of the nodes; fewer where some are missing

    bool operator==(const StepReport&) const = default;
    static void fields(auto& io, auto& it) {
        io("schema", it.schema, "cluster", it.cluster, "job", it.job, "step", it.step, "spec",
           it.spec, "nodes", it.nodes, "tasks", it.tasks, "reports", it.reports);
    }
};

// One line of JSON.
std::string report_json(const StepReport& report);

// nullopt for anything else, and for the schema of a later release.
std::optional<StepReport> read_report(std::string_view text);

}  // namespace distgpu

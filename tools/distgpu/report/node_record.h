// Collects the samples of one node into its report. Uses bounded memory, however long the step
// runs.
#pragma once

#include "report/gpu_reading.h"
#include "report/node_report.h"
#include "report/rank_counters.h"
#include "report/timeline.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace distgpu {

// More than any node has; samples of others are left out.
inline constexpr std::size_t max_recorded_gpus = 64;
inline constexpr std::size_t max_recorded_ranks = 1024;

class NodeRecord {
  public:
    // `began`: seconds since 1970. `interval`: of the series, in seconds, until they are full.
    NodeRecord(std::string node, double began, double interval);

    // Times are seconds since the beginning, and never fall.

    // A process that is new for its rank is a restart of it: what the last one used stays counted.
    // A launcher counts as its task's rank until ranks of that task have been seen.
    void add(double time, const RankProcess& process, const RankCounters& counters);

    // TCP bytes of a rank's process since that began, as far as its connections are open.
    void add_exchanged(double time, std::uint32_t rank, std::uint64_t bytes);

    void add(double time, const GpuReadings& readings);

    // A task has ended: its ranks too. `status`: as from waitpid(); nullopt if unknown.
    // `only_rank`: the task's, if it has no other, which may have ended before it was seen.
    void end_task(double time, std::uint32_t task, std::optional<int> status,
                  std::optional<std::uint32_t> only_rank);

    // Something that was not measured, once.
    void add_note(std::string note);

    NodeReport report(double time, bool is_complete) const;

  private:
    struct Rank {
        RankReport report{};
        bool has_own_rank = true;
        pid_t pid = 0;
        std::uint64_t begin = 0;
        RankCounters last{};          // of its present process
        RankCounters before{};        // of its earlier ones
        std::uint64_t exchanged = 0;  // as last seen
        Intervals cpu{};
        Intervals worker_cpu{};
        Intervals cpu_wait{};
        Intervals worker_cpu_wait{};
        Intervals memory{};
    };
    struct Gpu {
        GpuReport report{};
        std::set<std::uint32_t> ranks{};
        std::map<std::string, double> slow{};
        std::optional<double> joules{};  // the counter, as last seen
        std::optional<double> first_work{};
        double last_time = 0;
        Intervals busy{};
        Intervals memory{};
    };

    std::size_t index_of(double time);
    void fold_all();
    static bool has_task_or_number_of(const RankProcess& process, std::uint32_t number,
                                      const Rank& rank);
    bool have_seen_ranks_of(const RankProcess& launcher) const;
    void forget_launcher_of(const RankProcess& process);
    void add_use(double time, Rank& rank, const RankCounters& counters);
    void add_gpu(double time, const GpuReading& reading);
    void add_load(double time, Gpu& gpu, const GpuReading& reading);
    static void add_energy(double seconds, Gpu& gpu, const GpuReading& reading);
    RankReport report_of(const Rank& rank) const;
    static GpuReport report_of(const Gpu& gpu);

    std::string node_;
    double began_;
    Timeline timeline_;
    std::map<std::uint32_t, Rank> ranks_;
    std::map<std::string, Gpu> gpus_;  // by PCI address
    double gpu_cpu_seconds_ = 0;
    std::set<std::string> notes_;
};

}  // namespace distgpu

// Sends a signal to the ranks of a step on this node. Slurm itself signals only the processes whose
// parent is slurmstepd where the site tracks processes by control groups (proctrack_cgroup.c, 22.05
// to 26.05): below a shell or a launcher such as torchrun no rank gets its signals.
#pragma once

#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "inspect/task_processes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Signal {
    int number = 0;
    std::string_view name;  // "SIGUSR2"
    // Without a handler it ends the process, so only ranks with a handler get it.
    bool needs_handler = true;
};

// SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 or SIGCONT, with or without "SIG"; nullopt for others.
std::optional<Signal> find_signal(std::string_view name);
std::optional<Signal> find_signal(int number);

// Ranks as users write them: "0-3,8". All ranks if the list is empty.
struct RankList {
    struct Range {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
    };
    std::vector<Range> ranges{};

    static std::optional<RankList> parse(std::string_view text);
    bool contains(std::uint32_t rank) const;
    // The ranks of the list, up to 65,536, that are not among `ranks`, which are ascending.
    std::vector<std::uint32_t> without(const std::vector<std::uint32_t>& ranks) const;
};

// What happened on a node: each rank is in one of the lists.
struct SignalledNode {
    std::vector<std::uint32_t> sent{};
    std::vector<std::uint32_t> without_handler{};
    std::vector<std::uint32_t> ended{};  // meanwhile
    std::string problem{};               // why the processes could not be found

    static void fields(auto& io, auto& it) {
        io("sent", it.sent, "without_handler", it.without_handler, "ended", it.ended, "problem",
           it.problem);
    }
};
JsonText to_json(const SignalledNode& node);
std::optional<SignalledNode> read_signalled_node(std::string_view text);  // nullopt: not valid

// Sends the signal to each rank of the list on this node, once: to the process that find_ranks()
// names, and not to shells, launchers or a DataLoader's workers. `first_task`: of this node's
// component of a heterogeneous step (StepPart). `dry_run`: only finds out who would get it. Error:
// other_owner_error().
Result<SignalledNode> signal_ranks(const std::string& node, const std::string& step,
                                   std::uint32_t first_task, const Signal& signal,
                                   const RankList& ranks, bool dry_run,
                                   const Environment& environment);

// The same for the ranks of one task, `first` and its descendants.
SignalledNode signal_ranks_of_task(const StepProcess& first, const Signal& signal);
bool has_rank_with_handler(const StepProcess& first, const Signal& signal);

// Whether the text of /proc/PID/status (proc(5)) says that the process has a handler; and whether
// the process has one now.
bool has_handler(std::string_view status, int signal);
bool has_handler(pid_t pid, const Signal& signal);

}  // namespace distgpu

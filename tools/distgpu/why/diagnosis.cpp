// What was seen of a step: its ranks in groups, the odd ones in detail, and what has ended.
#include "why/diagnosis.h"

#include "base/format.h"
#include "why/judgement.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

// Where a thread sleeps that waits for a file system: NFS, FUSE, Lustre, GPFS, BeeGFS, 9p, and any
// through the page cache (the kernel's and the file systems' sources).
bool is_of_file_system(std::string_view channel) {
    constexpr std::array<std::string_view, 12> beginnings{
        "request_wait_answer", "fuse_",   "rpc_wait_bit", "nfs", "folio_wait", "wait_on_page",
        "io_schedule",         "ptlrpc_", "ldlm_",        "cl_", "p9_client",  "cxi"};
    return std::ranges::any_of(
        beginnings, [&](std::string_view beginning) { return channel.starts_with(beginning); });
}

std::uint64_t wakings(const ProcessLook& process) {
    std::uint64_t sum = 0;
    for (const Moment& moment : process.moments) sum += moment.wakings;
    return sum;
}

// Of a second.
double cpu_of(const ProcessLook& process, double seconds) {
    const double used = process.moments.back().cpu - process.moments.front().cpu;
    return seconds > 0 && used > 0 ? used / seconds : 0;
}

Activity activity_of(const ProcessLook& process, double seconds) {
    const auto is_stopped = [](const Moment& moment) {
        return moment.state == 'T' || moment.state == 't';
    };
    const auto is_in_kernel = [](const Moment& moment) {
        return moment.state == 'D' || is_of_file_system(moment.wait_channel);
    };
    if (std::ranges::all_of(process.moments, is_stopped)) return Activity::stopped;
    if (std::ranges::all_of(process.moments, is_in_kernel)) return Activity::in_kernel;
    // One that shares its CPU with others runs too, though it gets little of it.
    const auto is_ready = [](const Moment& moment) { return moment.state == 'R'; };
    constexpr double busy = 0.5;
    if (cpu_of(process, seconds) > busy || std::ranges::all_of(process.moments, is_ready)) {
        return Activity::running;
    }
    return wakings(process) == 0 ? Activity::asleep : Activity::awake;
}

// A thread that was woken a few times did what it waited for; one that looks a thousand times a
// second whether it may go on (Horovod, MPI) need not have.
bool was_woken(const ProcessLook& process, double seconds) {
    constexpr double often = 50;  // times a second
    const auto times = static_cast<double>(wakings(process));
    return times > 0 && times < often * seconds;
}

// Where a worker is on which the rank waits: one that did not move, in code of the user's.
std::string waited_for(const RankLook& rank) {
    for (const ProcessLook* worker : rank.workers) {
        const Stack* const stack = last_stack(*rank.node, *worker);
        if (stack == nullptr || changed_stack(*worker)) continue;
        // One without work waits for it in the standard library.
        const std::string site = call_site_of(*stack).text;
        const bool is_idle = site.starts_with("_worker_loop") || site.starts_with("get (") ||
                             site.starts_with("_recv");
        if (!is_idle) {
            return formatted("process {}, which is in {}, {}", worker->pid, site,
                             name_of(activity_of(*worker, rank.node->seconds())));
        }
    }
    return "";
}

// Those that the rank may use and that are known.
std::vector<GpuLook> gpus_of(const RankLook& rank) {
    std::vector<GpuLook> gpus;
    std::ranges::copy_if(rank.node->gpus, std::back_inserter(gpus), [&](const GpuLook& gpu) {
        return std::ranges::count(rank.process->gpus, gpu.pci, &GpuFacts::pci) > 0;
    });
    return gpus;
}

// Adds what was seen of a rank that does the same as those of the group.
void add(const RankLook& rank, RankGroup& group) {
    const std::string& node = rank.node->node;
    group.ranks.push_back(rank.rank);
    if (std::ranges::count(group.nodes, node) == 0) group.nodes.push_back(node);
    if (group.wait_channel.empty()) group.wait_channel = rank.process->moments.back().wait_channel;
    if (group.worker.empty() && !group.moved) group.worker = waited_for(rank);
    for (const GpuLook& gpu : gpus_of(rank)) {
        for (const auto& busy : gpu.busy) {
            if (!busy) continue;
            group.least_busy = std::min(group.least_busy.value_or(*busy), *busy);
            group.most_busy = std::max(group.most_busy.value_or(*busy), *busy);
        }
    }
    const Stack* const stack = last_stack(*rank.node, *rank.process);
    if (group.stack.empty() && stack != nullptr) group.stack = *stack;
}

std::vector<RankGroup> group_ranks(const std::vector<RankLook>& ranks) {
    std::map<std::tuple<CallSite, Activity, bool>, RankGroup> groups;
    for (const RankLook& rank : ranks) {
        const double seconds = rank.node->seconds();
        const Stack* const stack = last_stack(*rank.node, *rank.process);
        RankGroup group;
        group.site = stack == nullptr ? CallSite() : call_site_of(*stack);
        group.activity = activity_of(*rank.process, seconds);
        group.moved = changed_stack(*rank.process) ||
                      (group.activity == Activity::awake && was_woken(*rank.process, seconds));
        add(rank,
            groups.try_emplace({group.site, group.activity, group.moved}, group).first->second);
    }
    std::vector<RankGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::ranges::stable_sort(sorted, {}, [](const RankGroup& group) { return group.ranks.size(); });
    return sorted;
}

std::string how_it_ended(int exit_code) {
    if (!WIFSIGNALED(exit_code)) return formatted("ended with status {}", WEXITSTATUS(exit_code));
    constexpr std::array<std::pair<int, std::string_view>, 5> names{{{SIGABRT, " (SIGABRT)"},
                                                                     {SIGBUS, " (SIGBUS)"},
                                                                     {SIGKILL, " (SIGKILL)"},
                                                                     {SIGSEGV, " (SIGSEGV)"},
                                                                     {SIGTERM, " (SIGTERM)"}}};
    const int signal = WTERMSIG(exit_code);
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& each) { return each.first == signal; });
    return formatted("was killed by signal {}{}", signal, name == names.end() ? "" : name->second);
}

void add_details(const std::vector<RankLook>& seen, Diagnosis& diagnosis) {
    constexpr std::size_t most = 64;
    for (const RankGroup& group : diagnosis.groups) {
        for (const std::uint32_t number : group.ranks) {
            if (diagnosis.details.size() == most) return;
            diagnosis.details.push_back(
                details_of(*std::ranges::find(seen, number, &RankLook::rank)));
            if (&group != &diagnosis.groups.back()) ++diagnosis.odd;
        }
    }
}

}  // namespace

const Stack* last_stack(const NodeLook& look, const ProcessLook& process) {
    const auto known = std::find_if(process.moments.rbegin(), process.moments.rend(),
                                    [](const Moment& moment) { return moment.stack.has_value(); });
    return known == process.moments.rend() ? nullptr : &look.stacks[*known->stack];
}

bool changed_stack(const ProcessLook& process) {
    std::optional<std::uint32_t> before;
    for (const Moment& moment : process.moments) {
        if (!moment.stack) continue;
        if (before && before != moment.stack) return true;
        before = moment.stack;
    }
    return false;
}

RankDetails details_of(const RankLook& rank) {
    const ProcessLook& process = *rank.process;
    RankDetails details{.rank = rank.rank,
                        .node = rank.node->node,
                        .pid = process.pid,
                        .command = process.command,
                        .state = process.moments.back().state,
                        .wait_channel = process.moments.back().wait_channel,
                        .cpu = cpu_of(process, rank.node->seconds()),
                        .wakings = wakings(process),
                        .launchers = launchers_of(*rank.node, process),
                        .connections = process.connections,
                        .gpus = gpus_of(rank)};
    constexpr std::size_t most_children = 16;
    for (const ProcessLook& child : rank.node->processes) {
        if (child.parent != process.pid || details.children.size() == most_children) continue;
        const char state = child.moments.empty() ? '?' : child.moments.back().state;
        details.children.push_back(formatted("{} {} ({})", child.pid, child.name, state));
    }
    return details;
}

std::vector<EndedProcess> ended_processes(const std::vector<NodeLook>& looks) {
    constexpr std::size_t most = 64;
    std::vector<EndedProcess> ended;
    for (const NodeLook& look : looks) {
        for (const ProcessLook& process : look.processes) {
            if (!process.exit_code || ended.size() == most) continue;
            ended.push_back(
                {look.node, process.pid, process.name, how_it_ended(*process.exit_code)});
        }
    }
    return ended;
}

Diagnosis diagnose(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component) {
    const Ranks ranks = find_ranks(looks, tasks, is_component);
    Diagnosis diagnosis;
    diagnosis.groups = group_ranks(ranks.seen);
    diagnosis.missing = ranks.missing;
    diagnosis.expected = ranks.expected;
    diagnosis.is_component = is_component;
    diagnosis.silent = silent;
    diagnosis.nodes = static_cast<std::uint32_t>(looks.size() + silent.size());
    for (const NodeLook& look : looks) {
        diagnosis.seconds = std::max(diagnosis.seconds, look.seconds());
        if (!look.nccl.empty()) diagnosis.nccl = look.nccl;
        diagnosis.records.insert(diagnosis.records.end(), look.records.begin(), look.records.end());
        if (!look.problem.empty() && std::ranges::count(diagnosis.notes, look.problem) == 0) {
            diagnosis.notes.push_back(look.problem);
        }
    }
    if (is_component) {
        diagnosis.notes.emplace_back(
            "this is one component of a heterogeneous step; look at the others too");
    }
    if (!ranks.missing.empty()) diagnosis.ended = ended_processes(looks);
    add_details(ranks.seen, diagnosis);
    add_findings(looks, diagnosis);
    return diagnosis;
}

}  // namespace distgpu

// Groups the ranks of a step by call site and activity, and collects details of ranks and of
// processes that have ended.
#include "why/diagnosis.h"

#include "base/format.h"
#include "why/hang_detection.h"

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

// Whether a thread with this wait channel waits for a file system: NFS, FUSE, Lustre, GPFS, BeeGFS,
// 9p, or any through the page cache (sources of the kernel and the file systems).
bool is_file_system_wait(std::string_view channel) {
    constexpr std::array<std::string_view, 12> beginnings{
        "request_wait_answer", "fuse_",   "rpc_wait_bit", "nfs", "folio_wait", "wait_on_page",
        "io_schedule",         "ptlrpc_", "ldlm_",        "cl_", "p9_client",  "cxi"};
    return std::ranges::any_of(
        beginnings, [&](std::string_view beginning) { return channel.starts_with(beginning); });
}

std::uint64_t wakeup_count(const ProcessSample& process) {
    std::uint64_t sum = 0;
    for (const Moment& moment : process.moments) sum += moment.wakeups;
    return sum;
}

// Seconds of CPU per second.
double cpu_load(const ProcessSample& process, double seconds) {
    const double used = process.moments.back().cpu - process.moments.front().cpu;
    return seconds > 0 && used > 0 ? used / seconds : 0;
}

Activity activity_of(const ProcessSample& process, double seconds) {
    const auto is_stopped = [](const Moment& moment) {
        return moment.state == 'T' || moment.state == 't';
    };
    const auto is_in_kernel = [](const Moment& moment) {
        return moment.state == 'D' || is_file_system_wait(moment.wait_channel);
    };
    if (std::ranges::all_of(process.moments, is_stopped)) return Activity::stopped;
    if (std::ranges::all_of(process.moments, is_in_kernel)) return Activity::in_kernel;
    // A process that shares its CPU with others counts as running, even if it gets little of it.
    const auto is_ready = [](const Moment& moment) { return moment.state == 'R'; };
    constexpr double busy = 0.5;
    if (cpu_load(process, seconds) > busy || std::ranges::all_of(process.moments, is_ready)) {
        return Activity::running;
    }
    return wakeup_count(process) == 0 ? Activity::asleep : Activity::awake;
}

// A thread that was woken a few times got what it waited for. One that polls a thousand times a
// second (Horovod, MPI) may still be waiting.
bool was_woken(const ProcessSample& process, double seconds) {
    constexpr double often = 50;  // times a second
    const auto times = static_cast<double>(wakeup_count(process));
    return times > 0 && times < often * seconds;
}

// A worker process that the rank may wait for, and its call site: it did not move, and is in the
// user's code. Empty if there is none.
std::string blocking_worker(const RankSample& rank) {
    for (const ProcessSample* worker : rank.workers) {
        const Stack* const stack = last_stack(*rank.node, *worker);
        if (stack == nullptr || has_changed_stack(*worker)) continue;
        // A worker without work waits in the standard library or the data loader.
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

// The GPUs that the rank may use and whose load was sampled.
std::vector<GpuSample> sampled_gpus(const RankSample& rank) {
    std::vector<GpuSample> gpus;
    std::ranges::copy_if(rank.node->gpus, std::back_inserter(gpus), [&](const GpuSample& gpu) {
        return std::ranges::count(rank.process->gpus, gpu.pci, &GpuFacts::pci) > 0;
    });
    return gpus;
}

// Adds a rank to the group of those with its call site and activity.
void add_to_group(const RankSample& rank, RankGroup& group) {
    const std::string& node = rank.node->node;
    group.ranks.push_back(rank.rank);
    if (std::ranges::count(group.nodes, node) == 0) group.nodes.push_back(node);
    if (group.wait_channel.empty()) group.wait_channel = rank.process->moments.back().wait_channel;
    if (group.worker.empty() && !group.has_moved) group.worker = blocking_worker(rank);
    for (const GpuSample& gpu : sampled_gpus(rank)) {
        for (const auto& busy : gpu.busy) {
            if (!busy) continue;
            group.min_gpu_load = std::min(group.min_gpu_load.value_or(*busy), *busy);
            group.max_gpu_load = std::max(group.max_gpu_load.value_or(*busy), *busy);
        }
    }
    const Stack* const stack = last_stack(*rank.node, *rank.process);
    if (group.stack.empty() && stack != nullptr) group.stack = *stack;
}

std::vector<RankGroup> group_ranks(const std::vector<RankSample>& ranks) {
    std::map<std::tuple<CallSite, Activity, bool>, RankGroup> groups;
    for (const RankSample& rank : ranks) {
        const double seconds = rank.node->seconds();
        const Stack* const stack = last_stack(*rank.node, *rank.process);
        RankGroup group;
        group.site = stack == nullptr ? CallSite() : call_site_of(*stack);
        group.activity = activity_of(*rank.process, seconds);
        group.has_moved = has_changed_stack(*rank.process) ||
                          (group.activity == Activity::awake && was_woken(*rank.process, seconds));
        add_to_group(
            rank,
            groups.try_emplace({group.site, group.activity, group.has_moved}, group).first->second);
    }
    std::vector<RankGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::ranges::stable_sort(sorted, {}, [](const RankGroup& group) { return group.ranks.size(); });
    return sorted;
}

std::string exit_text(int exit_code) {
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

void add_details(const std::vector<RankSample>& seen, Diagnosis& diagnosis) {
    constexpr std::size_t max_details = 64;
    for (const RankGroup& group : diagnosis.groups) {
        for (const std::uint32_t number : group.ranks) {
            if (diagnosis.details.size() == max_details) return;
            diagnosis.details.push_back(
                rank_details(*std::ranges::find(seen, number, &RankSample::rank)));
            if (&group != &diagnosis.groups.back()) ++diagnosis.outliers;
        }
    }
}

}  // namespace

const Stack* last_stack(const NodeSample& sample, const ProcessSample& process) {
    const auto known = std::find_if(process.moments.rbegin(), process.moments.rend(),
                                    [](const Moment& moment) { return moment.stack.has_value(); });
    return known == process.moments.rend() ? nullptr : &sample.stacks[*known->stack];
}

bool has_changed_stack(const ProcessSample& process) {
    std::optional<std::uint32_t> before;
    for (const Moment& moment : process.moments) {
        if (!moment.stack) continue;
        if (before && before != moment.stack) return true;
        before = moment.stack;
    }
    return false;
}

RankDetails rank_details(const RankSample& rank) {
    const ProcessSample& process = *rank.process;
    RankDetails details{.rank = rank.rank,
                        .node = rank.node->node,
                        .pid = process.pid,
                        .command = process.command,
                        .state = process.moments.back().state,
                        .wait_channel = process.moments.back().wait_channel,
                        .cpu = cpu_load(process, rank.node->seconds()),
                        .wakeups = wakeup_count(process),
                        .launchers = launchers_of(*rank.node, process),
                        .connections = process.connections,
                        .gpus = sampled_gpus(rank)};
    constexpr std::size_t max_children = 16;
    for (const ProcessSample& child : rank.node->processes) {
        if (child.parent != process.pid || details.children.size() == max_children) continue;
        const char state = child.moments.empty() ? '?' : child.moments.back().state;
        details.children.push_back(formatted("{} {} ({})", child.pid, child.name, state));
    }
    return details;
}

std::vector<EndedProcess> ended_processes(const std::vector<NodeSample>& samples) {
    constexpr std::size_t max_ended = 64;
    std::vector<EndedProcess> ended;
    for (const NodeSample& sample : samples) {
        for (const ProcessSample& process : sample.processes) {
            if (!process.exit_code || ended.size() == max_ended) continue;
            ended.push_back(
                {sample.node, process.pid, process.name, exit_text(*process.exit_code)});
        }
    }
    return ended;
}

Diagnosis diagnose(const std::vector<NodeSample>& samples, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component) {
    const Ranks ranks = find_ranks(samples, tasks, is_component);
    Diagnosis diagnosis;
    diagnosis.groups = group_ranks(ranks.seen);
    diagnosis.missing = ranks.missing;
    diagnosis.expected = ranks.expected;
    diagnosis.is_component = is_component;
    diagnosis.silent = silent;
    diagnosis.nodes = static_cast<std::uint32_t>(samples.size() + silent.size());
    for (const NodeSample& sample : samples) {
        diagnosis.seconds = std::max(diagnosis.seconds, sample.seconds());
        if (!sample.nccl.empty()) diagnosis.nccl = sample.nccl;
        diagnosis.records.insert(diagnosis.records.end(), sample.records.begin(),
                                 sample.records.end());
        if (!sample.problem.empty() && std::ranges::count(diagnosis.notes, sample.problem) == 0) {
            diagnosis.notes.push_back(sample.problem);
        }
    }
    if (is_component) {
        diagnosis.notes.emplace_back(
            "this is one component of a heterogeneous step; look at the others too");
    }
    if (!ranks.missing.empty()) diagnosis.ended = ended_processes(samples);
    add_details(ranks.seen, diagnosis);
    add_findings(samples, diagnosis);
    return diagnosis;
}

}  // namespace distgpu

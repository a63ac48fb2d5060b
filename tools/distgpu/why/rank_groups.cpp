#include "why/rank_groups.h"

#include "base/format.h"
#include "why/rank_details.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
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
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return channel.starts_with(beginning); });
}

bool all_moments(const ProcessLook& process, bool (*is)(const Moment&)) {
    return std::all_of(process.moments.begin(), process.moments.end(), is);
}

std::uint64_t wakings(const ProcessLook& process) {
    std::uint64_t sum = 0;
    for (const Moment& moment : process.moments) sum += moment.wakings;
    return sum;
}

Activity activity_of(const ProcessLook& process, const std::vector<double>& times) {
    const auto is_stopped = [](const Moment& moment) {
        return moment.state == 'T' || moment.state == 't';
    };
    const auto is_in_kernel = [](const Moment& moment) {
        return moment.state == 'D' || is_of_file_system(moment.wait_channel);
    };
    if (all_moments(process, is_stopped)) return Activity::stopped;
    if (all_moments(process, is_in_kernel)) return Activity::in_kernel;
    const Moment& first = process.moments.front();
    const Moment& last = process.moments.back();
    constexpr double busy = 0.5;  // of one CPU
    const double seconds = times.back() - times.front();
    if (seconds > 0 && last.cpu - first.cpu > busy * seconds) return Activity::running;
    return wakings(process) == 0 ? Activity::asleep : Activity::awake;
}

// A thread that was woken a few times did what it waited for; one that looks a thousand times a
// second whether it may go on (Horovod, MPI) need not have.
bool was_woken(const ProcessLook& process, double seconds) {
    constexpr double often = 50;  // times a second
    const auto times = static_cast<double>(wakings(process));
    return times > 0 && times < often * seconds;
}

// The last that was seen. Nothing: none was.
const Stack* stack_of(const RankLook& rank, const ProcessLook& process) {
    const auto last = std::find_if(process.moments.rbegin(), process.moments.rend(),
                                   [](const Moment& moment) { return moment.stack.has_value(); });
    return last == process.moments.rend() ? nullptr : &rank.node->stacks[*last->stack];
}

struct State {
    CallSite site;
    Activity activity = Activity::asleep;
    bool moved = false;
    std::string worker;

    auto key() const { return std::tuple(site, activity, moved); }
};

// Where a worker is on which the rank waits: one that did not move, in code of the user's.
std::string waited_for(const RankLook& rank, const std::vector<double>& times) {
    for (const ProcessLook* worker : rank.workers) {
        const Stack* const stack = stack_of(rank, *worker);
        if (stack == nullptr || changed_stack(*worker)) continue;
        const Activity activity = activity_of(*worker, times);
        // One without work waits for it in the standard library.
        const CallSite site = call_site_of(*stack);
        const bool is_idle = site.text.starts_with("_worker_loop") ||
                             site.text.starts_with("get (") || site.text.starts_with("_recv");
        if (!is_idle) {
            return formatted("process {}, which is in {}, {}", worker->pid, site.text,
                             name_of(activity));
        }
    }
    return "";
}

State state_of(const RankLook& rank) {
    const ProcessLook& process = *rank.process;
    const std::vector<double>& times = rank.node->times;
    State state;
    state.activity = activity_of(process, times);
    if (const Stack* const stack = stack_of(rank, process)) state.site = call_site_of(*stack);
    state.moved = changed_stack(process) || (state.activity == Activity::awake &&
                                             was_woken(process, times.back() - times.front()));
    if (!state.moved) state.worker = waited_for(rank, times);
    return state;
}

void add_load(const RankLook& rank, RankGroup& group) {
    for (const GpuLook& gpu : gpus_of(rank)) {
        for (const auto& busy : gpu.busy) {
            if (!busy) continue;
            group.least_busy = std::min(group.least_busy.value_or(*busy), *busy);
            group.most_busy = std::max(group.most_busy.value_or(*busy), *busy);
        }
    }
}

}  // namespace

std::vector<RankGroup> group_ranks(const std::vector<RankLook>& ranks) {
    std::map<decltype(State().key()), RankGroup> groups;
    for (const RankLook& rank : ranks) {
        State state = state_of(rank);
        RankGroup& group = groups[state.key()];
        group.site = state.site;
        group.activity = state.activity;
        group.moved = state.moved;
        group.ranks.push_back(rank.rank);
        if (std::find(group.nodes.begin(), group.nodes.end(), rank.node->node) ==
            group.nodes.end()) {
            group.nodes.push_back(rank.node->node);
        }
        if (group.wait_channel.empty()) {
            group.wait_channel = rank.process->moments.back().wait_channel;
        }
        if (group.worker.empty()) group.worker = std::move(state.worker);
        add_load(rank, group);
        const Stack* const stack = stack_of(rank, *rank.process);
        if (group.stack.empty() && stack != nullptr) group.stack = *stack;
    }
    std::vector<RankGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const RankGroup& left, const RankGroup& right) {
                         return left.ranks.size() < right.ranks.size();
                     });
    return sorted;
}

bool changed_stack(const ProcessLook& process) {
    const std::optional<std::uint32_t>* before = nullptr;
    for (const Moment& moment : process.moments) {
        if (!moment.stack) continue;
        if (before != nullptr && *before != moment.stack) return true;
        before = &moment.stack;
    }
    return false;
}

std::string_view name_of(Activity activity) {
    switch (activity) {
        case Activity::stopped:
            return "stopped";
        case Activity::in_kernel:
            return "in the kernel";
        case Activity::running:
            return "running";
        case Activity::awake:
            return "awake at times";
        case Activity::asleep:
            return "asleep";
    }
    return "";
}

}  // namespace distgpu

#include "why/end_proof.h"

#include "inspect/ranks.h"
#include "inspect/step_processes.h"
#include "why/stillness.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

const NodeLook* node_in(const std::vector<NodeLook>& looks, std::string_view node) {
    const auto found = std::find_if(looks.begin(), looks.end(),
                                    [&](const NodeLook& look) { return look.node == node; });
    return found == looks.end() ? nullptr : &*found;
}

std::set<pid_t> pids_below(const NodeLook& look, pid_t top) {
    std::set<pid_t> below;
    for (bool grows = true; grows;) {
        grows = false;
        for (const ProcessLook& process : look.processes) {
            const bool is_below = process.parent == top || below.contains(process.parent);
            grows = (is_below && below.insert(process.pid).second) || grows;
        }
    }
    return below;
}

// Also children that came and went, whose CPU the process has been told of.
bool main_thread_stood_still(const ProcessLook& before, const ProcessLook& now) {
    return before.work_after.main_switches == now.work_before.main_switches &&
           before.work_after.main_ticks == now.work_before.main_ticks &&
           before.work_after.reaped_ticks == now.work_before.reaped_ticks;
}

bool stood_still(const NodeLook& before, const NodeLook& now, const ProcessLook& process) {
    const ProcessLook* const earlier = find_in(before, process);
    // Who holds a process in a debugger is looking at it.
    if (earlier == nullptr || process.moments.back().state == 't') return false;
    if (now.processes.size() >= most_processes) return false;
    const std::set<pid_t> below = pids_below(now, process.pid);
    return main_thread_stood_still(*earlier, process) && below == pids_below(before, process.pid) &&
           std::all_of(below.begin(), below.end(), [&](pid_t pid) {
               const auto child =
                   std::find_if(now.processes.begin(), now.processes.end(),
                                [&](const ProcessLook& each) { return each.pid == pid; });
               const ProcessLook* const was = find_in(before, *child);
               return was != nullptr && was->work_after == child->work_before;
           });
}

// A rank's part in the verdict.
enum class Part : std::uint8_t {
    none,    // it waits, or nobody can tell where it is
    hangs,   // it did nothing, and waits for nothing
    active,  // it did something, and not in a collective
};

Part part_of(const std::vector<NodeLook>& begin, const RankLook& rank) {
    const NodeLook* const before = node_in(begin, rank.node->node);
    const Stack* const is = last_stack(*rank.node, *rank.process);
    if (is != nullptr && waits_for_ranks(*is)) return Part::none;
    if (before == nullptr || !stood_still(*before, *rank.node, *rank.process)) return Part::active;
    const ProcessLook* const earlier = find_in(*before, *rank.process);
    const Stack* const was = last_stack(*before, *earlier);
    if (is == nullptr || was == nullptr || may_wait(*is)) return Part::none;
    return *is == *was ? Part::hangs : Part::active;
}

}  // namespace

void discount(std::vector<NodeLook>& begin, const NodeLook& look) {
    const auto found = std::find_if(begin.begin(), begin.end(),
                                    [&](const NodeLook& each) { return each.node == look.node; });
    if (found == begin.end()) return;
    for (ProcessLook& process : found->processes) {
        const ProcessLook* const now = find_in(look, process);
        if (now == nullptr) continue;
        const auto add = [&](std::uint64_t Work::*count) {
            process.work_after.*count += now->work_after.*count - now->work_before.*count;
        };
        add(&Work::main_switches);
        add(&Work::main_ticks);
        add(&Work::switches);
        add(&Work::ticks);
        add(&Work::reaped_ticks);
    }
}

bool proves_hang(const std::vector<NodeLook>& begin, const std::vector<NodeLook>& end) {
    const Ranks ranks = find_ranks(end, 0);
    bool hangs = false;
    for (const RankLook& rank : ranks.seen) {
        const Part part = part_of(begin, rank);
        if (part == Part::active) return false;
        hangs = hangs || part == Part::hangs;
    }
    return hangs;
}

}  // namespace distgpu

#include "why/stillness.h"

#include "inspect/ranks.h"
#include "inspect/traffic.h"

#include <algorithm>
#include <optional>

namespace distgpu {

const Stack* last_stack(const NodeLook& look, const ProcessLook& process) {
    const auto known = std::find_if(process.moments.rbegin(), process.moments.rend(),
                                    [](const Moment& moment) { return moment.stack.has_value(); });
    return known == process.moments.rend() ? nullptr : &look.stacks[*known->stack];
}

const ProcessLook* find_in(const NodeLook& look, const ProcessLook& wanted) {
    const auto found =
        std::find_if(look.processes.begin(), look.processes.end(), [&](const ProcessLook& process) {
            return process.pid == wanted.pid && process.begin == wanted.begin;
        });
    return found == look.processes.end() ? nullptr : &*found;
}

namespace {

// Stopped, or in a call that cannot be interrupted.
bool cannot_move(const ProcessLook& process) {
    const char state = process.moments.back().state;
    return state == 'T' || state == 't' || state == 'D';
}

Stillness compare_process(const NodeLook& before, const NodeLook& now, const ProcessLook& process) {
    const ProcessLook* const earlier = find_in(before, process);
    if (earlier == nullptr) return Stillness::moves;
    const Stack* const was = last_stack(before, *earlier);
    const Stack* const is = last_stack(now, process);
    if (was != nullptr && is != nullptr) {
        return *was == *is ? Stillness::still : Stillness::moves;
    }
    const bool stands = cannot_move(*earlier) && cannot_move(process);
    return stands ? Stillness::still : Stillness::unclear;
}

// Also of the worker processes, which are none of the diagnosis's groups.
bool any_changed(const NodeLook& look) {
    const std::vector<NodeLook> looks{look};
    const Ranks ranks = find_ranks(looks, 0);
    for (const RankLook& rank : ranks.seen) {
        if (changed_stack(*rank.process)) return true;
        if (std::any_of(rank.workers.begin(), rank.workers.end(),
                        [](const ProcessLook* worker) { return changed_stack(*worker); })) {
            return true;
        }
    }
    return false;
}

bool is_known(const RankGroup& group) {
    return !group.stack.empty() || group.activity == Activity::stopped ||
           group.activity == Activity::in_kernel;
}

}  // namespace

Stillness compare(const NodeLook& before, const NodeLook& now) {
    const std::vector<NodeLook> looks{now};
    const Ranks ranks = find_ranks(looks, 0);
    Stillness all = ranks.seen.empty() ? Stillness::unclear : Stillness::still;
    for (const RankLook& rank : ranks.seen) {
        const Stillness one = compare_process(before, looks.front(), *rank.process);
        if (one == Stillness::moves) return one;
        if (one == Stillness::unclear) all = one;
        for (const ProcessLook* const worker : rank.workers) {
            if (compare_process(before, looks.front(), *worker) == Stillness::moves) {
                return Stillness::moves;
            }
        }
    }
    return all;
}

Stillness judge(const std::vector<NodeLook>& looks, const Diagnosis& diagnosis) {
    const auto works = [&](const NodeLook& look) {
        return !look.times.empty() &&
               is_at_work(look.traffic, look.times.back() - look.times.front(), diagnosis.expected);
    };
    const auto moved = [](const RankGroup& group) { return group.moved; };
    if (std::any_of(looks.begin(), looks.end(), works) ||
        std::any_of(looks.begin(), looks.end(), any_changed) ||
        std::any_of(diagnosis.groups.begin(), diagnosis.groups.end(), moved)) {
        return Stillness::moves;
    }
    const bool all_looked = diagnosis.silent.empty() &&
                            std::none_of(looks.begin(), looks.end(),
                                         [](const NodeLook& look) { return look.times.empty(); });
    const bool all_known = !diagnosis.groups.empty() &&
                           std::all_of(diagnosis.groups.begin(), diagnosis.groups.end(), is_known);
    return all_looked && all_known ? Stillness::still : Stillness::unclear;
}

}  // namespace distgpu

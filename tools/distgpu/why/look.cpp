#include "why/look.h"

#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace distgpu {
namespace {

using std::chrono::seconds;
using Kind = Diagnosis::Kind;

Diagnosis diagnose(const RunningStep& step, const StepSample& sample) {
    return diagnose(sample.nodes, sample.silent, step.tasks, step.is_component);
}

// How much longer to look; 0 if the diagnosis is certain.
seconds time_left(const Diagnosis& diagnosis, seconds length) {
    constexpr seconds shortest{5};        // and 2 before; a DataLoader asks its workers every 5 s
    constexpr double longest_pause = 20;  // of a healthy training between two exchanges
    switch (diagnosis.kind) {
        case Kind::ended:
        case Kind::stopped:
        case Kind::unknown:
            return seconds(0);
        case Kind::moving:
            return slow_look - length;
        default:
            break;
    }
    const bool polls = std::ranges::any_of(diagnosis.groups, &RankGroup::is_polling);
    const double silence = diagnosis.silence.value_or(0);
    if (silence >= longest_pause && !polls) return seconds(0);
    const double rest = diagnosis.silence ? std::ceil(longest_pause - silence) : 0;
    return std::max(shortest, seconds(static_cast<int>(rest)));
}

}  // namespace

Result<StepSample> sample_step(const RunningStep& step, seconds length) {
    return sample_all_nodes(step, {"why", "--node", "--repeat", formatted("{}", length.count())},
                            length);
}

void prepend_moments(const StepSample& earlier, StepSample& sample) {
    for (NodeSample& node : sample.nodes) {
        // Several components of a heterogeneous step may share a node.
        const auto before = std::ranges::find_if(earlier.nodes, [&](const NodeSample& each) {
            return each.node == node.node && each.tasks == node.tasks;
        });
        if (before != earlier.nodes.end()) prepend_moments(*before, node);
    }
}

void exclude_sampling_cost(NodeSample& earlier, const NodeSample& sample) {
    for (ProcessSample& process : earlier.processes) {
        const ProcessSample* const sampled = find_process(sample, process.pid);
        if (sampled == nullptr || sampled->begin != process.begin) continue;
        for (const Moment& moment : sampled->moments) {
            for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::ticks}) {
                process.moments.back().after.*count += moment.after.*count - moment.before.*count;
            }
        }
    }
}

Result<Diagnosis> look_at(const RunningStep& step, seconds length) {
    return sample_step(step, length).transform([&](const StepSample& sample) {
        return diagnose(step, sample);
    });
}

Result<Diagnosis> look_at(const RunningStep& step) {
    constexpr seconds first_look{2};
    auto first = sample_step(step, first_look);
    if (!first) return first.error();
    Diagnosis diagnosis = diagnose(step, *first);
    const seconds rest = time_left(diagnosis, first_look);
    if (rest <= seconds(0)) return diagnosis;
    auto second = sample_step(step, rest);
    // The step may have ended meanwhile.
    if (!second) return diagnosis;
    prepend_moments(*first, *second);
    return diagnose(step, *second);
}

}  // namespace distgpu

#include "run/stage_runner.h"

#include "analysis/loop_statistics.h"
#include "base/format.h"
#include "report/names.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace distgpu::scaling {
namespace {

// Of the one in the middle.
Statistics median_of(std::vector<Statistics> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end(),
                     [](const auto& a, const auto& b) { return a.median < b.median; });
    return *middle;
}

}  // namespace

std::optional<Fault> StageRunner::run(const Stage& stage) {
    Place place = place_in(stage);
    use_.channel.begin(formatted("{}, new communicator", who(stage)));
    const auto group = use_.backend.split(place.own, place.seat);
    if (!group) return fault_of(group.error());
    place.group = group->get();
    for (std::uint32_t i = 0; i < stage.repeats; ++i) {
        for (const Subject& operation : stage.operations) {
            announce(stage, operation);
            if (auto fault = measure(stage, place, operation)) return fault;
        }
    }
    return place.group == nullptr ? std::nullopt : fault_if(place.group->close());
}

StageRunner::Place StageRunner::place_in(const Stage& stage) const {
    Place place;
    for (std::uint32_t i = 0; i < stage.groups.size(); ++i) {
        const auto& ranks =
            place.members.emplace_back(ranks_of(world_, plan_.groups[stage.groups[i]]));
        const auto here = std::find(ranks.begin(), ranks.end(), use_.membership.rank);
        if (here == ranks.end()) continue;
        place.own = i;
        place.seat = {static_cast<std::uint32_t>(here - ranks.begin()),
                      static_cast<std::uint32_t>(ranks.size())};
    }
    return place;
}

std::optional<Fault> StageRunner::measure(const Stage& stage, const Place& place,
                                          const Subject& operation) {
    const bool takes_part =
        place.group != nullptr && extent_of(operation, place.seat.ranks).count > 0;
    double seconds = 0;
    if (takes_part) {
        const auto warm = measurer_.warm_up(*place.group, place.seat, operation,
                                            use_.options.check && stage.checked);
        if (!warm) return warm.error();
        seconds = *warm;
    }
    const auto iterations = iterations_of(stage, place, seconds);
    if (!iterations) return fault_of(iterations.error());
    if (stage.groups.size() > 1) {
        if (auto error = use_.backend.barrier()) return fault_of(*error);
    }
    std::vector<double> ends;
    if (takes_part) {
        auto timed = measurer_.time(*place.group, place.seat, operation, *iterations);
        if (!timed) return timed.error();
        ends = *std::move(timed);
    }
    const auto all = gather_numbers(use_.channel, ends);
    if (!all) return fault_of(all.error());
    if (auto fault = record(stage, place, operation, *all)) return fault;
    use_.channel.broadcast("");  // all are done: the next one begins
    return std::nullopt;
}

// Groups that are compared with each other run for as long as the slowest of them.
Result<std::uint32_t> StageRunner::iterations_of(const Stage& stage, const Place& place,
                                                 double seconds) {
    if (!pace_.by_time() && (stage.groups.size() < 2 || stage.checked)) {
        return use_.options.iterations;
    }
    const auto answers = gather_numbers(use_.channel, {seconds});
    if (!answers) return answers.error();
    std::vector<std::uint32_t> counts;
    if (!answers->empty()) {
        std::vector<double> slowest;
        for (const auto& ranks : place.members) {
            double& longest = slowest.emplace_back(0);
            for (const std::uint32_t rank : ranks) {
                for (const double one : (*answers)[rank]) longest = std::max(longest, one);
            }
        }
        counts = iterations_together(slowest, pace_.loop);
    }
    const auto known =
        broadcast_indices(use_.channel, counts, std::numeric_limits<std::uint32_t>::max());
    if (!known) return known.error();
    if (!place.own) return 0U;
    if (*place.own < known->size()) return (*known)[*place.own];
    return Error{"rank 0", "sent too few counts of iterations", ""};
}

std::string StageRunner::who(const Stage& stage) const {
    const Group& first = plan_.groups[stage.groups.front()];
    if (stage.groups.size() == 1) return group_label(known_, first);
    if (first.kind == Group::Kind::node) return "every node alone";
    if (first.kind == Group::Kind::rail) return "all rails";
    return first.kind == Group::Kind::pair ? "pairs of nodes" : "rails of pairs of nodes";
}

void StageRunner::announce(const Stage& stage, const Subject& operation) {
    const std::string phase = formatted("{}, {}", operation_name(operation), who(stage));
    use_.channel.begin(phase);
    if (use_.membership.rank == 0) use_.recorder.show(phase);
}

// On rank 0; on others there are no ends.
std::optional<Fault> StageRunner::record(const Stage& stage, const Place& place,
                                         const Subject& operation,
                                         const std::vector<std::vector<double>>& ends) {
    if (ends.empty()) return std::nullopt;
    std::vector<Statistics> alike;  // of groups that are as large as that of the median
    for (std::size_t i = 0; i < place.members.size(); ++i) {
        std::vector<std::vector<double>> of_group;
        of_group.reserve(place.members[i].size());
        for (const std::uint32_t rank : place.members[i]) of_group.push_back(ends[rank]);
        const auto time = loop_statistics(of_group);
        if (!time) return fault_of(time.error());
        if (time->iterations == 0) continue;
        const Group& group = plan_.groups[stage.groups[i]];
        if (stage.median && group.ranks == plan_.groups[*stage.median].ranks) {
            alike.push_back(*time);
        }
        // A thousand nodes would have a thousand times all that was asked for.
        if (group.kind == Group::Kind::node && !(operation == plan_.comparison)) continue;
        record(stage.groups[i], operation, *time);
    }
    if (!alike.empty()) record(*stage.median, operation, median_of(std::move(alike)));
    return std::nullopt;
}

void StageRunner::record(std::size_t group, const Subject& operation, const Statistics& time) {
    use_.recorder.add({group, operation.collective, operation.type, operation.in_place,
                       operation.bytes, time, operation.op});
}

}  // namespace distgpu::scaling

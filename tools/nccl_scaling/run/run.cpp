// See run.h.
#include "run/run.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/compare.h"
#include "analysis/loop_statistics.h"
#include "base/format.h"
#include "report/names.h"
#include "report/units.h"
#include "run/environment.h"
#include "run/nccl_conf.h"
#include "run/together.h"
#include "run/world.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

using nlohmann::json;

// Of the one in the middle.
Statistics median_of(std::vector<Statistics> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end(),
                     [](const auto& a, const auto& b) { return a.median < b.median; });
    return *middle;
}

// In what this rank differs from rank 0, where all must be alike.
std::string text_of(const Difference& difference) {
    if (!difference.here) return difference.name + " is missing";
    return formatted("{} is {}, on rank 0 {}", difference.name, *difference.here,
                     difference.there.value_or("missing"));
}

class Run {
  public:
    explicit Run(const Equipment& equipment)
        : use_(equipment), world_(world_of(equipment.channel.peers())) {}

    std::optional<Fault> go() {
        use_.channel.begin("start of the back end");
        if (auto fault = start()) return fault;
        if (auto fault = measure_everything()) return fault;
        if (leads()) use_.recorder.complete();
        use_.channel.begin("end of the back end");
        if (auto error = use_.backend.finish()) return fault_of(*error);
        use_.channel.finish();
        return std::nullopt;
    }

  private:
    bool leads() const { return use_.membership.rank == 0; }

    std::optional<Fault> start() {
        const Membership& member = use_.membership;
        const auto environment = kept_environment(environ, own_nccl_conf_files());
        auto description = use_.backend.start({member.rank, member.world_size, member.local_rank});
        if (!description) return fault_of(description.error());
        add_devices(world_,
                    use_.channel.gather(devices_text(description->gpu, port_of_rank(environment))));
        const auto host_checks = use_.channel.gather(description->host_checks);
        // Before they connect: different versions may not understand each other.
        const Fingerprint& own = description->fingerprint;
        const Fingerprint first = json::parse(use_.channel.broadcast(json(own).dump()));
        if (const auto found = differences(own, first); !found.empty()) {
            return Fault{ExitCode::environment, text_of(found.front())};
        }
        auto unconnected = use_.backend.connect([&](const std::string& text) {
            return Result<std::string>(use_.channel.broadcast(text));
        });
        if (unconnected) return fault_of(*unconnected);
        await_all();
        known_ = {use_.options.backend,
                  now(),
                  description->fingerprint,
                  environment,
                  world_.nodes,
                  {},
                  {},
                  {},
                  check_text(host_checks)};
        plan_ =
            make_plan(world_.nodes, use_.options.wishes, [&](Collective collective, bool in_place) {
                return use_.backend.offers(collective, in_place);
            });
        known_.groups = plan_.groups;
        if (!leads()) return std::nullopt;
        return fault_if(use_.recorder.begin(known_));
    }

    // Of rank 0's file and table.
    std::string check_text(const std::vector<std::string>& host_checks) const {
        if (!use_.options.check) return "off";
        const auto first = std::find_if(host_checks.begin(), host_checks.end(),
                                        [](const auto& why) { return !why.empty(); });
        if (first == host_checks.end()) return "";
        const auto rank = static_cast<std::uint32_t>(first - host_checks.begin());
        return formatted("by CPUs: {}: {}", names_of_peers(world_.peers)(rank), *first);
    }

    // Before the first message. Under Slurm's PMIx (22.05.8) MPI_Init may be done on one rank while
    // it is under way on another, and Open MPI 4.1 crashes there on a message that comes so early:
    // of 800 launches on a busy machine 14 ended so.
    void await_all() {
        use_.channel.gather("");
        use_.channel.broadcast("");
    }

    static std::string now() {
        const std::time_t seconds = std::time(nullptr);
        std::tm utc{};
        gmtime_r(&seconds, &utc);
        std::array<char, sizeof "2026-01-01T00:00:00Z"> text{};
        static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
        return text.data();
    }

    Loop loop() {
        return {use_.options.warmup, use_.corrupt, [this] { use_.channel.made_progress(); }};
    }

    std::optional<Fault> measure_everything() {
        auto measurer = Measurer::make(use_.backend, loop(), use_.options.wishes.sizes.back());
        if (!measurer) return measurer.error();
        for (const Stage& stage : plan_.stages) {
            if (auto fault = measure_stage(stage, *measurer)) return fault;
        }
        return std::nullopt;
    }

    // Of a stage that is under way, what concerns this rank.
    struct Place {
        std::vector<std::vector<std::uint32_t>> members;  // ranks, by the stage's groups
        std::optional<std::uint32_t> own;                 // index of this rank's group there
        Seat seat;
        Communicator* group = nullptr;
    };

    std::optional<Fault> measure_stage(const Stage& stage, Measurer& measurer) {
        Place place = place_in(stage);
        use_.channel.begin(formatted("{}, new communicator", who(stage)));
        const auto group = use_.backend.split(place.own, place.seat);
        if (!group) return fault_of(group.error());
        place.group = group->get();
        for (std::uint32_t i = 0; i < stage.repeats; ++i) {
            for (const Subject& operation : stage.operations) {
                announce(stage, operation);
                if (auto fault = measure(stage, place, operation, measurer)) return fault;
            }
        }
        return place.group == nullptr ? std::nullopt : fault_if(place.group->close());
    }

    Place place_in(const Stage& stage) const {
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

    std::optional<Fault> measure(const Stage& stage, const Place& place, const Subject& operation,
                                 Measurer& measurer) {
        const bool takes_part =
            place.group != nullptr && extent_of(operation, place.seat.ranks).count > 0;
        double seconds = 0;
        if (takes_part) {
            const auto warm = measurer.warm_up(*place.group, place.seat, operation,
                                               use_.options.check && stage.checked);
            if (!warm) return warm.error();
            seconds = *warm;
        }
        const auto iterations = iterations_of(stage, place, seconds);
        if (stage.groups.size() > 1) {
            if (auto error = use_.backend.barrier()) return fault_of(*error);
        }
        std::vector<double> ends;
        if (takes_part) {
            auto timed = measurer.time(*place.group, place.seat, operation, iterations);
            if (!timed) return timed.error();
            ends = *std::move(timed);
        }
        const auto answers = use_.channel.gather(json(ends).dump());
        record(stage, place, operation, answers);
        use_.channel.broadcast("");  // all are done: the next one begins
        return std::nullopt;
    }

    // Groups that are compared with each other run for as long as the slowest of them.
    std::uint32_t iterations_of(const Stage& stage, const Place& place, double seconds) {
        if (stage.groups.size() < 2 || stage.checked) return use_.options.iterations;
        const auto answers = use_.channel.gather(json(seconds).dump());
        std::vector<std::uint32_t> counts;
        if (leads()) {
            std::vector<double> slowest;
            for (const auto& ranks : place.members) {
                double& longest = slowest.emplace_back(0);
                for (const std::uint32_t rank : ranks) {
                    longest = std::max(longest, json::parse(answers[rank]).get<double>());
                }
            }
            counts = iterations_together(slowest, use_.options.iterations);
        }
        const json known = json::parse(use_.channel.broadcast(json(counts).dump()));
        return place.own ? known.at(*place.own).get<std::uint32_t>() : 0;
    }

    std::string who(const Stage& stage) const {
        const Group& first = plan_.groups[stage.groups.front()];
        if (stage.groups.size() == 1) return group_label(known_, first);
        if (first.kind == Group::Kind::node) return "every node alone";
        return first.kind == Group::Kind::rail ? "all rails" : "pairs of nodes";
    }

    void announce(const Stage& stage, const Subject& operation) {
        const std::string phase =
            formatted("{} {}, {}, {}", row_of(operation.collective).name,
                      row_of(operation.type).name, format_bytes(operation.bytes), who(stage));
        use_.channel.begin(phase);
        if (leads()) use_.recorder.show(phase);
    }

    // On rank 0.
    void record(const Stage& stage, const Place& place, const Subject& operation,
                const std::vector<std::string>& answers) {
        if (answers.empty()) return;
        std::vector<Statistics> alike;  // of groups that are as large as that of the median
        for (std::size_t i = 0; i < place.members.size(); ++i) {
            std::vector<std::vector<double>> ends;
            ends.reserve(place.members[i].size());
            for (const std::uint32_t rank : place.members[i]) {
                ends.push_back(json::parse(answers[rank]));
            }
            const Statistics time = loop_statistics(ends);
            if (time.iterations == 0) continue;
            const Group& group = plan_.groups[stage.groups[i]];
            if (stage.median && group.ranks == plan_.groups[*stage.median].ranks) {
                alike.push_back(time);
            }
            // A thousand nodes would have a thousand times all that was asked for.
            if (group.kind == Group::Kind::node && !(operation == plan_.comparison)) continue;
            record(stage.groups[i], operation, time);
        }
        if (!alike.empty()) record(*stage.median, operation, median_of(std::move(alike)));
    }

    void record(std::size_t group, const Subject& operation, const Statistics& time) {
        use_.recorder.add({group, operation.collective, operation.type, operation.in_place,
                           operation.bytes, time});
    }

    const Equipment use_;
    World world_;
    Plan plan_;
    Results known_;
};

}  // namespace

std::optional<Fault> run(const Equipment& equipment) {
    auto fault = Run(equipment).go();
    if (fault) equipment.channel.fail(fault->code, fault->problem);
    return fault;
}

}  // namespace distgpu::scaling

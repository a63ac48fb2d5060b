// See run.h.
#include "run/run.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/compare.h"
#include "analysis/statistics.h"
#include "base/format.h"
#include "report/names.h"
#include "report/units.h"
#include "run/environment.h"
#include "run/nccl_conf.h"
#include "run/overlap.h"
#include "run/world.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

using nlohmann::json;

// The slowest rank's time of each iteration.
std::vector<double> slowest(const std::vector<std::uint32_t>& ranks,
                            const std::vector<std::string>& answers) {
    std::vector<double> all;
    for (const std::uint32_t rank : ranks) {
        const auto seconds = json::parse(answers[rank]).get<std::vector<double>>();
        all.resize(seconds.size());
        std::transform(all.begin(), all.end(), seconds.begin(), all.begin(),
                       [](double a, double b) { return std::max(a, b); });
    }
    return all;
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
        if (auto fault = measure_overlap()) return fault;
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
                  {}};
        plan_ =
            make_plan(world_.nodes, use_.options.wishes, [&](Collective collective, bool in_place) {
                return use_.backend.offers(collective, in_place);
            });
        known_.groups = plan_.groups;
        if (!leads()) return std::nullopt;
        return fault_if(use_.recorder.begin(known_));
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
        return {use_.options.warmup, use_.options.iterations, use_.corrupt,
                [this] { use_.channel.made_progress(); }};
    }

    std::optional<Fault> measure_everything() {
        auto measurer = Measurer::make(use_.backend, loop(), use_.options.wishes.sizes.back());
        if (!measurer) return measurer.error();
        for (const Stage& stage : plan_.stages) {
            if (auto fault = measure_stage(stage, *measurer)) return fault;
        }
        return std::nullopt;
    }

    std::optional<Fault> measure_stage(const Stage& stage, Measurer& measurer) {
        std::vector<std::vector<std::uint32_t>> members(stage.groups.size());
        std::optional<std::uint32_t> own;
        Seat seat;
        for (std::uint32_t i = 0; i < members.size(); ++i) {
            members[i] = ranks_of(world_, plan_.groups[stage.groups[i]]);
            const auto here = std::find(members[i].begin(), members[i].end(), use_.membership.rank);
            if (here == members[i].end()) continue;
            own = i;
            seat = {static_cast<std::uint32_t>(here - members[i].begin()),
                    static_cast<std::uint32_t>(members[i].size())};
        }
        use_.channel.begin(formatted("{}, new communicator", who(stage)));
        auto group = use_.backend.split(own, seat);
        if (!group) return fault_of(group.error());
        for (const Subject& operation : stage.operations) {
            announce(stage, operation);
            std::vector<double> seconds;
            if (*group != nullptr && extent_of(operation, seat.ranks).count > 0) {
                auto measured = measurer.measure(**group, seat, operation);
                if (!measured) return measured.error();
                seconds = *std::move(measured);
            }
            const auto answers = use_.channel.gather(json(seconds).dump());
            record(stage, operation, members, answers);
            use_.channel.broadcast("");  // all are done: the next one begins
        }
        if (*group == nullptr) return std::nullopt;
        return fault_if((*group)->close());
    }

    // Of all ranks at the same time.
    std::optional<Fault> measure_overlap() {
        const Seat seat{use_.membership.rank, use_.membership.world_size};
        if (seat.ranks < 2) return std::nullopt;
        const std::string phase = "overlap of compute and all-reduce";
        use_.channel.begin(phase);
        if (leads()) use_.recorder.show(phase);
        const auto compute = use_.backend.make_compute();
        if (compute && *compute == nullptr) return std::nullopt;
        if (!everyone_has(compute)) return std::nullopt;
        auto group = use_.backend.split(0, seat);
        if (!group) return fault_of(group.error());
        const auto bucket = use_.backend.allocate(static_cast<std::size_t>(ddp_bucket_bytes));
        if (!bucket) return fault_of(bucket.error());
        const auto trials = overlap_trials(**compute, **group, *bucket, loop());
        if (!trials) return trials.error();
        json own = json::array();
        for (const auto& [alone, together] : *trials) {
            own.push_back(
                {alone.compute, alone.communication, together.compute, together.communication});
        }
        record_overlap(use_.channel.gather(own.dump()));
        use_.channel.broadcast("");
        return fault_if((*group)->close());
    }

    // Whether all ranks can compute; where not, rank 0 says why.
    bool everyone_has(const Result<std::unique_ptr<Compute>>& compute) {
        const auto answers = use_.channel.gather(compute ? "" : fault_of(compute.error()).problem);
        const auto missing = std::find_if(answers.begin(), answers.end(),
                                          [](const auto& answer) { return !answer.empty(); });
        const bool all = use_.channel.broadcast(missing == answers.end() ? "all" : "") == "all";
        if (leads() && !all) {
            const auto rank = static_cast<std::uint32_t>(missing - answers.begin());
            use_.recorder.note(formatted("overlap not measured: {}: {}",
                                         names_of_peers(world_.peers)(rank), *missing));
        }
        return all;
    }

    // On rank 0.
    void record_overlap(const std::vector<std::string>& answers) {
        if (answers.empty()) return;
        std::vector<std::vector<OverlapTrial>> ranks(answers.size());
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            for (const json& trial : json::parse(answers[rank])) {
                ranks[rank].push_back({{trial.at(0), trial.at(1)}, {trial.at(2), trial.at(3)}});
            }
        }
        use_.recorder.add(overlap_of(ranks));
    }

    std::string who(const Stage& stage) const {
        const Group& first = plan_.groups[stage.groups.front()];
        if (stage.groups.size() == 1) return group_label(known_, first);
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
    void record(const Stage& stage, const Subject& operation,
                const std::vector<std::vector<std::uint32_t>>& members,
                const std::vector<std::string>& answers) {
        if (answers.empty()) return;
        for (std::size_t i = 0; i < members.size(); ++i) {
            auto seconds = slowest(members[i], answers);
            if (seconds.empty()) continue;
            const Measurement measurement{stage.groups[i], operation.collective,
                                          operation.type,  operation.in_place,
                                          operation.bytes, statistics_of(std::move(seconds))};
            use_.recorder.add(measurement);
        }
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

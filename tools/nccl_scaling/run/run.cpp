#include "run/run.h"

#include "analysis/collectives.h"
#include "analysis/statistics.h"
#include "base/format.h"
#include "node/machine.h"
#include "report/formats.h"
#include "report/judgement.h"
#include "report/names.h"
#include "run/plan.h"
#include "run/world.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

// Of the one in the middle.
Statistics median_of(std::vector<Statistics> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle, {}, &Statistics::median);
    return *middle;
}

class Run {
  public:
    explicit Run(const Equipment& equipment)
        : use_(equipment),
          world_(world_of(equipment.channel.peers())),
          pace_(pace_of(equipment.options.iterations, equipment.options.wishes.quick)) {}

    std::optional<Error> go() {
        // Before MPI starts, which may warn where its process forks.
        if (use_.membership.local_rank == 0) fault_ = check_of_node();
        use_.channel.begin("start of the back end");
        if (auto error = start()) return error;
        if (auto error = measure_everything()) return error;
        if (leads()) use_.recorder.complete();
        use_.channel.begin("end of the back end");
        if (auto error = use_.backend.finish()) return *error;
        use_.channel.finish();
        return std::nullopt;
    }

  private:
    bool leads() const { return use_.membership.rank == 0; }

    std::optional<Error> start() {
        const Membership& member = use_.membership;
        auto description = use_.backend.start({member.rank, member.world_size, member.local_rank});
        if (!description) return description.error();
        // Before they connect: different versions may not understand each other.
        const Fingerprint& own = description->fingerprint;
        Fingerprint first;
        const auto malformed = read_answer(
            world_.peers, 0,
            use_.channel.broadcast(JsonText{{"fingerprint", values_json(own)}}.line()),
            [&](const JsonFields& fields) { first = read_values(fields, "fingerprint"); });
        if (malformed) return *malformed;
        if (const auto found = differences(own, first, "on rank 0"); !found.empty()) {
            return Error{"", found.front(), ""};
        }
        auto unconnected = use_.backend.connect(
            [&](const std::string& text) { return use_.channel.broadcast(text); });
        if (unconnected) return *unconnected;
        // NCCL has put the variables of its files into the environment by now (2.30,
        // src/misc/param.cc).
        const auto environment = kept_environment(environ);
        const std::string port = port_of_rank(environment);
        // All wait before the first message. Under Slurm's PMIx (22.05.8) MPI_Init may be done on
        // one rank while it is under way on another, and Open MPI 4.1 crashes there on a message
        // that comes so early: of 800 launches on a busy machine 14 ended so.
        const auto devices = use_.channel.gather(devices_text(description->gpu, port, fault_));
        if (const auto error = add_devices(world_, devices)) return *error;
        use_.channel.broadcast("");
        known_.backend = use_.options.backend;
        known_.started = now();
        known_.fingerprint = own;
        known_.environment = environment;
        known_.nodes = world_.nodes;
        known_.checked = use_.options.check;
        return std::nullopt;
    }

    static std::string now() {
        const std::time_t seconds = std::time(nullptr);
        std::tm utc{};
        gmtime_r(&seconds, &utc);
        std::array<char, sizeof "2026-01-01T00:00:00Z"> text{};
        static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
        return text.data();
    }

    std::optional<Error> measure_everything() {
        Wishes wishes = use_.options.wishes;
        auto measurer = Measurer::make(
            use_.backend,
            {use_.options.warmup, use_.corrupt, [this] { use_.channel.made_progress(); }},
            wishes.sizes.back());
        if (!measurer) return measurer.error();
        measurer_ = *std::move(measurer);
        const auto offers = [&](const Subject& subject) { return use_.backend.offers(subject); };
        if (use_.options.probe) {
            const auto size = probe(operations_of(wishes, offers).front());
            if (!size) return size.error();
            wishes.sizes = {*size};
        }
        plan_ = make_plan(world_.nodes, wishes, offers);
        known_.groups = plan_.groups;
        if (leads()) {
            if (auto error = use_.recorder.begin(known_)) return error;
        }
        for (const Stage& stage : plan_.stages) {
            if (auto error = run(stage)) return error;
        }
        if (world_.nodes.size() < 3) return std::nullopt;  // two accuse each other
        if (auto error = play_tournament()) return error;
        return retest();
    }

    // The size at which the slowest part of the run still lets a round be short.
    Result<std::uint64_t> probe(Subject subject) {
        use_.channel.begin("first probe of all nodes");
        const Seat seat{use_.membership.rank, use_.membership.world_size};
        auto world = use_.backend.split(0, seat);
        if (!world) return world.error();
        std::uint64_t next = first_probe(subject.bytes, seat.ranks);
        const std::uint64_t largest = subject.bytes;
        while (next > 0) {
            subject.bytes = next;
            const auto own = measurer_->warm_up(**world, seat, subject, false);
            if (!own) return own.error();
            const auto all = gather_numbers(use_.channel, {*own});
            if (!all) return all.error();
            double slowest = 0;
            for (const auto& one : *all) slowest = std::max(slowest, one.empty() ? 0 : one.front());
            next = next_probe(subject.bytes, slowest, largest);
            const std::string text = use_.channel.broadcast(JsonText{{"bytes", next}}.line());
            const auto malformed = read_answer(
                world_.peers, 0, text,
                [&](const JsonFields& fields) { next = fields.count<std::uint64_t>("bytes"); });
            if (malformed) return *malformed;
            if (next > largest) next = 0;
        }
        if (auto error = (*world)->close()) return *error;
        return subject.bytes;
    }

    std::optional<Error> play_tournament() {
        std::size_t played = 0;
        for (const Round& round : tournament(count_of_nodes())) {
            if (!agreed(seconds() < pace_.end_of_tournament)) break;
            if (auto error = run(pairs_stage(plan_, world_.nodes, round))) return error;
            // Now and then: it takes longer the more there is.
            if (leads() && std::has_single_bit(++played)) use_.recorder.name_worst(seconds());
        }
        return std::nullopt;
    }

    // Who was slow in the tournament is tried again, and then rail by rail.
    std::optional<Error> retest() {
        std::vector<std::uint32_t> named;
        if (leads()) {
            const Blame found = blame(evidence_of(use_.recorder.results()));
            named = nodes_to_retest(found, count_of_nodes());
        }
        const auto known = broadcast_indices(use_.channel, named, count_of_nodes());
        if (!known) return known.error();
        for (const Round& round : retest_rounds(*known, count_of_nodes())) {
            if (!agreed(seconds() < pace_.end_of_retest)) break;
            if (auto error = run(pairs_stage(plan_, world_.nodes, round))) return error;
            const Stage rails = pair_rails_stage(plan_, world_.nodes, round);
            if (rails.groups.empty()) continue;
            if (auto error = run(rails)) return error;
        }
        return std::nullopt;
    }

    // One stage of the plan as every rank goes through it, and rank 0 records it.
    std::optional<Error> run(const Stage& stage) {
        if (leads()) use_.recorder.add_groups(plan_.groups);  // which may be new
        Place place = place_in(stage);
        use_.channel.begin(formatted("{}, new communicator", who(stage)));
        const auto group = use_.backend.split(place.own, place.seat);
        if (!group) return group.error();
        place.group = group->get();
        for (std::uint32_t i = 0; i < stage.repeats; ++i) {
            for (const Subject& operation : stage.operations) {
                use_.channel.begin(formatted("{}, {}", operation_name(operation), who(stage)));
                if (auto error = measure(stage, place, operation)) return error;
            }
        }
        return place.group == nullptr ? std::nullopt : place.group->close();
    }

    // What concerns this rank of a stage that is under way.
    struct Place {
        std::vector<std::vector<std::uint32_t>> members;  // ranks, by the stage's groups
        std::optional<std::uint32_t> own;                 // index of this rank's group there
        Seat seat;
        Communicator* group = nullptr;
    };

    Place place_in(const Stage& stage) const {
        Place place;
        for (std::uint32_t i = 0; i < stage.groups.size(); ++i) {
            const auto& ranks =
                place.members.emplace_back(ranks_of(world_, plan_.groups[stage.groups[i]]));
            const auto here = std::ranges::find(ranks, use_.membership.rank);
            if (here == ranks.end()) continue;
            place.own = i;
            place.seat = {static_cast<std::uint32_t>(here - ranks.begin()),
                          static_cast<std::uint32_t>(ranks.size())};
        }
        return place;
    }

    std::optional<Error> measure(const Stage& stage, const Place& place, const Subject& operation) {
        const bool takes_part =
            place.group != nullptr && extent_of(operation, place.seat.ranks).count > 0;
        double seconds = 0;
        if (takes_part) {
            const auto warm = measurer_->warm_up(*place.group, place.seat, operation,
                                                 use_.options.check && stage.checked);
            if (!warm) return warm.error();
            seconds = *warm;
        }
        const auto iterations = iterations_of(stage, place, seconds);
        if (!iterations) return iterations.error();
        if (stage.groups.size() > 1) {
            if (auto error = use_.backend.barrier()) return *error;
        }
        std::vector<double> ends;
        if (takes_part) {
            auto timed = measurer_->time(*place.group, place.seat, operation, *iterations);
            if (!timed) return timed.error();
            ends = *std::move(timed);
        }
        const auto all = gather_numbers(use_.channel, ends);
        if (!all) return all.error();
        if (auto error = record(stage, place, operation, *all)) return error;
        use_.channel.broadcast("");  // all are done: the next one begins
        return std::nullopt;
    }

    // Groups that are compared with each other run for as long as the slowest of them.
    Result<std::uint32_t> iterations_of(const Stage& stage, const Place& place, double seconds) {
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

    std::string who(const Stage& stage) const {
        const Group& first = plan_.groups[stage.groups.front()];
        if (stage.groups.size() == 1) return group_label(known_, first);
        if (first.kind == Group::Kind::node) return "every node alone";
        if (first.kind == Group::Kind::rail) return "all rails";
        return first.kind == Group::Kind::pair ? "pairs of nodes" : "rails of pairs of nodes";
    }

    // On rank 0; on others there are no ends.
    std::optional<Error> record(const Stage& stage, const Place& place, const Subject& operation,
                                const std::vector<std::vector<double>>& ends) {
        if (ends.empty()) return std::nullopt;
        std::vector<Statistics> alike;  // of groups that are as large as that of the median
        for (std::size_t i = 0; i < place.members.size(); ++i) {
            std::vector<std::vector<double>> of_group;
            of_group.reserve(place.members[i].size());
            for (const std::uint32_t rank : place.members[i]) of_group.push_back(ends[rank]);
            const auto time = loop_statistics(of_group);
            if (!time) return time.error();
            if (time->iterations == 0) continue;
            const Group& group = plan_.groups[stage.groups[i]];
            if (stage.median && group.ranks == plan_.groups[*stage.median].ranks) {
                alike.push_back(*time);
            }
            // A thousand nodes would have a thousand times all that was asked for.
            if (group.kind == Group::Kind::node && !(operation == plan_.comparison)) continue;
            use_.recorder.add({stage.groups[i], operation, *time});
        }
        if (!alike.empty()) {
            use_.recorder.add({*stage.median, operation, median_of(std::move(alike))});
        }
        return std::nullopt;
    }

    // What rank 0 says.
    bool agreed(bool own) { return !use_.channel.broadcast(own ? "yes" : "").empty(); }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    }

    std::uint32_t count_of_nodes() const { return static_cast<std::uint32_t>(world_.nodes.size()); }

    const Equipment use_;
    World world_;
    const Pace pace_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    Plan plan_;
    std::optional<Measurer> measurer_;
    Results known_;
    std::string fault_;  // of this node, by its first rank
};

}  // namespace

ExitCode run(const Equipment& equipment) {
    const auto error = Run(equipment).go();
    if (!error) return equipment.recorder.exit_code();
    const auto& [object, problem, remedy] = *error;
    const auto code = object == wrong_data ? ExitCode::wrong_data : ExitCode::environment;
    equipment.channel.fail(code, (object.empty() ? "" : object + ": ") + problem +
                                     (remedy.empty() ? "" : "; " + remedy));
    return code;
}

}  // namespace distgpu::scaling

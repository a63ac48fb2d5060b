#include "run/run.h"

#include "analysis/collectives.h"
#include "analysis/statistics.h"
#include "base/format.h"
#include "base/io/clock.h"
#include "node/machine.h"
#include "report/comparison.h"
#include "report/formats.h"
#include "report/names.h"
#include "run/plan.h"
#include "run/world.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

// The statistics with the median of the medians.
Statistics median_of(std::vector<Statistics> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle, {}, &Statistics::median);
    return *middle;
}

class Run {
  public:
    explicit Run(const RunContext& context)
        : context_(context),
          world_(world_of(context.channel.peers())),
          schedule_(make_schedule(context.options.iterations, context.options.selection.quick)) {}

    std::optional<Error> execute() {
        // Before MPI starts, because MPI may warn about a process that forks.
        if (context_.membership.local_rank == 0) fault_ = run_node_check();
        context_.channel.begin_phase("start of the back end");
        if (auto error = start()) return error;
        if (auto error = measure_everything()) return error;
        if (is_rank_0()) context_.recorder.complete();
        context_.channel.begin_phase("end of the back end");
        if (auto error = context_.backend.finish()) return *error;
        context_.channel.finish();
        return std::nullopt;
    }

  private:
    bool is_rank_0() const { return context_.membership.rank == 0; }

    std::optional<Error> start() {
        const Membership& own_membership = context_.membership;
        auto description = context_.backend.start(
            {own_membership.rank, own_membership.world_size, own_membership.local_rank});
        if (!description) return description.error();
        // Compare before connecting, because different versions may be incompatible.
        const Fingerprint& own = description->fingerprint;
        Fingerprint first;
        const auto malformed = read_answer(
            world_.peers, 0,
            context_.channel.broadcast(JsonText{{"fingerprint", values_json(own)}}.line()),
            [&](const JsonFields& fields) { first = read_values(fields, "fingerprint"); });
        if (malformed) return *malformed;
        if (const auto found = fingerprint_differences(own, first, "on rank 0"); !found.empty()) {
            return Error{"", found.front(), ""};
        }
        auto unconnected = context_.backend.connect(
            [&](const std::string& text) { return context_.channel.broadcast(text); });
        if (unconnected) return *unconnected;
        // By now NCCL has set the variables from its configuration files (2.30, src/misc/param.cc).
        const auto environment = recorded_environment(environ);
        const std::string port = port_of_rank(environment);
        // All ranks wait before the first message. Under Slurm's PMIx (22.05.8), MPI_Init may
        // return on one rank while it still runs on another, and Open MPI 4.1 crashes there if a
        // message arrives so early: 14 of 800 launches on a busy machine did.
        const auto devices = context_.channel.gather(devices_text(description->gpu, port, fault_));
        if (const auto error = add_devices(world_, devices)) return *error;
        context_.channel.broadcast("");
        results_.backend = context_.options.backend;
        results_.started = utc_time();
        results_.fingerprint = own;
        results_.environment = environment;
        results_.nodes = world_.nodes;
        results_.checked = context_.options.checks_data;
        return std::nullopt;
    }

    std::optional<Error> measure_everything() {
        Selection selection = context_.options.selection;
        auto measurer = Measurer::make(context_.backend,
                                       {context_.options.warmup, context_.corrupt_element,
                                        [this] { context_.channel.report_progress(); }},
                                       selection.sizes.back());
        if (!measurer) return measurer.error();
        measurer_ = *std::move(measurer);
        const auto is_supported = [&](const Operation& operation) {
            return context_.backend.supports(operation);
        };
        if (context_.options.probes_size) {
            const auto size = probe_size(operations_of(selection, is_supported).front());
            if (!size) return size.error();
            selection.sizes = {*size};
        }
        plan_ = make_plan(world_.nodes, selection, is_supported);
        results_.groups = plan_.groups;
        if (is_rank_0()) {
            if (auto error = context_.recorder.begin(results_)) return error;
        }
        for (const Stage& stage : plan_.stages) {
            if (auto error = run(stage)) return error;
        }
        if (world_.nodes.size() < 3) return std::nullopt;  // the slow one of two cannot be found
        if (auto error = play_tournament()) return error;
        return retest();
    }

    // Finds a size with which a round stays short even with the slowest part.
    Result<std::uint64_t> probe_size(Operation operation) {
        context_.channel.begin_phase("first probe of all nodes");
        const GroupRank self{context_.membership.rank, context_.membership.world_size};
        auto world = context_.backend.split(0, self);
        if (!world) return world.error();
        std::uint64_t next = first_probe_size(operation.bytes, self.size);
        const std::uint64_t largest = operation.bytes;
        while (next > 0) {
            operation.bytes = next;
            const auto own = measurer_->warm_up(**world, self, operation, false);
            if (!own) return own.error();
            const auto all = gather_numbers(context_.channel, {*own});
            if (!all) return all.error();
            double slowest = 0;
            for (const auto& one : *all) slowest = std::max(slowest, one.empty() ? 0 : one.front());
            next = next_probe_size(operation.bytes, slowest, largest);
            const std::string text = context_.channel.broadcast(JsonText{{"bytes", next}}.line());
            const auto malformed = read_answer(
                world_.peers, 0, text,
                [&](const JsonFields& fields) { next = fields.count<std::uint64_t>("bytes"); });
            if (malformed) return *malformed;
            if (next > largest) next = 0;
        }
        if (auto error = (*world)->close()) return *error;
        return operation.bytes;
    }

    std::optional<Error> play_tournament() {
        std::size_t played = 0;
        for (const Round& round : tournament(node_count())) {
            if (!broadcast_decision(seconds() < schedule_.tournament_deadline)) break;
            if (auto error = run(pairs_stage(plan_, world_.nodes, round))) return error;
            // After 1, 2, 4, ... rounds, because it takes longer with more results.
            if (is_rank_0() && std::has_single_bit(++played)) {
                context_.recorder.print_slow_parts(seconds());
            }
        }
        return std::nullopt;
    }

    // Measures the nodes that were slow in the tournament again, with all GPUs and then rail by
    // rail.
    std::optional<Error> retest() {
        std::vector<std::uint32_t> named;
        if (is_rank_0()) {
            const auto analysis = find_limiters(evidence_of(context_.recorder.results()));
            named = nodes_to_retest(analysis, node_count());
        }
        const auto known = broadcast_indices(context_.channel, named, node_count());
        if (!known) return known.error();
        for (const Round& round : retest_rounds(*known, node_count())) {
            if (!broadcast_decision(seconds() < schedule_.retest_deadline)) break;
            if (auto error = run(pairs_stage(plan_, world_.nodes, round))) return error;
            const Stage rails = pair_rails_stage(plan_, world_.nodes, round);
            if (rails.groups.empty()) continue;
            if (auto error = run(rails)) return error;
        }
        return std::nullopt;
    }

    // Runs one stage of the plan on this rank; rank 0 records the results.
    std::optional<Error> run(const Stage& stage) {
        if (is_rank_0()) context_.recorder.set_groups(plan_.groups);  // some may be new
        StagePart part = part_in(stage);
        context_.channel.begin_phase(formatted("{}, new communicator", stage_label(stage)));
        const auto group = context_.backend.split(part.own, part.self);
        if (!group) return group.error();
        part.group = group->get();
        for (std::uint32_t i = 0; i < stage.repeats; ++i) {
            for (const Operation& operation : stage.operations) {
                context_.channel.begin_phase(
                    formatted("{}, {}", operation_name(operation), stage_label(stage)));
                if (auto error = measure(stage, part, operation)) return error;
            }
        }
        return part.group == nullptr ? std::nullopt : part.group->close();
    }

    // This rank's part of the running stage.
    struct StagePart {
        std::vector<std::vector<std::uint32_t>> members;  // ranks by group of the stage
        std::optional<std::uint32_t> own;                 // index into `members`
        GroupRank self;
        Communicator* group = nullptr;
    };

    StagePart part_in(const Stage& stage) const {
        StagePart part;
        for (std::uint32_t i = 0; i < stage.groups.size(); ++i) {
            const auto& ranks =
                part.members.emplace_back(ranks_of(world_, plan_.groups[stage.groups[i]]));
            const auto here = std::ranges::find(ranks, context_.membership.rank);
            if (here == ranks.end()) continue;
            part.own = i;
            part.self = {static_cast<std::uint32_t>(here - ranks.begin()),
                         static_cast<std::uint32_t>(ranks.size())};
        }
        return part;
    }

    std::optional<Error> measure(const Stage& stage, const StagePart& part,
                                 const Operation& operation) {
        const bool takes_part =
            part.group != nullptr && buffer_sizes(operation, part.self.size).count > 0;
        double seconds = 0;
        if (takes_part) {
            const auto warm = measurer_->warm_up(*part.group, part.self, operation,
                                                 context_.options.checks_data && stage.checked);
            if (!warm) return warm.error();
            seconds = *warm;
        }
        const auto iterations = agree_on_iterations(stage, part, seconds);
        if (!iterations) return iterations.error();
        if (stage.groups.size() > 1) {
            if (auto error = context_.backend.barrier()) return *error;
        }
        std::vector<double> ends;
        if (takes_part) {
            auto timed = measurer_->time(*part.group, part.self, operation, *iterations);
            if (!timed) return timed.error();
            ends = *std::move(timed);
        }
        const auto all = gather_numbers(context_.channel, ends);
        if (!all) return all.error();
        if (auto error = record(stage, part, operation, *all)) return error;
        context_.channel.broadcast("");  // all are done
        return std::nullopt;
    }

    // Groups that are compared with each other run for as long as the slowest of them.
    Result<std::uint32_t> agree_on_iterations(const Stage& stage, const StagePart& part,
                                              double seconds) {
        if (!schedule_.is_time_limited() && (stage.groups.size() < 2 || stage.checked)) {
            return context_.options.iterations;
        }
        const auto answers = gather_numbers(context_.channel, {seconds});
        if (!answers) return answers.error();
        std::vector<std::uint32_t> counts;
        if (!answers->empty()) {
            std::vector<double> slowest;
            for (const auto& ranks : part.members) {
                double& longest = slowest.emplace_back(0);
                for (const std::uint32_t rank : ranks) {
                    for (const double one : (*answers)[rank]) longest = std::max(longest, one);
                }
            }
            counts = balance_iterations(slowest, schedule_.loop);
        }
        const auto known =
            broadcast_indices(context_.channel, counts, std::numeric_limits<std::uint32_t>::max());
        if (!known) return known.error();
        if (!part.own) return 0U;
        if (*part.own < known->size()) return (*known)[*part.own];
        return Error{"rank 0", "sent too few iteration counts", ""};
    }

    std::string stage_label(const Stage& stage) const {
        const Group& first = plan_.groups[stage.groups.front()];
        if (stage.groups.size() == 1) return group_label(results_, first);
        if (first.kind == Group::Kind::node) return "every node alone";
        if (first.kind == Group::Kind::rail) return "all rails";
        return first.kind == Group::Kind::pair ? "pairs of nodes" : "rails of pairs of nodes";
    }

    // Does nothing on ranks other than 0, where `ends` is empty.
    std::optional<Error> record(const Stage& stage, const StagePart& part,
                                const Operation& operation,
                                const std::vector<std::vector<double>>& ends) {
        if (ends.empty()) return std::nullopt;
        std::vector<Statistics> same_size;  // of groups as large as the median group
        for (std::size_t i = 0; i < part.members.size(); ++i) {
            std::vector<std::vector<double>> group_ends;
            group_ends.reserve(part.members[i].size());
            for (const std::uint32_t rank : part.members[i]) group_ends.push_back(ends[rank]);
            const auto time = loop_statistics(group_ends);
            if (!time) return time.error();
            if (time->iterations == 0) continue;
            const Group& group = plan_.groups[stage.groups[i]];
            if (stage.median_group && group.ranks == plan_.groups[*stage.median_group].ranks) {
                same_size.push_back(*time);
            }
            // Record only the comparison: a thousand nodes would each have all selected operations.
            if (group.kind == Group::Kind::node && !(operation == plan_.comparison)) continue;
            context_.recorder.add_measurement({stage.groups[i], operation, *time});
        }
        if (!same_size.empty()) {
            context_.recorder.add_measurement(
                {*stage.median_group, operation, median_of(std::move(same_size))});
        }
        return std::nullopt;
    }

    // Returns rank 0's decision.
    bool broadcast_decision(bool own) {
        return !context_.channel.broadcast(own ? "yes" : "").empty();
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_)
            .count();
    }

    std::uint32_t node_count() const { return static_cast<std::uint32_t>(world_.nodes.size()); }

    const RunContext context_;
    World world_;
    const Schedule schedule_;
    const std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
    Plan plan_;
    std::optional<Measurer> measurer_;
    Results results_;
    std::string fault_;  // of this node; only on its first rank
};

}  // namespace

ExitCode run(const RunContext& context) {
    const auto error = Run(context).execute();
    if (!error) return context.recorder.exit_code();
    const auto& [object, problem, remedy] = *error;
    const auto code = object == wrong_data ? ExitCode::wrong_data : ExitCode::environment;
    context.channel.fail(code, (object.empty() ? "" : object + ": ") + problem +
                                   (remedy.empty() ? "" : "; " + remedy));
    return code;
}

}  // namespace distgpu::scaling

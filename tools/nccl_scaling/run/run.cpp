#include "run/run.h"

#include "analysis/compare.h"
#include "analysis/evidence.h"
#include "analysis/retest.h"
#include "base/format.h"
#include "facts/watch.h"
#include "node/process_environment.h"
#include "results/results_json.h"
#include "run/environment.h"
#include "run/nccl_conf.h"
#include "run/orders.h"
#include "run/stage_runner.h"
#include "run/switches.h"
#include "run/world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

// In what this rank differs from rank 0, where all must be alike.
std::string text_of(const Difference& difference) {
    if (!difference.here) return difference.name + " is missing";
    return formatted("{} is {}, on rank 0 {}", difference.name, *difference.here,
                     difference.there.value_or("missing"));
}

class Run {
  public:
    explicit Run(const Equipment& equipment)
        : use_(equipment),
          world_(world_of(equipment.channel.peers())),
          pace_(pace_of(equipment.options.iterations, equipment.options.wishes.quick,
                        equipment.options.minutes)) {}

    std::optional<Fault> go() {
        // Before MPI starts, which may warn where its process forks.
        if (leads()) find_switches(world_.nodes, ProcessEnvironment());
        if (use_.options.orders && leads()) {
            auto orders = find_orders(world_.nodes, ProcessEnvironment());
            if (!orders) return fault_of(orders.error());
            orders_ = *std::move(orders);
        }
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
        const std::string port = port_of_rank(environment);
        const auto devices = use_.channel.gather(devices_text(description->gpu, port));
        if (const auto error = add_devices(world_, devices)) return fault_of(*error);
        const std::string& gpu = description->gpu;
        watch_.emplace(Own{formatted("{} {}", gpu.empty() ? "rank" : "GPU", member.local_rank),
                           gpu.substr(gpu.rfind(' ') + 1), port});
        const auto host_checks = use_.channel.gather(description->host_checks);
        // Before they connect: different versions may not understand each other.
        const Fingerprint& own = description->fingerprint;
        Fingerprint first;
        const auto malformed = read_answer(
            world_.peers, 0,
            use_.channel.broadcast(JsonText{{"fingerprint", fingerprint_json(own)}}.line()),
            [&](const JsonFields& fields) { first = read_fingerprint(fields); });
        if (malformed) return fault_of(*malformed);
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
        const Wishes& wishes = use_.options.wishes;
        const auto offers = [&](const Subject& subject) { return use_.backend.offers(subject); };
        if (const auto refused = refusal_of(wishes, offers)) return fault_of(*refused);
        plan_ = make_plan(world_.nodes, wishes, offers);
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
        StageRunner runner(use_, world_, plan_, known_, pace_, *measurer);
        if (auto fault = run_stages(runner, *measurer)) return fault;
        gather_facts(*measurer);
        return std::nullopt;
    }

    std::optional<Fault> run_stages(StageRunner& runner, Measurer& measurer) {
        for (const Stage& stage : plan_.stages) {
            if (auto fault = runner.run(stage)) return fault;
        }
        if (use_.options.orders) {
            if (auto fault = compare_orders(use_, world_, orders_, plan_.comparison, measurer)) {
                return fault;
            }
        }
        if (world_.nodes.size() < 3) return std::nullopt;  // two accuse each other
        if (auto fault = play_tournament(runner)) return fault;
        return retest(runner);
    }

    std::optional<Fault> play_tournament(StageRunner& runner) {
        const auto rounds = tournament(count_of_nodes());
        for (std::size_t played = 0; agreed(goes_on(pace_, seconds(), played, rounds.size()));
             ++played) {
            const Round& round = rounds[played % rounds.size()];
            if (auto fault = measure(runner, pairs_stage(plan_, world_.nodes, round))) return fault;
        }
        return std::nullopt;
    }

    // Who was slow in the tournament is tried again, and then rail by rail.
    std::optional<Fault> retest(StageRunner& runner) {
        std::vector<std::uint32_t> named;
        if (leads()) {
            const Blame found = blame(evidence_of(use_.recorder.results()));
            named = nodes_to_retest(found, count_of_nodes());
        }
        const auto known = broadcast_indices(use_.channel, named, count_of_nodes());
        if (!known) return fault_of(known.error());
        for (const Round& round : retest_rounds(*known, count_of_nodes())) {
            if (!agreed(seconds() < pace_.end_of_retest)) break;
            if (auto fault = measure(runner, pairs_stage(plan_, world_.nodes, round))) return fault;
            const Stage rails = pair_rails_stage(plan_, world_.nodes, round);
            if (rails.groups.empty()) continue;
            if (auto fault = measure(runner, rails)) return fault;
        }
        return std::nullopt;
    }

    // After the measurements, which it would disturb. None of it ends the run.
    void gather_facts(const Measurer& measurer) {
        use_.channel.begin("what the nodes say of themselves");
        const auto rates = measurer.copy_rates();
        add_facts(world_, use_.channel.gather(text_of(watch_->end(rates))));
        if (leads()) use_.recorder.replace_nodes(world_.nodes);
    }

    // Of groups that may be new.
    std::optional<Fault> measure(StageRunner& runner, const Stage& stage) {
        if (leads()) use_.recorder.add_groups(plan_.groups);
        return runner.run(stage);
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
    OrderComparison orders_;  // on rank 0
    Results known_;
    std::optional<Watch> watch_;
};

}  // namespace

std::optional<Fault> run(const Equipment& equipment) {
    auto fault = Run(equipment).go();
    if (fault) equipment.channel.fail(fault->code, fault->problem);
    return fault;
}

}  // namespace distgpu::scaling

#include "why/watch.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"
#include "node/machine.h"
#include "node/run_report.h"
#include "output.h"
#include "slurm/find_running_step.h"
#include "slurm/slurm_queries.h"
#include "why/findings.h"
#include "why/look.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;

// Ends this process at once when the task ends, even if a signal has stopped it: srun waits for
// every process that has the step's standard error open. A child does that, which ends with this
// process.
void end_with_task() {
    const pid_t watch = getpid();
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    pollfd task{helper_fd, POLLIN, 0};
    while (poll(&task, 1, -1) < 0 && errno == EINTR) {
    }
    kill(watch, SIGKILL);
    _exit(0);
}

std::string duration_text(seconds length) {
    return length.count() % 60 == 0 ? formatted("{} min", length.count() / 60)
                                    : formatted("{} s", length.count());
}

bool has_progress(const NodeSample& sample) {
    return std::ranges::any_of(find_ranks({&sample, 1}, 0).seen, [&](const RankSample& rank) {
        // A rank that has begun meanwhile has only one moment.
        return rank.process->moments.front().state == '?' || evidence_of_rank(rank).has_progress();
    });
}

bool is_known(const RankSample& rank) {
    return rank.process->moments.back().stack.has_value() || is_stopped_or_blocked(*rank.process);
}

// Sleeps for a sixth of the limit, then reads the counters of the interfaces and HCAs. While these
// show only background traffic, it samples the ranks of its own node, and compares with the first
// sample since they last made progress. If they have made none for a third of the limit, it samples
// all nodes, which takes an extra step; if they still have made none, it samples all nodes again
// until the limit is over. If no rank made progress from the one to the other, it reports that.
class Watcher {
  public:
    Watcher(std::string step, seconds limit, bool can_end_step)
        : step_(std::move(step)),
          limit_(limit),
          can_end_step_(can_end_step),
          pause_(std::max<seconds>(limit / 6, seconds(1))),
          last_look_(std::clamp(pause_, seconds(5), seconds(60))),
          node_(environment_.text("SLURMD_NODENAME")) {}

    ExitCode watch() {
        for (bool is_first = true;; is_first = false) {
            const auto before = Clock::now();
            std::this_thread::sleep_for(pause_);
            const std::chrono::duration<double> passed = Clock::now() - before;
            // A step that was suspended could not move.
            const bool was_suspended = passed > 2 * pause_;
            const bool is_working =
                exceeds_background_traffic(bytes_since(traffic_), passed.count(), ranks_);
            // The first sample shows early whether processes can be sampled at all.
            if (is_first || !is_working) sample_own_node();
            if (is_working || was_suspended) forget();
            const auto stalled = Clock::now() - stalled_since_;
            if (first_ && !baseline_ && stalled >= 2 * pause_) record_baseline();
            if (first_ && stalled >= limit_ - std::min(pause_, last_look_)) {
                if (const auto end = diagnose_step()) return *end;
            }
            traffic_ = read_traffic(first_ ? first_->processes : std::vector<ProcessSample>{});
        }
    }

  private:
    void forget() {
        first_.reset();
        baseline_.reset();
        stalled_since_ = Clock::now();
    }

    // If Slurm does not answer, the next turn tries again.
    void record_baseline() {
        const auto step = find_running_step(step_, environment_);
        auto sample = step ? sample_step(*step, seconds(1)) : step.error();
        if (sample) baseline_ = *std::move(sample);
    }

    void sample_own_node() {
        auto sample = sample_this_node(node_, step_, seconds(0), environment_);
        NodeSample now = sample ? *std::move(sample)
                                : NodeSample{.node = node_, .problem = sample.error().message()};
        if (!now.problem.empty() && !std::exchange(has_reported_problem_, true)) {
            constexpr std::string_view name = "distgpu: ";
            const std::size_t skipped = now.problem.starts_with(name) ? name.size() : 0;
            print_error_line(formatted("distgpu: watch: cannot detect hangs on {}: {}", node_,
                                       now.problem.substr(skipped)));
        }
        const Ranks ranks = find_ranks({&now, 1}, 0);
        ranks_ = ranks.expected;
        if (!std::ranges::all_of(ranks.seen, is_known)) return forget();
        if (first_) {
            NodeSample both = now;
            prepend_moments(*first_, both);
            if (!has_progress(both)) {
                exclude_sampling_cost(*first_, now);
                if (baseline_) exclude_from_baseline(now);
                return;
            }
        }
        forget();
        first_ = std::move(now);
    }

    void exclude_from_baseline(const NodeSample& sample) {
        for (NodeSample& node : baseline_->nodes) {
            if (node.node == sample.node) exclude_sampling_cost(node, sample);
        }
    }

    // Samples all ranks of all nodes. Returns nullopt if some made progress, or if Slurm does not
    // answer, as while slurmctld restarts; it is then called again after another `limit_`.
    std::optional<ExitCode> diagnose_step() {
        const auto baseline = std::exchange(baseline_, std::nullopt);
        forget();
        const auto step = find_running_step(step_, environment_);
        auto sample = step ? sample_step(*step, last_look_) : step.error();
        if (!sample) {
            report_error(sample.error(), ExitCode::environment);
            return std::nullopt;
        }
        const bool is_sending = std::ranges::any_of(sample->nodes, [&](const NodeSample& node) {
            return exceeds_background_traffic(node.traffic, node.seconds(), step->tasks);
        });
        if (baseline) prepend_moments(*baseline, *sample);
        const Diagnosis diagnosis = diagnose(sample->nodes, sample->silent, step->tasks);
        if (is_sending || diagnosis.kind == Diagnosis::Kind::moving) return std::nullopt;
        return report(*step, diagnosis, why_not_ended(*sample, diagnosis, baseline.has_value()));
    }

    // Why the step goes on although it may be ended; empty if it hangs.
    std::string_view why_not_ended(const StepSample& sample, const Diagnosis& diagnosis,
                                   bool has_baseline) const {
        const auto is_stopped = [](const RankGroup& group) {
            return group.activity == Activity::stopped;
        };
        if (std::ranges::all_of(diagnosis.groups, is_stopped)) {
            return "all its ranks are stopped, as by scancel --signal=STOP";
        }
        if (!has_baseline || !all_nodes_sampled(sample.nodes, diagnosis) ||
            diagnosis.kind == Diagnosis::Kind::unknown) {
            return "some ranks could not be sampled";
        }
        // That all wait for each other is proven only by connections without data.
        const bool is_silent =
            diagnosis.silence && *diagnosis.silence >= static_cast<double>(limit_.count()) / 2;
        const bool all_wait = std::ranges::all_of(diagnosis.groups, &RankGroup::waits);
        return all_wait && diagnosis.accused.empty() && !is_silent
                   ? "all its ranks wait for each other, and nothing proves that they hang"
                   : "";
    }

    ExitCode report(const RunningStep& step, const Diagnosis& diagnosis,
                    std::string_view why_not) const {
        std::string text =
            formatted("distgpu: watch: nothing moved in {}\n{}", duration_text(limit_),
                      diagnosis_text(step.id, diagnosis, false));
        const bool ends = can_end_step_ && why_not.empty();
        if (ends) {
            text += "distgpu: watch: ending the step, as requested by :end\n";
        } else if (can_end_step_) {
            text += formatted("distgpu: watch: not ending the step, because {}\n", why_not);
        }
        static_cast<void>(write_all(STDERR_FILENO, text));
        if (!ends) return ExitCode::done;
        send_run_report(srun_, run_report_of(diagnosis));
        const auto ended = cancel_step(step.id, environment_);
        return ended ? ExitCode::done : report_error(ended.error(), ExitCode::environment);
    }

    RunReport run_report_of(const Diagnosis& diagnosis) const {
        std::string text = formatted("nothing moved in {}", duration_text(limit_));
        if (!diagnosis.findings.empty()) text += ": " + diagnosis.findings.front();
        std::vector<std::string> nodes;
        for (const RankGroup& group : diagnosis.groups) {
            if (std::ranges::includes(diagnosis.accused, group.ranks)) {
                nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
            }
        }
        return {std::move(text), HostList::from_names(nodes).to_string()};
    }

    std::string step_;
    seconds limit_;
    bool can_end_step_;
    seconds pause_;
    seconds last_look_;  // its length
    ProcessEnvironment environment_;
    std::string node_;
    std::optional<SrunAddress> srun_ = read_srun_address(environment_);  // sampling removes it
    Traffic traffic_ = read_traffic({});
    std::optional<NodeSample> first_;     // of this node, since its ranks last made progress
    std::optional<StepSample> baseline_;  // of all nodes, since then
    Clock::time_point stalled_since_ = Clock::now();
    std::uint64_t ranks_ = 0;
    bool has_reported_problem_ = false;
};

}  // namespace

ExitCode watch_step(const std::string& step, std::string_view time) {
    constexpr std::uint32_t seconds_of_day = 86'400;
    std::string_view text = time;
    const bool can_end_step = remove_end_suffix(text);
    const bool has_unit = text.ends_with('m') || text.ends_with('s');
    if (const auto limit = has_unit ? seconds_in(text, seconds_of_day) : std::nullopt) {
        handle_step_signals([](int) {});  // this process ends with the program
        end_with_task();
        return Watcher(step, seconds(*limit), can_end_step).watch();
    }
    return report_error({formatted("--watch {}", time), "not a time of up to a day",
                         "write it as in --watch 30m or --watch 30m:end"},
                        ExitCode::usage);
}

}  // namespace distgpu

// `distgpu why`: finds which rank of a running step hangs, and where; with --watch, waits until the
// step hangs and reports it.
#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/values.h"
#include "command_line.h"
#include "inspect/node_sample.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/sample_all_nodes.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/slurm_queries.h"
#include "why/diagnosis.h"
#include "why/hang_detection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;

// Runs `distgpu why --node` on each node for `length`.
Result<StepSample> sample_step(const RunningStep& step, seconds length) {
    return sample_all_nodes(step, {"why", "--node", "--repeat", formatted("{}", length.count())},
                            length);
}

void do_nothing(int /*signal*/) {}

// Slurm sends a step's signals to all its processes. They are meant for the program, which may take
// its time to end; this process ends with it.
void ignore_signals() {
    struct sigaction action {};
    action.sa_handler = do_nothing;
    action.sa_flags = SA_RESTART;
    for (const int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGALRM, SIGXCPU}) {
        sigaction(signal, &action, nullptr);
    }
}

// Ends this process at once when the task ends: srun waits for every process that has the step's
// standard error open.
void exit_with_task() {
    std::thread([] {
        pollfd task{helper_fd, POLLIN, 0};
        while (poll(&task, 1, -1) < 0 && errno == EINTR) {
        }
        _exit(static_cast<int>(ExitCode::done));
    }).detach();
}

std::string duration_text(seconds length) {
    return length.count() % 60 == 0 ? formatted("{} min", length.count() / 60)
                                    : formatted("{} s", length.count());
}

// Runs on rank 0's node until rank 0's task ends; helper_fd (node/host_helper.h) is the task's
// pidfd. It sleeps for a sixth of the limit, then reads the counters of the interfaces and HCAs.
// While these show only background traffic, it samples the ranks of its own node. If those have not
// moved for as long as the limit, it samples all nodes in an extra step. If nothing moved there
// either, it reports that on standard error, and ends.
class Watcher {
  public:
    // Reports a step without progress for `limit`; with `can_end_step`, ends it if it hangs.
    Watcher(std::string step, seconds limit, bool can_end_step)
        : step_(std::move(step)),
          limit_(limit),
          can_end_step_(can_end_step),
          pause_(std::max<seconds>(limit / 6, seconds(1))),
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
            if (is_working || was_suspended) last_.reset();
            if (!last_ || stalled_since_ == sampled_at_) baseline_.reset();
            if (can_end_step_ && last_ && !baseline_ &&
                sampled_at_ - stalled_since_ >= 2 * pause_) {
                record_baseline();
            }
            const auto since = baseline_ ? baseline_->time : stalled_since_;
            if (last_ && Clock::now() - since >= limit_) {
                if (const auto end = diagnose_step()) return *end;
            }
            traffic_ = read_traffic(last_ ? last_->processes : std::vector<ProcessSample>{});
        }
    }

  private:
    // The sample of all nodes with which a later one is compared to prove a hang.
    struct Baseline {
        std::vector<NodeSample> nodes;
        Clock::time_point time;
    };

    // If Slurm does not answer, the next turn tries again.
    void record_baseline() {
        const auto step = find_running_step(step_, environment_);
        auto sample = step ? sample_step(*step, seconds(1)) : step.error();
        if (sample) baseline_ = Baseline{std::move(sample->nodes), Clock::now()};
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
        ranks_ = find_ranks({&now, 1}, 0).expected;
        sampled_at_ = Clock::now();
        if (!last_ || progress_between(*last_, now) != Progress::stalled) {
            stalled_since_ = sampled_at_;
        }
        if (baseline_) exclude_sampling_cost(baseline_->nodes, now);
        last_ = std::move(now);
    }

    // Samples all ranks of all nodes. Returns nullopt if some moved, or if Slurm does not answer,
    // as while slurmctld restarts; it is then called again after another `limit_` without progress.
    std::optional<ExitCode> diagnose_step() {
        last_.reset();
        const auto baseline = std::exchange(baseline_, std::nullopt);
        const auto step = find_running_step(step_, environment_);
        const seconds length = std::clamp(pause_, seconds(5), seconds(60));
        const auto sample = step ? sample_step(*step, length) : step.error();
        if (!sample) {
            report_error(sample.error(), ExitCode::environment);
            return std::nullopt;
        }
        const Diagnosis diagnosis = diagnose(sample->nodes, sample->silent, step->tasks);
        const Progress progress = step_progress(sample->nodes, diagnosis);
        if (progress == Progress::moving) return std::nullopt;
        const bool is_proven = baseline && proves_hang(baseline->nodes, sample->nodes);
        return report(*step, diagnosis, progress, is_proven);
    }

    // Also ends the step, if it may and a hang is proven.
    ExitCode report(const RunningStep& step, const Diagnosis& diagnosis, Progress progress,
                    bool is_proven) const {
        std::string text =
            formatted("distgpu: watch: nothing moved in {}\n{}", duration_text(limit_),
                      diagnosis_text(step.id, diagnosis, false));
        const bool ends = can_end_step_ && progress == Progress::stalled && is_proven;
        if (ends) {
            text += "distgpu: watch: ending the step, as requested by :end\n";
        } else if (can_end_step_ && progress == Progress::stalled) {
            text +=
                "distgpu: watch: not ending the step, because nothing proves that a rank hangs: "
                "one is still active, or all are waiting\n";
        } else if (can_end_step_) {
            text +=
                "distgpu: watch: not ending the step, because some ranks could not be sampled\n";
        }
        static_cast<void>(write_all(STDERR_FILENO, text));
        if (!ends) return ExitCode::done;
        const auto ended = cancel_step(step.id, environment_);
        return ended ? ExitCode::done : report_error(ended.error(), ExitCode::environment);
    }

    std::string step_;
    seconds limit_;
    bool can_end_step_;
    seconds pause_;
    ProcessEnvironment environment_;
    std::string node_;
    Traffic traffic_ = read_traffic({});
    std::optional<NodeSample> last_;  // of this node, while nothing moves
    std::optional<Baseline> baseline_;
    Clock::time_point sampled_at_ = Clock::now();
    Clock::time_point stalled_since_ = Clock::now();
    std::uint64_t ranks_ = 0;
    bool has_reported_problem_ = false;
};

constexpr std::uint32_t default_length = 3;  // seconds
constexpr std::uint32_t max_length = 600;

struct Arguments {
    std::string step;
    std::optional<std::string> repeat;
    std::string format = "text";
    std::optional<std::string> watch;
    std::optional<std::string> html;
    bool node = false;
    std::optional<std::string> gpus;
};

// What sample_step() runs on each node.
ExitCode print_node_sample(const Arguments& arguments, seconds length) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto sample = sample_this_node(node, arguments.step, length, environment);
    if (!sample) return report_error(sample.error(), ExitCode::environment);
    return print_result(answer_lines(node, to_json(*sample).line()), ExitCode::done);
}

ExitCode print_diagnosis(const Arguments& arguments, seconds length) {
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return report_error(step.error(), ExitCode::environment);
    const auto sample = sample_step(*step, length);
    if (!sample) return report_error(sample.error(), ExitCode::environment);
    const Diagnosis diagnosis =
        diagnose(sample->nodes, sample->silent, step->tasks, step->is_component());
    if (arguments.html) {
        const auto written =
            replace_file(*arguments.html, diagnosis_page(step->id, diagnosis), Readers::by_umask);
        return written ? ExitCode::done : report_error(written.error(), ExitCode::environment);
    }
    return print_result(arguments.format == "json"
                            ? diagnosis_json(step->id, diagnosis)
                            : diagnosis_text(step->id, diagnosis, has_colour_output()),
                        ExitCode::done);
}

ExitCode run_why(const Arguments& arguments) {
    if (arguments.watch) {
        // "30m", "30m:end", "6s"
        constexpr std::uint32_t seconds_of_day = 86'400;
        std::string_view text = *arguments.watch;
        const bool can_end_step = remove_end_suffix(text);
        const bool has_unit = text.ends_with('m') || text.ends_with('s');
        if (const auto limit = has_unit ? seconds_in(text, seconds_of_day) : std::nullopt) {
            ignore_signals();
            exit_with_task();
            return Watcher(arguments.step, seconds(*limit), can_end_step).watch();
        }
        return report_error({"--watch " + *arguments.watch, "not a time of up to a day",
                             "write it as in --watch 30m or --watch 30m:end"},
                            ExitCode::usage);
    }
    const auto length = arguments.repeat ? seconds_in(*arguments.repeat, max_length)
                                         : std::optional(default_length);
    if (!length) {
        return report_error({"--repeat " + *arguments.repeat, "not a time of up to 10 minutes",
                             "write it as in --repeat 30s"},
                            ExitCode::usage);
    }
    if (arguments.gpus) {
        return print_result(gpu_load_lines(*arguments.gpus, "libnvidia-ml.so.1"), ExitCode::done);
    }
    const seconds time{*length};
    return arguments.node ? print_node_sample(arguments, time) : print_diagnosis(arguments, time);
}

}  // namespace

Subcommand why_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {
        .name = "why",
        .help =
            "Show which rank of your running step hangs, and where. Samples the step's "
            "processes in an extra step that overlaps it.",
        .options =
            {{.name = "STEP",
              .target = &arguments->step,
              .help = "JOB or JOB.STEP, as squeue --me --steps lists them",
              .required = true},
             {.name = "--repeat",
              .target = &arguments->repeat,
              .help = "Sample for this long, such as 30s or 2m, and show what moved (default: 3s)",
              .value_name = "TIME"},
             format_option(arguments->format),
             {.name = "--html",
              .target = &arguments->html,
              .help = "Write an HTML page to FILE instead",
              .value_name = "FILE",
              .excludes = {"--format"}},
             {.name = "--watch",
              .target = &arguments->watch,
              .help = "Internal: run by the key watch next to rank 0, until that ends",
              .value_name = "TIME"},
             {.name = "--node",
              .target = &arguments->node,
              .help = "Internal: run by the extra step on each node"},
             {.name = "--gpus",
              .target = &arguments->gpus,
              .help = "Internal: print the load of the GPUs with these PCI addresses",
              .value_name = "LIST"}},
        .run = [arguments] { return run_why(*arguments); }};
}

}  // namespace distgpu

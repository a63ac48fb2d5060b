// `distgpu why`: which rank of a running step hangs, and where; or watches the step, and says so
// once it hangs.
#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/values.h"
#include "command_line.h"
#include "inspect/ask_nodes.h"
#include "inspect/look.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/slurm_queries.h"
#include "why/diagnosis.h"
#include "why/judgement.h"

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

// By `distgpu why --node` on each node, for so long.
Result<NodeLooks> look_at_nodes(const RunningStep& step, seconds length) {
    return look_at_all(step, {"why", "--node", "--repeat", formatted("{}", length.count())},
                       length);
}

void do_nothing(int /*signal*/) {}

// Slurm sends a step's signals to all its processes. They are for the program, which may take its
// time; this process ends with it.
void leave_signals_to_the_program() {
    struct sigaction action {};
    action.sa_handler = do_nothing;
    action.sa_flags = SA_RESTART;
    for (const int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGALRM, SIGXCPU}) {
        sigaction(signal, &action, nullptr);
    }
}

// At any moment: srun waits for all that could still write to the step's standard error.
void end_with_the_task() {
    std::thread([] {
        pollfd task{kept_file, POLLIN, 0};
        while (poll(&task, 1, -1) < 0 && errno == EINTR) {
        }
        _exit(static_cast<int>(ExitCode::done));
    }).detach();
}

std::string length_text(seconds length) {
    return length.count() % 60 == 0 ? formatted("{} min", length.count() / 60)
                                    : formatted("{} s", length.count());
}

// Runs on rank 0's node until the task ends of which kept_file (node/host_helper.h) is the pidfd.
// Nearly always it sleeps: a sixth of the limit long, and then reads the counters of the interfaces
// and HCAs. While they stand still it looks at the ranks of its own node; if these are where they
// were for as long as the limit, at all nodes by a step of its own. Where that finds nothing that
// moved, it says so on standard error, and ends.
class Watcher {
  public:
    // Without any movement for `limit` it looks, and where it `ends` a hung step, does so.
    Watcher(std::string step, seconds limit, bool ends)
        : step_(std::move(step)),
          limit_(limit),
          ends_(ends),
          pause_(std::max<seconds>(limit / 6, seconds(1))),
          node_(environment_.text("SLURMD_NODENAME")) {}

    ExitCode watch() {
        for (bool is_first = true;; is_first = false) {
            const auto before = Clock::now();
            std::this_thread::sleep_for(pause_);
            const std::chrono::duration<double> passed = Clock::now() - before;
            // Of a step that was suspended nobody knows whether it would have moved.
            const bool was_suspended = passed > 2 * pause_;
            const bool works = is_at_work(bytes_since(traffic_), passed.count(), ranks_);
            // The first look tells early whether there is anything to be seen.
            if (is_first || !works) look();
            if (works || was_suspended) last_.reset();
            if (!last_ || still_since_ == looked_at_) begin_.reset();
            if (ends_ && last_ && !begin_ && looked_at_ - still_since_ >= 2 * pause_) begin();
            const auto since = begin_ ? begin_->at : still_since_;
            if (last_ && Clock::now() - since >= limit_) {
                if (const auto end = look_at_step()) return *end;
            }
            traffic_ = read_traffic(last_ ? last_->processes : std::vector<ProcessLook>{});
        }
    }

  private:
    // The look at all nodes with which the account begins that may end the step.
    struct Begin {
        std::vector<NodeLook> nodes;
        Clock::time_point at;
    };

    // Where Slurm does not answer, the next turn tries again.
    void begin() {
        const auto step = find_running_step(step_, environment_);
        auto looks = step ? look_at_nodes(*step, seconds(1)) : step.error();
        if (looks) begin_ = Begin{std::move(looks->nodes), Clock::now()};
    }

    // At the ranks of this node.
    void look() {
        auto looked = look_here(node_, step_, seconds(0), environment_);
        NodeLook now = looked ? *std::move(looked)
                              : NodeLook{.node = node_, .problem = looked.error().message()};
        if (!now.problem.empty() && !std::exchange(complained_, true)) {
            constexpr std::string_view name = "distgpu: ";
            const std::size_t skipped = now.problem.starts_with(name) ? name.size() : 0;
            say(formatted("distgpu: watch: no hang can be seen on {}: {}", node_,
                          now.problem.substr(skipped)));
        }
        ranks_ = find_ranks({&now, 1}, 0).expected;
        looked_at_ = Clock::now();
        if (!last_ || compare(*last_, now) != Stillness::still) still_since_ = looked_at_;
        if (begin_) discount(begin_->nodes, now);
        last_ = std::move(now);
    }

    // At all ranks of all nodes. Nothing: some moved, or Slurm does not answer, as where slurmctld
    // is just being started again; then once more after another time without movement.
    std::optional<ExitCode> look_at_step() {
        last_.reset();
        const auto begun = std::exchange(begin_, std::nullopt);
        const auto step = find_running_step(step_, environment_);
        const seconds length = std::clamp(pause_, seconds(5), seconds(60));
        const auto looks = step ? look_at_nodes(*step, length) : step.error();
        if (!looks) {
            complain(looks.error(), ExitCode::environment);
            return std::nullopt;
        }
        const Diagnosis diagnosis = diagnose(looks->nodes, looks->silent, step->tasks);
        const Stillness verdict = judge(looks->nodes, diagnosis);
        if (verdict == Stillness::moves) return std::nullopt;
        const bool is_proven = begun && proves_hang(begun->nodes, looks->nodes);
        return tell(*step, diagnosis, verdict, is_proven);
    }

    ExitCode tell(const RunningStep& step, const Diagnosis& diagnosis, Stillness verdict,
                  bool is_proven) const {
        std::string text = formatted("distgpu: watch: nothing moved in {}\n{}", length_text(limit_),
                                     diagnosis_text(step.id, diagnosis, false));
        const bool ends = ends_ && verdict == Stillness::still && is_proven;
        if (ends) {
            text += "distgpu: watch: the step ends, as :end asks for\n";
        } else if (ends_ && verdict == Stillness::still) {
            text +=
                "distgpu: watch: the step goes on, because nothing proves that a rank hangs: one "
                "is still active, or all wait\n";
        } else if (ends_) {
            text += "distgpu: watch: the step goes on, because not all of it could be seen\n";
        }
        static_cast<void>(write_all(STDERR_FILENO, text));
        if (!ends) return ExitCode::done;
        const auto ended = cancel_step(step.id, environment_);
        return ended ? ExitCode::done : complain(ended.error(), ExitCode::environment);
    }

    std::string step_;
    seconds limit_;
    bool ends_;
    seconds pause_;
    ProcessEnvironment environment_;
    std::string node_;
    Traffic traffic_ = read_traffic({});
    std::optional<NodeLook> last_;  // while nothing moves
    std::optional<Begin> begin_;
    Clock::time_point looked_at_ = Clock::now();
    Clock::time_point still_since_ = Clock::now();
    std::uint64_t ranks_ = 0;
    bool complained_ = false;
};

constexpr std::uint32_t usual_length = 3;  // seconds
constexpr std::uint32_t longest = 600;

struct Arguments {
    std::string step;
    std::optional<std::string> repeat;
    std::string format = "text";
    std::optional<std::string> watch;
    std::optional<std::string> html;
    bool node = false;
    std::optional<std::string> gpus;
};

ExitCode look_for_others(const Arguments& arguments, seconds length) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto look = look_here(node, arguments.step, length, environment);
    if (!look) return complain(look.error(), ExitCode::environment);
    return print_or_complain(answer_lines(node, to_json(*look).line()), ExitCode::done);
}

ExitCode why(const Arguments& arguments, seconds length) {
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return complain(step.error(), ExitCode::environment);
    const auto looks = look_at_nodes(*step, length);
    if (!looks) return complain(looks.error(), ExitCode::environment);
    const Diagnosis diagnosis =
        diagnose(looks->nodes, looks->silent, step->tasks, step->is_component());
    if (arguments.html) {
        const auto written =
            replace_file(*arguments.html, diagnosis_page(step->id, diagnosis), Readers::by_umask);
        return written ? ExitCode::done : complain(written.error(), ExitCode::environment);
    }
    return print_or_complain(arguments.format == "json"
                                 ? diagnosis_json(step->id, diagnosis)
                                 : diagnosis_text(step->id, diagnosis, wants_colour()),
                             ExitCode::done);
}

ExitCode run_why(const Arguments& arguments) {
    if (arguments.watch) {
        // "30m", "30m:end"; "6s" too.
        constexpr std::uint32_t a_day = 86'400;
        std::string_view text = *arguments.watch;
        const bool ends = take_end(text);
        const bool has_unit = text.ends_with('m') || text.ends_with('s');
        if (const auto limit = has_unit ? seconds_in(text, a_day) : std::nullopt) {
            leave_signals_to_the_program();
            end_with_the_task();
            return Watcher(arguments.step, seconds(*limit), ends).watch();
        }
        return complain({"--watch " + *arguments.watch, "not a time of up to a day",
                         "write it as in --watch 30m or --watch 30m:end"},
                        ExitCode::usage);
    }
    const auto length =
        arguments.repeat ? seconds_in(*arguments.repeat, longest) : std::optional(usual_length);
    if (!length) {
        return complain({"--repeat " + *arguments.repeat, "not a time of up to 10 minutes",
                         "write it as in --repeat 30s"},
                        ExitCode::usage);
    }
    if (arguments.gpus) {
        return print_or_complain(gpu_load_lines(*arguments.gpus, "libnvidia-ml.so.1"),
                                 ExitCode::done);
    }
    const seconds time{*length};
    return arguments.node ? look_for_others(arguments, time) : why(arguments, time);
}

}  // namespace

Subcommand why_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "why",
            .help =
                "Say which rank of a running step of yours hangs, and where. Looks from a step "
                "of its own, which overlaps yours.",
            .options = {{.name = "STEP",
                         .target = &arguments->step,
                         .help = "JOB or JOB.STEP, as squeue --me --steps lists them",
                         .required = true},
                        {.name = "--repeat",
                         .target = &arguments->repeat,
                         .help = "Look for that long, as in 30s or 2m, and say what moved (3s)",
                         .type = "TIME"},
                        format_option(arguments->format),
                        {.name = "--html",
                         .target = &arguments->html,
                         .help = "Write a page into FILE instead",
                         .type = "FILE",
                         .excludes = {"--format"}},
                        {.name = "--watch",
                         .target = &arguments->watch,
                         .help = "What the key watch runs beside rank 0, until that ends",
                         .type = "TIME"},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "What the overlapping step runs on each node"},
                        {.name = "--gpus",
                         .target = &arguments->gpus,
                         .help = "What it runs there for the GPUs' load, of these PCI addresses",
                         .type = "LIST"}},
            .run = [arguments] { return run_why(*arguments); }};
}

}  // namespace distgpu

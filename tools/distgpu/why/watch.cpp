#include "why/watch.h"

#include "base/format.h"
#include "base/io/write.h"
#include "base/values.h"
#include "inspect/all_nodes.h"
#include "inspect/look_here.h"
#include "inspect/ranks.h"
#include "inspect/traffic.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"
#include "node/process_environment.h"
#include "output.h"
#include "slurm/running_step.h"
#include "slurm/slurm_command.h"
#include "why/diagnosis_output.h"
#include "why/end_proof.h"
#include "why/stillness.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

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

std::string_view without_name(std::string_view message) {
    constexpr std::string_view name = "distgpu: ";
    return message.starts_with(name) ? message.substr(name.size()) : message;
}

std::string length_text(seconds length) {
    return length.count() % 60 == 0 ? formatted("{} min", length.count() / 60)
                                    : formatted("{} s", length.count());
}

class Watcher {
  public:
    Watcher(std::string step, const WatchTime& time)
        : step_(std::move(step)),
          time_(time),
          pause_(std::max<seconds>(time.limit / 6, seconds(1))),
          node_(environment_.get("SLURMD_NODENAME").value_or("")) {}

    ExitCode watch() {
        for (bool is_first = true;; is_first = false) {
            const auto before = Clock::now();
            std::this_thread::sleep_for(pause_);
            const std::chrono::duration<double> passed = Clock::now() - before;
            // Of a step that was suspended nobody knows whether it would have moved.
            const bool was_suspended = passed > 2 * pause_;
            const bool works = is_at_work(traffic_.bytes(), passed.count(), ranks_);
            // The first look tells early whether there is anything to be seen.
            if (is_first || !works) look();
            if (works || was_suspended) last_.reset();
            if (!last_ || still_since_ == looked_at_) begin_.reset();
            if (time_.ends && last_ && !begin_ && looked_at_ - still_since_ >= 2 * pause_) begin();
            const auto since = begin_ ? begin_->at : still_since_;
            if (last_ && Clock::now() - since >= time_.limit) {
                if (const auto end = look_at_step()) return *end;
            }
            traffic_ = Traffic(last_ ? pids_of(*last_) : std::vector<pid_t>{});
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
        if (!step) return;
        auto looks = look_at_all(*step, seconds(1));
        if (looks) begin_ = Begin{std::move(looks->nodes), Clock::now()};
    }

    // At the ranks of this node.
    void look() {
        auto looked = look_here(node_, step_, seconds(0), environment_);
        NodeLook now = looked ? *std::move(looked)
                              : NodeLook{.node = node_, .problem = looked.error().message()};
        if (!now.problem.empty() && !complained_) {
            complained_ = true;
            say(formatted("distgpu: watch: no hang can be seen on {}: {}", node_,
                          without_name(now.problem)));
        }
        ranks_ = find_ranks({now}, 0).expected;
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
        if (!step) return try_later(step.error());
        const auto looks = look_at_all(*step, std::clamp(pause_, seconds(5), seconds(60)));
        if (!looks) return try_later(looks.error());
        const Diagnosis diagnosis = diagnose(looks->nodes, looks->silent, step->tasks);
        const Stillness verdict = judge(looks->nodes, diagnosis);
        if (verdict == Stillness::moves) return std::nullopt;
        const bool is_proven = begun && proves_hang(begun->nodes, looks->nodes);
        return tell(*step, diagnosis, verdict, is_proven);
    }

    static std::optional<ExitCode> try_later(const Error& error) {
        complain(error, ExitCode::environment);
        return std::nullopt;
    }

    ExitCode tell(const RunningStep& step, const Diagnosis& diagnosis, Stillness verdict,
                  bool is_proven) const {
        std::string text =
            formatted("distgpu: watch: nothing moved in {}\n{}", length_text(time_.limit),
                      diagnosis_text(step.id, diagnosis, false));
        const bool ends = time_.ends && verdict == Stillness::still && is_proven;
        if (ends) {
            text += "distgpu: watch: the step ends, as :end asks for\n";
        } else if (time_.ends && verdict == Stillness::still) {
            text +=
                "distgpu: watch: the step goes on, because nothing proves that a rank hangs: one "
                "is still active, or all wait\n";
        } else if (time_.ends) {
            text += "distgpu: watch: the step goes on, because not all of it could be seen\n";
        }
        static_cast<void>(write_all(STDERR_FILENO, text));
        if (!ends) return ExitCode::done;
        // srun drops what is still on its way when the step is cancelled (22.05).
        constexpr std::chrono::milliseconds until_it_is_shown{250};
        std::this_thread::sleep_for(until_it_is_shown);
        constexpr seconds limit{30};
        const auto ended = run_slurm_command(environment_, {"scancel", step.id}, limit);
        return ended ? ExitCode::done : complain(ended.error(), ExitCode::environment);
    }

    std::string step_;
    WatchTime time_;
    seconds pause_;
    ProcessEnvironment environment_;
    std::string node_;
    Traffic traffic_{{}};
    std::optional<NodeLook> last_;  // while nothing moves
    std::optional<Begin> begin_;
    Clock::time_point looked_at_ = Clock::now();
    Clock::time_point still_since_ = Clock::now();
    std::uint64_t ranks_ = 0;
    bool complained_ = false;
};

}  // namespace

std::optional<WatchTime> parse_watch_time(std::string_view text) {
    constexpr std::uint32_t longest = 86'400;  // a day
    const bool ends = take_end(text);
    if (!text.ends_with('m') && !text.ends_with('s')) return std::nullopt;
    const auto limit = seconds_in(text, longest);
    return limit ? std::optional(WatchTime{seconds(*limit), ends}) : std::nullopt;
}

ExitCode watch_step(const std::string& step, const WatchTime& time) {
    leave_signals_to_the_program();
    end_with_the_task();
    return Watcher(step, time).watch();
}

}  // namespace distgpu

#include "exec/supervise.h"

#include "base/format.h"
#include "base/values.h"
#include "inspect/step_processes.h"
#include "output.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using Kind = Message::Kind;
using Part = Parts::Part;

constexpr int signalled = 128;  // added to a signal's number, the status of what it ended

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// In the child: system calls only.
[[noreturn]] void witness(const sigset_t& signals, pid_t parent, int tell) {
    setsid();
    prctl(PR_SET_NAME, signal_witness_name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // it ended before that
    // srun waits for the end of the task's output.
    dup2(tell, STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0);  // newer than some kernels
    while (true) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) _exit(0);
        const auto byte = static_cast<unsigned char>(signal);  // less than 65
        if (write(STDIN_FILENO, &byte, 1) != 1) _exit(0);
    }
}

bool asks_to_stop(int signal) {
    return std::ranges::find(stop_signals, signal) != stop_signals.end();
}

// The signals that `distgpu exec` takes instead of ending by them, and which of them its program
// still has to get.
//
// Which processes of a step Slurm signals is the site's choice: with proctrack/linuxproc all of
// them, with proctrack/cgroup only slurmstepd's children, unless SignalChildrenProcesses is set. A
// server that gets a signal twice is interrupted while it saves. So a witness stands where the
// program stands, a child with a session of its own, and tells which signals it gets.
class Signals {
  public:
    // Takes those that ask for an end, SIGUSR1, SIGUSR2 and SIGCHLD, and starts the witness, which
    // ends with this process at the latest.
    Signals() {
        sigset_t signals;
        sigemptyset(&signals);
        for (const int signal : stop_signals) sigaddset(&signals, signal);
        for (const int signal : {SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
        sigset_t with_children = signals;
        sigaddset(&with_children, SIGCHLD);
        sigprocmask(SIG_BLOCK, &with_children, nullptr);
        descriptor_ = UniqueFd(signalfd(-1, &with_children, SFD_CLOEXEC | SFD_NONBLOCK));
        Pipe told = make_pipe(O_CLOEXEC | O_NONBLOCK);
        if (!told.is_open()) return;
        const pid_t parent = getpid();
        if (fork() == 0) witness(signals, parent, told.write.fd());
        witness_ = std::move(told.read);
    }

    int fd() const { return descriptor_.fd(); }
    void add_to(std::vector<pollfd>& waiting) const {
        waiting.push_back({descriptor_.fd(), POLLIN, 0});
        waiting.push_back({witness_.fd(), POLLIN, 0});
    }

    // The next one that came; nothing: none.
    std::optional<int> next() const {
        signalfd_siginfo info{};
        if (read(descriptor_.fd(), &info, sizeof info) != sizeof info) return std::nullopt;
        return static_cast<int>(info.ssi_signo);
    }

    // The program is to get this one, which came to this process, or to another node, and may then
    // still come here.
    void hand_on(int signal, bool is_from_afar = false) {
        // slurmstepd signals a step's processes one after the other.
        constexpr auto until_all_have_it = 300ms;
        constexpr auto until_all_nodes_have_it = 1s;
        if (!is_from_afar) {
            const auto announced = std::ranges::find_if(pending_, [&](const Signal& pending) {
                return pending.is_from_afar && pending.number == signal;
            });
            if (announced != pending_.end()) pending_.erase(announced);
        }
        const auto patience = is_from_afar ? until_all_nodes_have_it : until_all_have_it;
        pending_.push_back({signal, Clock::now() + patience, is_from_afar});
    }

    // Those that the program is to get now: it did not get them itself.
    std::vector<int> due() {
        constexpr auto memory = 2s;
        const Deadline now = Clock::now();
        unsigned char got = 0;
        while (read(witness_.fd(), &got, 1) == 1) seen_.push_back({got, now + memory});
        std::vector<int> due;
        for (const Signal& pending : pending_) {
            if (now < pending.until) continue;
            const auto seen = std::ranges::find_if(
                seen_, [&](const Signal& each) { return each.number == pending.number; });
            if (seen == seen_.end()) {
                due.push_back(pending.number);
            } else {
                seen_.erase(seen);
            }
        }
        const auto is_over = [&](const Signal& signal) { return now >= signal.until; };
        std::erase_if(pending_, is_over);
        std::erase_if(seen_, is_over);
        return due;
    }

  private:
    struct Signal {
        int number = 0;
        Deadline until{};  // when it is due, or forgotten
        bool is_from_afar = false;
    };

    UniqueFd descriptor_;
    UniqueFd witness_;  // the pipe by which it tells
    std::vector<Signal> pending_;
    std::vector<Signal> seen_;  // by the witness
};

// The status of a program whose end is a failure, whatever it was.
int as_failure(int status) {
    return status == 0 ? 1 : status;
}

class Supervisor {
  public:
    explicit Supervisor(const Supervision& supervision)
        : plan_(supervision), nodes_(supervision.step), parts_(supervision.parts) {}

    ExitCode run() {
        adopt_orphans();
        if (const auto end = nodes_.is_head() ? open() : reach()) return *end;
        if (nodes_.is_head() && !is_ending_) begin();
        while (!is_over()) {
            hear();
            act();
        }
        if (nodes_.is_head() && !is_stopped_ && !nodes_.are_all_connected()) leave_the_late();
        return static_cast<ExitCode>(status_);
    }

  private:
    // What happened before anybody asked for an end. A signal to the whole step may come to this
    // process a little later than to those that it tells of: hence a moment's patience.
    struct Failure {
        int status = 1;    // of the program, which may be 0
        std::string line;  // for the user; empty: another node tells it
        Deadline judged{};
    };

    // The head's way in. A code: it ends here. First of all it listens, so that the others are told
    // of whatever fails.
    std::optional<ExitCode> open() {
        join_end_ = begin_ + plan_.join_limit;
        if (const auto error = nodes_.open()) {
            const ExitCode code = complain(*error, ExitCode::exec_failed);
            if (plan_.end_step) plan_.end_step();
            return code;
        }
        if (nodes_.proof() == Proof::none) {
            say(formatted(
                "distgpu: {}: other users could end this step, because the plugin did not "
                "prepare it and MUNGE does not answer; start it with srun --distgpu={}",
                plan_.mode, plan_.mode));
        }
        if (parts_.has_companion()) has_folder(parts_.make_folder());
        return std::nullopt;
    }

    // The others'.
    std::optional<ExitCode> reach() {
        while (true) {
            const auto error = nodes_.reach();
            if (!error) return std::nullopt;
            if (Clock::now() >= begin_ + plan_.join_limit) {
                return complain(*error, ExitCode::exec_failed);
            }
            // Of all of them one says it for the others. Who alone cannot reach the head is named
            // by that.
            if (plan_.step.own == 1 && is_time_to_tell()) {
                say(formatted("distgpu: {}: still waiting for {}: {}", plan_.mode, nodes_.name(0),
                              error->message().substr(std::string_view("distgpu: ").size())));
            }
            pollfd waiting{signals_.fd(), POLLIN, 0};
            constexpr int pause = 200;
            poll(&waiting, 1, pause);
            while (const auto signal = signals_.next()) {
                if (asks_to_stop(*signal)) return static_cast<ExitCode>(signalled + *signal);
            }
        }
    }

    // This node's part. `folder`: as rank 0's node calls it.
    void begin(const std::string& folder = {}) {
        if (!parts_.has_companion()) return judge(parts_.start_program());
        if (!nodes_.is_head() && !has_folder(parts_.make_folder(folder))) return;
        judge(parts_.start_companion(nodes_.is_head()));
        if (nodes_.is_head() && !is_ending_) parts_.start_query();
    }

    bool has_folder(const std::optional<Error>& error) {
        if (!error) return true;
        say(error->message());
        finish(static_cast<int>(ExitCode::exec_failed));
        return false;
    }

    // What cannot be run ends the step.
    void judge(const std::optional<NotStarted>& problem) {
        if (!problem) return;
        say(problem->error.message());
        finish(static_cast<int>(problem->missing ? ExitCode::not_found : ExitCode::not_executable));
    }

    void start_program_on_top() {
        if (!parts_.has_companion() || !is_up_ || parts_.runs(Part::program) || is_stopped_ ||
            !nodes_.are_all_up()) {
            return;
        }
        say(formatted("distgpu: {}: {} at {} after {} s; for another step of the job: . {}",
                      plan_.mode, counted(nodes_.count(), "node"),
                      host_and_port(plan_.step.head, plan_.first_port), seconds(),
                      parts_.environment_file()));
        judge(parts_.start_program());
    }

    // Who comes late is still to be told, but for that nobody holds a step for long that has ended.
    bool is_over() const {
        return is_ending_ && !has_children() &&
               (nodes_.are_all_connected() || is_stopped_ || Clock::now() >= late_end_);
    }

    // Who comes now would wait for a step that has ended. Slurm then kills this process too, so
    // nothing of it may be left by then.
    void leave_the_late() {
        if (!plan_.end_step) return;
        parts_.remove_folder();
        say(formatted("distgpu: {}: the step ends without {}, where distgpu exec did not start",
                      plan_.mode, nodes_.absent()));
        plan_.end_step();
    }

    // Waits until something happens, or a tenth of a second has passed.
    void hear() {
        constexpr int pause = 100;
        std::vector<pollfd> waiting{{parts_.output(), POLLIN, 0}};
        signals_.add_to(waiting);
        nodes_.add_to(waiting);
        poll(waiting.data(), waiting.size(), pause);
        while (const auto signal = signals_.next()) take_signal(*signal);
        for (const int signal : signals_.due()) {
            if (!is_decided_) parts_.signal(Part::program, signal);
        }
        while (const auto ended = next_ended()) take_end(*ended);
        if (parts_.becomes_ready()) {  // the others may begin, or rank 0's node is told
            is_up_ = nodes_.is_head();
            nodes_.tell_all(is_up_ ? Message{Kind::start, 0, parts_.folder()} : Message{Kind::up});
        }
        for (const auto& [node, message] : nodes_.hear()) take_message(node, message);
        for (const std::uint32_t node : nodes_.greet()) greet(node);
    }

    // What the time, or what has been heard, makes due.
    void act() {
        const auto now = Clock::now();
        if (failure_ && !is_ending_ && now >= failure_->judged) {
            if (!failure_->line.empty()) say(failure_->line);
            finish(as_failure(failure_->status));
        }
        if (nodes_.is_head() && !is_ending_) look_for_missing(now);
        if (nodes_.is_head() && !is_ending_) start_program_on_top();
        if (is_stopped_ && !is_ending_ && now >= kill_time_) finish(stopped_status_);
        if (plan_.health && !is_ready_ && !is_ending_) look_for_readiness(now);
        if (is_ending_ && (parts_.are_over() || now >= kill_time_)) {
            // What the program left behind goes at once: it asked nobody to wait for it.
            constexpr auto patience_with_trackers = 2s;
            if (!trackers_end_) trackers_end_ = now + patience_with_trackers;
            kill_descendants(now < *trackers_end_ ? Spared::trackers : Spared::nobody);
        }
    }

    void take_signal(int signal) {
        if (signal == SIGCHLD) return;
        // After the decision each program has been told to end.
        if (!is_decided_) signals_.hand_on(signal);
        if (asks_to_stop(signal)) stop(signal);
    }

    // A signal ends the step: the program's status is then its own.
    void stop(int signal) {
        if (is_ending_ || is_stopped_) return;
        is_stopped_ = true;
        const bool has_failed = failure_.has_value() && !nodes_.is_head();
        stopped_status_ = nodes_.is_head() ? signalled + signal : 0;
        kill_time_ = Clock::now() + plan_.grace;
        if (parts_.has_companion()) {
            // What fails from now on, and what failed just before, is the signal's doing.
            failure_.reset();
            // The program may still need its cluster, and its end is that of all.
            if (!nodes_.is_head()) nodes_.tell_all({Kind::stop, signal});
            const bool is_idle = nodes_.is_head() && !parts_.runs(Part::program);
            if (is_idle || has_failed) finish(stopped_status_);
            return;
        }
        if (failure_) status_ = failure_->status;
        begin_end();
        nodes_.tell_all({Kind::stop, signal});
    }

    // The step ends with this status.
    void finish(int status) {
        status_ = status;
        is_decided_ = true;
        begin_end();
        parts_.signal(Part::program, SIGTERM);
        parts_.signal(Part::companion, SIGTERM);
        nodes_.tell_all(nodes_.is_head() ? Message{Kind::end} : Message{Kind::ended, status});
    }

    void begin_end() {
        // Nobody needs anything of a companion any more.
        constexpr auto patience_with_companion = 2s;
        constexpr auto late_limit = 10s;  // for nodes that connect when the step has ended
        is_ending_ = true;
        late_end_ = std::min(join_end_, Clock::now() + late_limit);
        kill_time_ =
            Clock::now() + (parts_.has_companion() ? patience_with_companion : plan_.grace);
    }

    void take_end(const Ended& ended) {
        const auto part = parts_.take_end(ended.pid);
        if (!part) return;
        if (is_ending_) {
            const bool is_whole = part == Part::program && !parts_.has_companion();
            if (is_whole && !is_decided_) status_ = ended.status;
            return;
        }
        constexpr int unknown_word = 2;
        const std::string where = formatted("distgpu: {} on {}:", plan_.mode, nodes_.own_name());
        if (part == Part::query) {
            if (ended.status == unknown_word)
                say("distgpu: " + plan_.mode + ": " + plan_.parts.unknown);
        } else if (part == Part::companion) {
            fail(1, formatted("{} {} ended with status {} after {} s, which ends the step; it "
                              "said:\n{}",
                              where, plan_.parts.companion.front(), ended.status, seconds(),
                              parts_.last_output()));
        } else if (parts_.has_companion()) {
            finish(ended.status);
        } else {
            fail(ended.status, formatted("{} ended with status {} after {} s, which ends the step",
                                         where, ended.status, seconds()));
        }
    }

    void fail(int status, std::string line) {
        // After a signal to the whole step the parts end as they come.
        if (failure_ || is_ending_ || is_stopped_) return;
        failure_ = Failure{status, std::move(line), Clock::now() + 300ms};
    }

    void take_message(std::uint32_t node, const Message& message) {
        switch (message.kind) {
            case Kind::start:
                if (!nodes_.is_head() && !has_begun_ && !is_ending_) {
                    has_begun_ = true;
                    begin(message.text);
                }
                break;
            case Kind::stop:
                if (!is_ending_ && !is_stopped_) signals_.hand_on(message.number, true);
                stop(message.number);
                break;
            case Kind::ended:
                fail(message.number, "");
                break;
            case Kind::end:
                // Rank 0's node ends with the status of the step.
                if (!is_ending_) finish(0);
                break;
            case Kind::lost:
                if (is_stopped_ && !nodes_.is_head() && !is_ending_) finish(0);
                fail(1, formatted("distgpu: {}: lost the connection with {}, which ends the step",
                                  plan_.mode, nodes_.name(node)));
                break;
            case Kind::up:
                nodes_.set_up(node);
                break;
        }
    }

    // Of rank 0's node.
    void greet(std::uint32_t node) {
        if (!parts_.has_companion()) nodes_.set_up(node);
        if (is_ending_) {
            nodes_.tell(node, {Kind::end});
        } else if (!parts_.has_companion() || is_up_) {
            nodes_.tell(node, {Kind::start, 0, parts_.folder()});
        }
    }

    void look_for_missing(Deadline now) {
        if (nodes_.are_all_up()) return;
        if (is_time_to_tell()) {
            say(formatted("distgpu: {}: still waiting for {}", plan_.mode, nodes_.missing()));
        }
        if (now < join_end_) return;
        fail(1, formatted("distgpu: {}: not there after {} s: {}; look there why distgpu exec did "
                          "not start",
                          plan_.mode, plan_.join_limit.count(), nodes_.missing()));
    }

    // True once: others take longer to start than is usual.
    bool is_time_to_tell() {
        if (told_of_missing_ || Clock::now() < begin_ + plan_.usual_start) return false;
        told_of_missing_ = true;
        return true;
    }

    void look_for_readiness(Deadline now) {
        if (!parts_.runs(Part::program) || now < next_look_) return;
        next_look_ = now + 1s;
        if (!is_healthy(*plan_.health)) return;
        is_ready_ = true;
        say(formatted("distgpu: {}: ready at {} after {} s", plan_.mode, url_of(*plan_.health),
                      seconds()));
    }

    std::int64_t seconds() const {
        return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
    }

    const Supervision& plan_;
    Nodes nodes_;
    Signals signals_;
    Parts parts_;
    bool is_up_ = false;      // the head's companion is ready
    bool has_begun_ = false;  // another node's part
    std::optional<Failure> failure_;
    bool is_ending_ = false;
    bool is_stopped_ = false;  // by a signal
    bool is_decided_ = false;  // the status is not the program's
    int status_ = 0;
    int stopped_status_ = 0;  // where nothing else gives one
    bool is_ready_ = false;
    bool told_of_missing_ = false;
    Deadline begin_ = Clock::now();
    Deadline join_end_{};
    Deadline late_end_{};
    Deadline kill_time_{};
    std::optional<Deadline> trackers_end_{};
    Deadline next_look_{};
};

}  // namespace

ExitCode supervise(const Supervision& supervision) {
    return Supervisor(supervision).run();
}

}  // namespace distgpu

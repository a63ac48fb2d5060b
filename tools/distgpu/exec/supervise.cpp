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
using Role = NodeProcesses::Role;

constexpr int signalled = 128;  // plus a signal's number: the status of a process that it ended

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// Runs in the child, where only system calls are allowed. Writes each signal to the pipe.
[[noreturn]] void run_witness(const sigset_t& signals, pid_t parent, int pipe_fd) {
    setsid();
    prctl(PR_SET_NAME, signal_witness_name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent ended before the call above
    // Close the task's output, because srun waits for its end.
    dup2(pipe_fd, STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0);  // fails on older kernels
    while (true) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) _exit(0);
        const auto byte = static_cast<unsigned char>(signal);  // less than 65
        if (write(STDIN_FILENO, &byte, 1) != 1) _exit(0);
    }
}

bool is_stop_signal(int signal) {
    return std::ranges::find(stop_signals, signal) != stop_signals.end();
}

// Receives signals for `distgpu exec` and decides which of them to forward to its program.
//
// The site decides which processes of a step Slurm signals: with proctrack/linuxproc all of them,
// with proctrack/cgroup only slurmstepd's children, unless SignalChildrenProcesses is set. A server
// that gets a signal twice is interrupted while it saves. So a witness, a child in a separate
// session like the program, reports which signals Slurm sends to such a process.
class SignalRelay {
  public:
    // Blocks the stop signals, SIGUSR1, SIGUSR2 and SIGCHLD to read them from a descriptor, and
    // starts the witness, which ends with this process at the latest.
    SignalRelay() {
        sigset_t signals;
        sigemptyset(&signals);
        for (const int signal : stop_signals) sigaddset(&signals, signal);
        for (const int signal : {SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
        sigset_t with_children = signals;
        sigaddset(&with_children, SIGCHLD);
        sigprocmask(SIG_BLOCK, &with_children, nullptr);
        signal_fd_ = UniqueFd(signalfd(-1, &with_children, SFD_CLOEXEC | SFD_NONBLOCK));
        Pipe pipe = make_pipe(O_CLOEXEC | O_NONBLOCK);
        if (!pipe.is_open()) return;
        const pid_t parent = getpid();
        if (fork() == 0) run_witness(signals, parent, pipe.write.fd());
        witness_pipe_ = std::move(pipe.read);
    }

    int fd() const { return signal_fd_.fd(); }
    void add_to(std::vector<pollfd>& waiting) const {
        waiting.push_back({signal_fd_.fd(), POLLIN, 0});
        waiting.push_back({witness_pipe_.fd(), POLLIN, 0});
    }

    // The next signal that this process received; nullopt if there is none.
    std::optional<int> next() const {
        signalfd_siginfo info{};
        if (read(signal_fd_.fd(), &info, sizeof info) != sizeof info) return std::nullopt;
        return static_cast<int>(info.ssi_signo);
    }

    // Schedules a signal for the program. `is_remote`: another node received it, so that this
    // process may still receive it too.
    void schedule(int signal, bool is_remote = false) {
        // slurmstepd signals a step's processes one after the other.
        constexpr auto local_delay = 300ms;
        constexpr auto remote_delay = 1s;
        if (!is_remote) {
            const auto announced = std::ranges::find_if(pending_, [&](const Signal& pending) {
                return pending.is_remote && pending.number == signal;
            });
            if (announced != pending_.end()) pending_.erase(announced);
        }
        const auto delay = is_remote ? remote_delay : local_delay;
        pending_.push_back({signal, Clock::now() + delay, is_remote});
    }

    // The scheduled signals that are due and that the program did not get from Slurm.
    std::vector<int> pop_due() {
        constexpr auto retention = 2s;
        const Deadline now = Clock::now();
        unsigned char got = 0;
        while (read(witness_pipe_.fd(), &got, 1) == 1) witnessed_.push_back({got, now + retention});
        std::vector<int> due;
        for (const Signal& pending : pending_) {
            if (now < pending.until) continue;
            const auto witnessed = std::ranges::find_if(
                witnessed_, [&](const Signal& each) { return each.number == pending.number; });
            if (witnessed == witnessed_.end()) {
                due.push_back(pending.number);
            } else {
                witnessed_.erase(witnessed);
            }
        }
        const auto is_over = [&](const Signal& signal) { return now >= signal.until; };
        std::erase_if(pending_, is_over);
        std::erase_if(witnessed_, is_over);
        return due;
    }

  private:
    struct Signal {
        int number = 0;
        Deadline until{};  // when it is due, or forgotten
        bool is_remote = false;
    };

    UniqueFd signal_fd_;
    UniqueFd witness_pipe_;
    std::vector<Signal> pending_;
    std::vector<Signal> witnessed_;
};

// The exit status for a program whose end is a failure even if its status is 0.
int failure_status(int status) {
    return status == 0 ? 1 : status;
}

class Supervisor {
  public:
    explicit Supervisor(const Supervision& supervision)
        : supervision_(supervision), nodes_(supervision.step), processes_(supervision.commands) {}

    ExitCode run() {
        adopt_orphans();
        const auto code = nodes_.is_head() ? start_head() : connect_to_head();
        if (code) return *code;
        if (nodes_.is_head() && !is_ending_) start_part();
        while (!is_over()) {
            wait_and_handle();
            handle_time();
        }
        if (nodes_.is_head() && !is_stopped_ && !nodes_.are_all_connected()) cancel_late_nodes();
        return static_cast<ExitCode>(status_);
    }

  private:
    // A failure without a signal before it. It takes effect after a moment, because a signal to the
    // whole step may reach this process a little later than the processes that it ended.
    struct Failure {
        int status = 1;    // of the program, which may be 0
        std::string line;  // for the user; empty if another node prints it
        Deadline effective_at{};
    };

    // Returns a code to exit with, or nullopt to continue. The head listens first, so that it can
    // report any later failure to the other nodes.
    std::optional<ExitCode> start_head() {
        join_end_ = start_time_ + supervision_.join_timeout;
        if (const auto error = nodes_.listen()) {
            const ExitCode code = report_error(*error, ExitCode::exec_failed);
            if (supervision_.end_step) supervision_.end_step();
            return code;
        }
        if (nodes_.proof() == Proof::none) {
            print_error_line(formatted(
                "distgpu: {}: other users could end this step, because the plugin did not "
                "prepare it and MUNGE does not answer; start it with srun --distgpu={}",
                supervision_.mode, supervision_.mode));
        }
        if (processes_.has_companion()) check_folder(processes_.make_folder());
        return std::nullopt;
    }

    // As start_head(), on the other nodes.
    std::optional<ExitCode> connect_to_head() {
        while (true) {
            const auto error = nodes_.connect_to_head();
            if (!error) return std::nullopt;
            if (Clock::now() >= start_time_ + supervision_.join_timeout) {
                return report_error(*error, ExitCode::exec_failed);
            }
            // One node prints this for all of them. If a single node cannot connect, the head names
            // it.
            if (supervision_.step.own_node == 1 && is_notice_due()) {
                print_error_line(formatted(
                    "distgpu: {}: still waiting for {}: {}", supervision_.mode, nodes_.name(0),
                    error->message().substr(std::string_view("distgpu: ").size())));
            }
            pollfd waiting{signals_.fd(), POLLIN, 0};
            constexpr int pause = 200;
            poll(&waiting, 1, pause);
            while (const auto signal = signals_.next()) {
                if (is_stop_signal(*signal)) return static_cast<ExitCode>(signalled + *signal);
            }
        }
    }

    // Starts this node's processes. `folder`: the path on rank 0's node.
    void start_part(const std::string& folder = {}) {
        if (!processes_.has_companion()) return check_started(processes_.start_program());
        if (!nodes_.is_head() && !check_folder(processes_.make_folder(folder))) return;
        check_started(processes_.start_companion(nodes_.is_head()));
        if (nodes_.is_head() && !is_ending_) processes_.start_query();
    }

    // Ends the step on an error.
    bool check_folder(const std::optional<Error>& error) {
        if (!error) return true;
        print_error_line(error->message());
        finish(static_cast<int>(ExitCode::exec_failed));
        return false;
    }

    // Ends the step if a command could not be run.
    void check_started(const std::optional<NotStarted>& problem) {
        if (!problem) return;
        print_error_line(problem->error.message());
        finish(static_cast<int>(problem->missing ? ExitCode::not_found : ExitCode::not_executable));
    }

    void start_program_if_ready() {
        if (!processes_.has_companion() || !is_head_ready_ ||
            processes_.is_running(Role::program) || is_stopped_ || !nodes_.are_all_ready()) {
            return;
        }
        print_error_line(
            formatted("distgpu: {}: {} at {} after {} s; for another step of the job: . {}",
                      supervision_.mode, counted(nodes_.count(), "node"),
                      host_and_port(supervision_.step.head, supervision_.service_port), seconds(),
                      processes_.environment_file()));
        check_started(processes_.start_program());
    }

    // Late nodes still get the end message, but the step waits for them only for a few seconds.
    bool is_over() const {
        return is_ending_ && !has_children() &&
               (nodes_.are_all_connected() || is_stopped_ || Clock::now() >= late_end_);
    }

    // Cancels the step, so that nodes that start now do not wait for it. Slurm kills this process
    // too, so its files are removed first.
    void cancel_late_nodes() {
        if (!supervision_.end_step) return;
        processes_.remove_folder();
        print_error_line(
            formatted("distgpu: {}: the step ends without {}, where distgpu exec did not start",
                      supervision_.mode, nodes_.names_not_connected()));
        supervision_.end_step();
    }

    // Waits for an event for at most a tenth of a second, and handles it.
    void wait_and_handle() {
        constexpr int pause = 100;
        std::vector<pollfd> waiting{{processes_.output_fd(), POLLIN, 0}};
        signals_.add_to(waiting);
        nodes_.add_to(waiting);
        poll(waiting.data(), waiting.size(), pause);
        while (const auto signal = signals_.next()) handle_signal(*signal);
        for (const int signal : signals_.pop_due()) {
            if (!is_status_final_) processes_.send_signal(Role::program, signal);
        }
        while (const auto ended = reap_child()) handle_end(*ended);
        if (processes_.has_become_ready()) {
            is_head_ready_ = nodes_.is_head();
            nodes_.send_to_all(is_head_ready_ ? Message{Kind::start, 0, processes_.folder()}
                                              : Message{Kind::up});
        }
        for (const auto& [node, message] : nodes_.receive()) handle_message(node, message);
        for (const std::uint32_t node : nodes_.accept_nodes()) handle_new_node(node);
    }

    // Does what is due now, because of the time or of earlier events.
    void handle_time() {
        const auto now = Clock::now();
        if (failure_ && !is_ending_ && now >= failure_->effective_at) {
            if (!failure_->line.empty()) print_error_line(failure_->line);
            finish(failure_status(failure_->status));
        }
        if (nodes_.is_head() && !is_ending_) check_missing(now);
        if (nodes_.is_head() && !is_ending_) start_program_if_ready();
        if (is_stopped_ && !is_ending_ && now >= kill_time_) finish(stopped_status_);
        if (supervision_.health && !is_service_ready_ && !is_ending_) check_health(now);
        if (is_ending_ && (processes_.have_ended() || now >= kill_time_)) {
            // Processes that the program left running are killed at once.
            constexpr auto tracker_timeout = 2s;
            if (!trackers_end_) trackers_end_ = now + tracker_timeout;
            kill_descendants(now < *trackers_end_ ? Trackers::spare : Trackers::kill);
        }
    }

    void handle_signal(int signal) {
        if (signal == SIGCHLD) return;
        // When the status is final, every program has already been sent SIGTERM.
        if (!is_status_final_) signals_.schedule(signal);
        if (is_stop_signal(signal)) stop(signal);
    }

    // Ends the step on a signal: the program then determines the status.
    void stop(int signal) {
        if (is_ending_ || is_stopped_) return;
        is_stopped_ = true;
        const bool has_failed = failure_.has_value() && !nodes_.is_head();
        stopped_status_ = nodes_.is_head() ? signalled + signal : 0;
        kill_time_ = Clock::now() + supervision_.grace_period;
        if (processes_.has_companion()) {
            // The signal caused any failure from now on, and one just before.
            failure_.reset();
            // The program may still need its cluster, and its end ends the step.
            if (!nodes_.is_head()) nodes_.send_to_all({Kind::stop, signal});
            const bool is_idle = nodes_.is_head() && !processes_.is_running(Role::program);
            if (is_idle || has_failed) finish(stopped_status_);
            return;
        }
        if (failure_) status_ = failure_->status;
        start_ending();
        nodes_.send_to_all({Kind::stop, signal});
    }

    // Ends the step with this status.
    void finish(int status) {
        status_ = status;
        is_status_final_ = true;
        start_ending();
        processes_.send_signal(Role::program, SIGTERM);
        processes_.send_signal(Role::companion, SIGTERM);
        nodes_.send_to_all(nodes_.is_head() ? Message{Kind::end} : Message{Kind::ended, status});
    }

    void start_ending() {
        // Short, because no process needs the companion any more.
        constexpr auto companion_grace_period = 2s;
        constexpr auto late_timeout = 10s;  // for nodes that connect when the step has ended
        is_ending_ = true;
        late_end_ = std::min(join_end_, Clock::now() + late_timeout);
        kill_time_ = Clock::now() + (processes_.has_companion() ? companion_grace_period
                                                                : supervision_.grace_period);
    }

    void handle_end(const EndedChild& ended) {
        const auto role = processes_.remove_ended(ended.pid);
        if (!role) return;
        if (is_ending_) {
            const bool sets_status = role == Role::program && !processes_.has_companion();
            if (sets_status && !is_status_final_) status_ = ended.status;
            return;
        }
        constexpr int usage_error = 2;
        const std::string prefix =
            formatted("distgpu: {} on {}:", supervision_.mode, nodes_.own_name());
        if (role == Role::query) {
            if (ended.status == usage_error)
                print_error_line("distgpu: " + supervision_.mode + ": " +
                                 supervision_.commands.outdated_text);
        } else if (role == Role::companion) {
            fail(1, formatted("{} {} ended with status {} after {} s, which ends the step; its "
                              "last output:\n{}",
                              prefix, supervision_.commands.companion.front(), ended.status,
                              seconds(), processes_.last_output()));
        } else if (processes_.has_companion()) {
            finish(ended.status);
        } else {
            fail(ended.status, formatted("{} ended with status {} after {} s, which ends the step",
                                         prefix, ended.status, seconds()));
        }
    }

    void fail(int status, std::string line) {
        // After a signal to the whole step, the parts may end in any order.
        if (failure_ || is_ending_ || is_stopped_) return;
        failure_ = Failure{status, std::move(line), Clock::now() + 300ms};
    }

    void handle_message(std::uint32_t node, const Message& message) {
        switch (message.kind) {
            case Kind::start:
                if (!nodes_.is_head() && !has_started_ && !is_ending_) {
                    has_started_ = true;
                    start_part(message.text);
                }
                break;
            case Kind::stop:
                if (!is_ending_ && !is_stopped_) signals_.schedule(message.number, true);
                stop(message.number);
                break;
            case Kind::ended:
                fail(message.number, "");
                break;
            case Kind::end:
                // Only rank 0's node exits with the status of the step.
                if (!is_ending_) finish(0);
                break;
            case Kind::lost:
                if (is_stopped_ && !nodes_.is_head() && !is_ending_) finish(0);
                fail(1, formatted("distgpu: {}: lost the connection to {}, which ends the step",
                                  supervision_.mode, nodes_.name(node)));
                break;
            case Kind::up:
                nodes_.set_ready(node);
                break;
        }
    }

    // Called on the head.
    void handle_new_node(std::uint32_t node) {
        if (!processes_.has_companion()) nodes_.set_ready(node);
        if (is_ending_) {
            nodes_.send(node, {Kind::end});
        } else if (!processes_.has_companion() || is_head_ready_) {
            nodes_.send(node, {Kind::start, 0, processes_.folder()});
        }
    }

    void check_missing(Deadline now) {
        if (nodes_.are_all_ready()) return;
        if (is_notice_due()) {
            print_error_line(formatted("distgpu: {}: still waiting for {}", supervision_.mode,
                                       nodes_.names_not_ready()));
        }
        if (now < join_end_) return;
        fail(1, formatted("distgpu: {}: not ready after {} s: {}; find out there why distgpu exec "
                          "did not start",
                          supervision_.mode, supervision_.join_timeout.count(),
                          nodes_.names_not_ready()));
    }

    // True once, when other nodes take unusually long to start.
    bool is_notice_due() {
        if (is_notice_printed_ || Clock::now() < start_time_ + supervision_.notice_delay)
            return false;
        is_notice_printed_ = true;
        return true;
    }

    void check_health(Deadline now) {
        if (!processes_.is_running(Role::program) || now < next_health_check_) return;
        next_health_check_ = now + 1s;
        if (!is_healthy(*supervision_.health)) return;
        is_service_ready_ = true;
        print_error_line(formatted("distgpu: {}: ready at {} after {} s", supervision_.mode,
                                   url_of(*supervision_.health), seconds()));
    }

    std::int64_t seconds() const {
        return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_time_).count();
    }

    const Supervision& supervision_;
    NodeConnections nodes_;
    SignalRelay signals_;
    NodeProcesses processes_;
    bool is_head_ready_ = false;  // on the head: its companion is ready
    bool has_started_ = false;    // on other nodes: their part
    std::optional<Failure> failure_;
    bool is_ending_ = false;
    bool is_stopped_ = false;       // by a signal
    bool is_status_final_ = false;  // not changed by the program any more
    int status_ = 0;
    int stopped_status_ = 0;  // after a signal, unless the program determines it
    bool is_service_ready_ = false;
    bool is_notice_printed_ = false;
    Deadline start_time_ = Clock::now();
    Deadline join_end_{};
    Deadline late_end_{};
    Deadline kill_time_{};
    std::optional<Deadline> trackers_end_{};
    Deadline next_health_check_{};
};

}  // namespace

ExitCode supervise(const Supervision& supervision) {
    return Supervisor(supervision).run();
}

}  // namespace distgpu

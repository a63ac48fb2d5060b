#include "exec/supervise.h"

#include "base/format.h"
#include "base/values.h"
#include "inspect/signal_relay.h"
#include "output.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using Kind = Message::Kind;
using Role = NodeProcesses::Role;

constexpr int signalled = 128;  // plus a signal's number: the status of a process that it ended

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

sigset_t relayed_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : stop_signals) sigaddset(&signals, signal);
    for (const int signal : {SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
    return signals;
}

bool is_stop_signal(int signal) {
    return std::ranges::find(stop_signals, signal) != stop_signals.end();
}

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
            while (const auto got = signals_.next()) {
                if (is_stop_signal(got->number)) {
                    return static_cast<ExitCode>(signalled + got->number);
                }
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
        while (const auto got = signals_.next()) handle_signal(got->number);
        for (const auto& [signal, is_direct] : signals_.pop_due()) {
            if (!is_direct && !is_status_final_) processes_.send_signal(Role::program, signal);
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
    SignalRelay signals_{relayed_signals()};
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

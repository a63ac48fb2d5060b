// See supervise.h.
#include "exec/supervise.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/values.h"
#include "exec/process_tree.h"
#include "output.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
// The user's own, which the program may want.
constexpr std::array passed_signals{SIGUSR1, SIGUSR2};

bool asks_to_stop(int signal) {
    return std::find(stop_signals.begin(), stop_signals.end(), signal) != stop_signals.end();
}

// All the signals above, as something that can be waited for.
Socket signal_descriptor() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : stop_signals) sigaddset(&signals, signal);
    for (const int signal : passed_signals) sigaddset(&signals, signal);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return Socket(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The status of a program whose end is a failure, whatever it was.
int as_failure(int status) {
    return status == 0 ? 1 : status;
}

class Supervisor {
  public:
    explicit Supervisor(const Supervision& supervision)
        : plan_(supervision),
          is_head_(supervision.node == 0),
          signals_(signal_descriptor()),
          usual_files_(raise_open_files()) {}

    ExitCode run() {
        adopt_orphans();
        if (const auto end = is_head_ ? open() : reach()) return *end;
        if (is_head_) start();
        while (!is_over()) turn();
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

    // The head's way in. A code: it ends here.
    std::optional<ExitCode> open() {
        if (plan_.step.nodes == 1) return std::nullopt;
        auto head = Head::listen(plan_.step);
        if (!head) return complain(head.error(), ExitCode::exec_failed);
        head_ = *std::move(head);
        if (head_->proof() == Proof::none) {
            say(formatted(
                "distgpu: {}: other users could end this step, because the plugin did not "
                "prepare it and MUNGE does not answer; start it with srun --distgpu={}",
                plan_.mode, plan_.mode));
        }
        join_end_ = begin_ + plan_.join_limit;
        return std::nullopt;
    }

    // The others'.
    std::optional<ExitCode> reach() {
        while (true) {
            auto peer = reach_head(plan_.step, plan_.node);
            if (peer) {
                peers_.emplace(0, *std::move(peer));
                return std::nullopt;
            }
            if (Clock::now() >= begin_ + plan_.join_limit) {
                return complain(peer.error(), ExitCode::exec_failed);
            }
            pollfd waiting{signals_.fd(), POLLIN, 0};
            constexpr int pause = 200;
            poll(&waiting, 1, pause);
            while (const auto signal = next_signal()) {
                constexpr int signalled = 128;
                if (asks_to_stop(*signal)) return static_cast<ExitCode>(signalled + *signal);
            }
        }
    }

    void start() {
        const Started started = start_program(plan_.program, -1, usual_files_);
        if (!started.problem) {
            program_ = started.pid;
            return;
        }
        constexpr int missing = static_cast<int>(ExitCode::not_found);
        constexpr int not_executable = static_cast<int>(ExitCode::not_executable);
        finish(started.problem->missing ? missing : not_executable);
        say(started.problem->error.message());
    }

    bool are_all_there() const { return !head_ || peers_.size() + 1 == plan_.step.nodes; }

    // Who comes late is still to be told.
    bool is_over() const {
        return is_ending_ && !has_children() &&
               (are_all_there() || is_stopped_ || Clock::now() >= join_end_);
    }

    void turn() {
        wait();
        while (const auto signal = next_signal()) take_signal(*signal);
        while (const auto ended = next_ended()) take_end(*ended);
        hear_peers();
        if (head_) greet();
        const auto now = Clock::now();
        if (failure_ && !is_ending_ && now >= failure_->judged) {
            if (!failure_->line.empty()) say(failure_->line);
            finish(as_failure(failure_->status));
        }
        if (head_ && !is_ending_) look_for_missing(now);
        if (plan_.health && !is_ready_ && !is_ending_) look_for_readiness(now);
        // What the program left behind goes at once: it asked nobody to wait for it.
        if (is_ending_ && (program_ < 0 || now >= kill_time_)) kill_descendants();
    }

    // Until something happens, or a tenth of a second has passed.
    void wait() const {
        constexpr int pause = 100;
        std::vector<pollfd> waiting{{signals_.fd(), POLLIN, 0}};
        if (head_) waiting.push_back({head_->listener().fd(), POLLIN, 0});
        for (const auto& [node, peer] : peers_) waiting.push_back({peer.socket().fd(), POLLIN, 0});
        poll(waiting.data(), waiting.size(), pause);
    }

    std::optional<int> next_signal() const {
        signalfd_siginfo info{};
        const ssize_t size = read(signals_.fd(), &info, sizeof info);
        if (size != sizeof info) return std::nullopt;
        return static_cast<int>(info.ssi_signo);
    }

    void take_signal(int signal) {
        if (asks_to_stop(signal)) {
            stop(signal);
        } else if (signal != SIGCHLD && program_ > 0) {
            kill(program_, signal);
        }
    }

    // A signal ends the step: the program's status is then its own.
    void stop(int signal) {
        if (is_ending_) return;
        if (failure_) status_ = failure_->status;
        is_stopped_ = true;
        end_parts(signal);
        tell_all({Message::Kind::stop, signal});
    }

    // The step ends with this status.
    void finish(int status) {
        status_ = status;
        is_decided_ = true;
        end_parts(SIGTERM);
        tell_all(is_head_ ? Message{Message::Kind::end} : Message{Message::Kind::ended, status});
    }

    void end_parts(int signal) {
        is_ending_ = true;
        kill_time_ = Clock::now() + plan_.grace;
        if (program_ > 0) kill(program_, signal);
    }

    void take_end(const Ended& ended) {
        if (ended.pid != program_) return;
        program_ = -1;
        if (is_ending_) {
            if (!is_decided_) status_ = ended.status;
            return;
        }
        fail(ended.status,
             formatted("distgpu: {} on {}: ended with status {} after {} s, which ends the step",
                       plan_.mode, plan_.node_names[plan_.node], ended.status, seconds()));
    }

    void fail(int status, std::string line) {
        if (failure_ || is_ending_) return;
        failure_ = Failure{status, std::move(line), Clock::now() + 300ms};
    }

    void hear_peers() {
        for (auto& [node, peer] : peers_) {
            if (!peer.is_open()) continue;
            for (const Message& message : peer.receive()) take_message(node, message);
        }
    }

    void take_message(std::uint32_t node, const Message& message) {
        switch (message.kind) {
            case Message::Kind::start:
                if (!is_head_ && program_ < 0 && !is_ending_) start();
                break;
            case Message::Kind::stop:
                stop(message.number);
                break;
            case Message::Kind::ended:
                fail(message.number, "");
                break;
            case Message::Kind::end:
                // Rank 0's node ends with the status of the step.
                if (!is_ending_) finish(0);
                break;
            case Message::Kind::lost:
                fail(1, formatted("distgpu: {}: lost the connection with {}, which ends the step",
                                  plan_.mode, plan_.node_names[node]));
                break;
            case Message::Kind::up:
                break;
        }
    }

    void greet() {
        auto joined = head_->take();
        if (!joined) return;
        auto& [node, peer] = *joined;
        if (peers_.contains(node)) return;
        peer.send({is_ending_ ? Message::Kind::end : Message::Kind::start});
        peers_.emplace(node, std::move(peer));
    }

    void tell_all(const Message& message) {
        for (auto& [node, peer] : peers_) peer.send(message);
    }

    std::string missing() const {
        std::vector<std::string> names;
        for (std::uint32_t node = 1; node < plan_.step.nodes; ++node) {
            if (!peers_.contains(node)) names.push_back(plan_.node_names[node]);
        }
        constexpr std::size_t most = 8;
        const std::size_t left_out = names.size() - std::min(names.size(), most);
        names.resize(names.size() - left_out);
        return join(names, ", ") + (left_out == 0 ? "" : formatted(" and {} more", left_out));
    }

    void look_for_missing(Deadline now) {
        if (are_all_there()) return;
        constexpr auto usual = 30s;
        if (!told_of_missing_ && now >= begin_ + usual) {
            told_of_missing_ = true;
            say(formatted("distgpu: {}: still waiting for {}", plan_.mode, missing()));
        }
        if (now < join_end_) return;
        fail(1, formatted("distgpu: {}: not there after {} s: {}; look there why distgpu exec did "
                          "not start",
                          plan_.mode, plan_.join_limit.count(), missing()));
    }

    void look_for_readiness(Deadline now) {
        if (program_ < 0 || now < next_look_) return;
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
    bool is_head_;
    Socket signals_;
    std::uint64_t usual_files_;  // that what it starts may have open
    std::optional<Head> head_;             // where other nodes are to be awaited
    std::map<std::uint32_t, Peer> peers_;  // of the head every other node's, else the head's alone
    pid_t program_ = -1;                   // negative: not started, or ended
    std::optional<Failure> failure_;
    bool is_ending_ = false;
    bool is_stopped_ = false;  // by a signal
    bool is_decided_ = false;  // the status is not the program's
    int status_ = 0;
    bool is_ready_ = false;
    bool told_of_missing_ = false;
    Deadline begin_ = Clock::now();
    Deadline join_end_{};
    Deadline kill_time_{};
    Deadline next_look_{};
};

}  // namespace

ExitCode supervise(const Supervision& supervision) {
    return Supervisor(supervision).run();
}

}  // namespace distgpu

#include "exec/supervise.h"

#include "base/format.h"
#include "base/io/process_tree.h"
#include "base/values.h"
#include "exec/nodes.h"
#include "exec/parts.h"
#include "exec/signals.h"
#include "output.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <poll.h>
#include <set>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// The status of a program whose end is a failure, whatever it was.
int as_failure(int status) {
    return status == 0 ? 1 : status;
}

class Supervisor {
  public:
    explicit Supervisor(const Supervision& supervision)
        : plan_(supervision),
          nodes_(supervision.step, supervision.node, supervision.node_names),
          parts_(supervision.parts) {}

    ExitCode run() {
        adopt_orphans();
        if (const auto end = nodes_.is_head() ? open() : reach()) return *end;
        if (nodes_.is_head() && !is_ending_) begin();
        while (!is_over()) turn();
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
        if (!parts_.has_companion()) return std::nullopt;
        if (const auto error = parts_.make_folder()) {
            say(error->message());
            finish(static_cast<int>(ExitCode::exec_failed));
        }
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
            if (plan_.node == 1 && is_time_to_tell()) {
                say(formatted("distgpu: {}: still waiting for {}: {}", plan_.mode, nodes_.name(0),
                              error->message().substr(std::string_view("distgpu: ").size())));
            }
            pollfd waiting{signals_.fd(), POLLIN, 0};
            constexpr int pause = 200;
            poll(&waiting, 1, pause);
            while (const auto signal = signals_.next()) {
                constexpr int signalled = 128;
                if (asks_to_stop(*signal)) return static_cast<ExitCode>(signalled + *signal);
            }
        }
    }

    // This node's part. `folder`: as rank 0's node calls it.
    void begin(const std::string& folder = {}) {
        if (!parts_.has_companion()) {
            parts_.make_temporary_folder();
            return judge(parts_.start_program());
        }
        if (!nodes_.is_head()) {
            if (const auto error = parts_.make_folder_at(folder)) {
                say(error->message());
                return finish(static_cast<int>(ExitCode::exec_failed));
            }
        }
        judge(parts_.start_companion(nodes_.is_head()));
        if (nodes_.is_head() && !is_ending_) parts_.start_query();
    }

    // What cannot be run ends the step.
    void judge(const std::optional<NotStarted>& problem) {
        if (!problem) return;
        say(problem->error.message());
        finish(static_cast<int>(problem->missing ? ExitCode::not_found : ExitCode::not_executable));
    }

    // The companion here is ready: the others may begin, or rank 0's node is told.
    void take_readiness() {
        if (!nodes_.is_head()) {
            nodes_.tell_all({Message::Kind::up});
            return;
        }
        is_up_ = true;
        nodes_.tell_all({Message::Kind::start, 0, parts_.folder()});
    }

    void start_program_on_top() {
        if (!parts_.has_companion() || !is_up_ || parts_.runs_program() || is_stopped_ ||
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

    void turn() {
        wait();
        while (const auto signal = signals_.next()) take_signal(*signal);
        for (const int signal : signals_.due()) {
            if (!is_decided_) parts_.signal_program(signal);
        }
        while (const auto ended = next_ended()) take_end(*ended);
        if (parts_.becomes_ready()) take_readiness();
        for (const auto& [node, message] : nodes_.hear()) take_message(node, message);
        for (const std::uint32_t node : nodes_.greet()) greet(node);
        const auto now = Clock::now();
        if (failure_ && !is_ending_ && now >= failure_->judged) {
            if (!failure_->line.empty()) say(failure_->line);
            finish(as_failure(failure_->status));
        }
        if (nodes_.is_head() && !is_ending_) look_for_missing(now);
        if (nodes_.is_head() && !is_ending_) start_program_on_top();
        if (is_stopped_ && !is_ending_ && now >= kill_time_) finish(stopped_status_);
        if (plan_.health && !is_ready_ && !is_ending_) look_for_readiness(now);
        if (is_ending_ && (parts_.are_over() || now >= kill_time_)) end_descendants(now);
    }

    // What the program left behind goes at once: it asked nobody to wait for it.
    void end_descendants(Deadline now) {
        constexpr auto patience_with_trackers = 2s;
        if (!trackers_end_) trackers_end_ = now + patience_with_trackers;
        kill_descendants(now < *trackers_end_ ? Spared::trackers : Spared::nobody);
    }

    // Until something happens, or a tenth of a second has passed.
    void wait() const {
        constexpr int pause = 100;
        std::vector<pollfd> waiting;
        signals_.add_to(waiting);
        waiting.push_back({parts_.output(), POLLIN, 0});
        nodes_.add_to(waiting);
        poll(waiting.data(), waiting.size(), pause);
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
        constexpr int signalled = 128;
        stopped_status_ = nodes_.is_head() ? signalled + signal : 0;
        kill_time_ = Clock::now() + plan_.grace;
        if (parts_.has_companion()) {
            // What fails from now on, and what failed just before, is the signal's doing.
            failure_.reset();
            // The program may still need its cluster, and its end is that of all.
            if (!nodes_.is_head()) nodes_.tell_all({Message::Kind::stop, signal});
            if (nodes_.is_head() && !parts_.runs_program()) finish(stopped_status_);
            if (has_failed) finish(stopped_status_);
            return;
        }
        if (failure_) status_ = failure_->status;
        begin_end();
        nodes_.tell_all({Message::Kind::stop, signal});
    }

    // The step ends with this status.
    void finish(int status) {
        status_ = status;
        is_decided_ = true;
        begin_end();
        parts_.signal_program(SIGTERM);
        parts_.signal_companion(SIGTERM);
        nodes_.tell_all(nodes_.is_head() ? Message{Message::Kind::end}
                                         : Message{Message::Kind::ended, status});
    }

    void begin_end() {
        // Nobody needs anything of a companion any more.
        constexpr auto patience_with_companion = 2s;
        is_ending_ = true;
        late_end_ = std::min(join_end_, Clock::now() + plan_.late_limit);
        kill_time_ =
            Clock::now() + (parts_.has_companion() ? patience_with_companion : plan_.grace);
    }

    void take_end(const Ended& ended) {
        const Parts::Part part = parts_.take_end(ended.pid);
        if (part == Parts::Part::none) return;
        if (part == Parts::Part::query) return take_answer(ended.status);
        if (part == Parts::Part::companion)
            return is_ending_ ? void() : take_early_end(ended.status);
        if (parts_.has_companion()) return is_ending_ ? void() : finish(ended.status);
        if (is_ending_) {
            if (!is_decided_) status_ = ended.status;
            return;
        }
        fail(ended.status,
             formatted("distgpu: {} on {}: ended with status {} after {} s, which ends the step",
                       plan_.mode, nodes_.own_name(), ended.status, seconds()));
    }

    void take_answer(int status) const {
        constexpr int unknown_word = 2;
        if (status != unknown_word || is_ending_) return;
        say(formatted("distgpu: {}: {}", plan_.mode, plan_.parts.unknown));
    }

    void take_early_end(int status) {
        fail(1, formatted("distgpu: {} on {}: {} ended with status {} after {} s, which ends the "
                          "step; it said:\n{}",
                          plan_.mode, nodes_.own_name(), plan_.parts.companion.front(), status,
                          seconds(), parts_.last_output()));
    }

    void fail(int status, std::string line) {
        // After a signal to the whole step the parts end as they come.
        if (failure_ || is_ending_ || is_stopped_) return;
        failure_ = Failure{status, std::move(line), Clock::now() + 300ms};
    }

    void take_message(std::uint32_t node, const Message& message) {
        switch (message.kind) {
            case Message::Kind::start:
                if (!nodes_.is_head() && !has_begun_ && !is_ending_) {
                    has_begun_ = true;
                    begin(message.text);
                }
                break;
            case Message::Kind::stop:
                if (!is_ending_ && !is_stopped_) signals_.hand_on_from_afar(message.number);
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
                if (is_stopped_ && !nodes_.is_head() && !is_ending_) finish(0);
                fail(1, formatted("distgpu: {}: lost the connection with {}, which ends the step",
                                  plan_.mode, nodes_.name(node)));
                break;
            case Message::Kind::up:
                nodes_.set_up(node);
                break;
        }
    }

    // Of rank 0's node.
    void greet(std::uint32_t node) {
        if (!parts_.has_companion()) nodes_.set_up(node);
        if (is_ending_) {
            nodes_.tell(node, {Message::Kind::end});
        } else if (!parts_.has_companion() || is_up_) {
            nodes_.tell(node, {Message::Kind::start, 0, parts_.folder()});
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
        if (!parts_.runs_program() || now < next_look_) return;
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

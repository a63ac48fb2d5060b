// The control channel on all ranks except 0.
#include "base/format.h"
#include "base/io/socket.h"
#include "bootstrap/messages.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sys/socket.h>
#include <thread>

namespace distgpu::scaling {
namespace {

// The others wait this much longer than rank 0, which reports the missing ranks at the time-out.
constexpr std::chrono::seconds rank_0_grace{5};

// Practically infinite: rank 0 may be silent for as long as a measurement takes.
constexpr std::chrono::hours no_timeout{24 * 365};

class Follower final : public Channel {
  public:
    Follower(std::vector<Peer> peers, Socket connection, const ChannelOptions& options)
        : peers_(std::move(peers)),
          connection_(std::move(connection)),
          timeout_(options.timeout),
          on_termination_(options.on_termination),
          watcher_([this] { watch(); }) {}

    ~Follower() override {
        {
            const std::lock_guard lock(mutex_);
            is_finishing_ = true;
        }
        shutdown(connection_.fd(), SHUT_RDWR);  // wakes the watcher
        watcher_.join();
    }

    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    const std::vector<Peer>& peers() const override { return peers_; }

    std::vector<std::string> gather(const std::string& text) override {
        send(message_line(MessageKind::data, text));
        return {};
    }

    std::string broadcast(const std::string& /*text*/) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_terminated_ || !texts_.empty(); });
        if (texts_.empty()) return "";
        std::string text = std::move(texts_.front());
        texts_.pop_front();
        return text;
    }

    void begin_phase(const std::string& phase) override {
        const std::lock_guard lock(mutex_);
        phase_ = phase;
        progress_ = 0;
    }

    void report_progress() override { ++progress_; }

    void fail(ExitCode code, const std::string& problem) override {
        send(failure_line(code, problem));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_terminated_; });
    }

    void finish() override {
        {
            const std::lock_guard lock(mutex_);
            is_finishing_ = true;
        }
        gather("");
        broadcast("");
    }

  private:
    void watch() {
        for (;;) {
            const auto line = receive_line(connection_, longest_line, Clock::now() + no_timeout);
            if (!line) return handle_lost_leader();
            handle_line(*line);
        }
    }

    void handle_line(const std::string& line) {
        if (line.empty()) return;
        const auto kind = static_cast<MessageKind>(line.front());
        if (kind == MessageKind::ping) {
            return send(message_line(MessageKind::progress, std::to_string(progress_.load())));
        }
        const std::lock_guard lock(mutex_);
        if (kind == MessageKind::data) {
            texts_.push_back(line.substr(1));
            changed_.notify_all();
        } else {
            leader_exit_code_ = read_rank_failure(std::string_view(line).substr(1)).code;
        }
    }

    // This rank ends after rank 0, so that rank 0's status and message are those of the run.
    void handle_lost_leader() {
        std::unique_lock lock(mutex_);
        if (!is_finishing_ || leader_exit_code_) {
            Termination termination;
            termination.failure.phase = phase_;
            if (leader_exit_code_) {
                termination.code = *leader_exit_code_;
            } else {
                termination.failure.problem = "has died";
                termination.failure.missing = {names_of_peers(peers_)(0)};
            }
            lock.unlock();
            on_termination_(termination);
            lock.lock();
        }
        is_terminated_ = true;
        changed_.notify_all();
    }

    void send(const std::string& line) {
        const std::lock_guard lock(send_mutex_);
        // If this fails, rank 0 is gone, which the watcher notices.
        static_cast<void>(send_all(connection_, line, Clock::now() + timeout_));
    }

    const std::vector<Peer> peers_;
    const Socket connection_;
    const Deadline::duration timeout_;
    const TerminationHandler on_termination_;

    std::mutex mutex_;  // for the members up to send_mutex_
    std::condition_variable changed_;
    std::deque<std::string> texts_;
    std::string phase_;
    std::optional<ExitCode> leader_exit_code_;  // sent by rank 0 before it ended
    bool is_finishing_ = false;
    bool is_terminated_ = false;  // the handler has returned, or will not be called

    std::mutex send_mutex_;
    std::atomic<std::uint64_t> progress_{0};
    std::thread watcher_;
};

// Retries until the time-out, because rank 0 may start later than this rank.
Result<ServerConnection> connect_to_rank_0(const Membership& own, const ChannelOptions& options,
                                           Deadline deadline) {
    const Handshake handshake = handshake_of(own, options);
    std::optional<Error> problem;
    for (;;) {
        auto rank_0 =
            connect_to_server(handshake, own.address, own.port, deadline)
                .and_then([&](ServerConnection server) {
                    return authenticate(std::move(server), handshake, hello_text(own), deadline);
                });
        constexpr std::chrono::milliseconds pause{50};
        if (rank_0) return rank_0;
        // If the last attempt ran out of time, an earlier error is more informative.
        if (!problem || Clock::now() < deadline) problem = rank_0.error();
        if (Clock::now() + pause >= deadline) return *problem;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Termination> open_follower(const Membership& own,
                                                                  const ChannelOptions& options) {
    const Deadline deadline = Clock::now() + options.timeout;
    auto rank_0 = connect_to_rank_0(own, options, deadline);
    if (!rank_0) return connection_failure(rank_0.error(), ExitCode::timed_out);
    const auto line = receive_line(rank_0->socket, longest_line, deadline + rank_0_grace);
    if (!line) return connection_failure({"rank 0", line.error().problem, ""});
    auto peers = read_peers(*line, own.world_size);
    if (!peers) {
        return connection_failure(
            {formatted("{}:{}", own.address, own.port), "not rank 0 of this run", ""});
    }
    return std::make_unique<Follower>(*std::move(peers), std::move(rank_0->socket), options);
}

}  // namespace distgpu::scaling

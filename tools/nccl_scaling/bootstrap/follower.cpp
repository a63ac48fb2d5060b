// The end of the control channel of every rank but 0.
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

// Rank 0 names the missing ranks at the time-out; the others wait a little longer for it.
constexpr std::chrono::seconds for_rank_0{5};

// As good as without end: rank 0 may be silent for as long as a measurement takes.
constexpr std::chrono::hours forever{24 * 365};

class Follower final : public Channel {
  public:
    Follower(std::vector<Peer> peers, Socket connection, const ChannelOptions& options)
        : peers_(std::move(peers)),
          connection_(std::move(connection)),
          timeout_(options.timeout),
          end_(options.end),
          watcher_([this] { watch(); }) {}

    ~Follower() override {
        {
            const std::lock_guard lock(mutex_);
            finishing_ = true;
        }
        shutdown(connection_.fd(), SHUT_RDWR);  // wakes the watcher
        watcher_.join();
    }

    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    const std::vector<Peer>& peers() const override { return peers_; }

    std::vector<std::string> gather(const std::string& text) override {
        send(line_of(Kind::data, text));
        return {};
    }

    std::string broadcast(const std::string& /*text*/) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_ || !texts_.empty(); });
        if (texts_.empty()) return "";
        std::string text = std::move(texts_.front());
        texts_.pop_front();
        return text;
    }

    void begin(const std::string& phase) override {
        const std::lock_guard lock(mutex_);
        phase_ = phase;
        progress_ = 0;
    }

    void made_progress() override { ++progress_; }

    void fail(ExitCode code, const std::string& problem) override {
        send(failed_line(code, problem));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_; });
    }

    void finish() override {
        {
            const std::lock_guard lock(mutex_);
            finishing_ = true;
        }
        gather("");
        broadcast("");
    }

  private:
    void watch() {
        for (;;) {
            const auto line = receive_line(connection_, longest_line, Clock::now() + forever);
            if (!line) return lose_leader();
            take_line(*line);
        }
    }

    void take_line(const std::string& line) {
        if (line.empty()) return;
        const auto kind = static_cast<Kind>(line.front());
        if (kind == Kind::ping) {
            return send(line_of(Kind::progress, std::to_string(progress_.load())));
        }
        const std::lock_guard lock(mutex_);
        if (kind == Kind::data) {
            texts_.push_back(line.substr(1));
            changed_.notify_all();
        } else {
            leaders_end_ = read_failed(std::string_view(line).substr(1)).code;
        }
    }

    // Rank 0 leaves first, so that its own status and words are those of the run.
    void lose_leader() {
        std::unique_lock lock(mutex_);
        if (!finishing_ || leaders_end_) {
            Ending ending;
            ending.failure.phase = phase_;
            if (leaders_end_) {
                ending.code = *leaders_end_;
            } else {
                ending.failure.problem = "has died";
                ending.failure.missing = {names_of_peers(peers_)(0)};
            }
            lock.unlock();
            end_(ending);
            lock.lock();
        }
        ended_ = true;
        changed_.notify_all();
    }

    void send(const std::string& line) {
        const std::lock_guard lock(sending_);
        // Where it fails, rank 0 is gone, which the watcher sees.
        static_cast<void>(send_all(connection_, line, Clock::now() + timeout_));
    }

    const std::vector<Peer> peers_;
    const Socket connection_;
    const Deadline::duration timeout_;
    const End end_;

    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::deque<std::string> texts_;
    std::string phase_;
    std::optional<ExitCode> leaders_end_;  // what rank 0 said before it left
    bool finishing_ = false;
    bool ended_ = false;  // End has returned, or will not be called

    std::mutex sending_;
    std::atomic<std::uint64_t> progress_{0};
    std::thread watcher_;
};

// Rank 0 may come later than this rank: tries until the time-out.
Result<Invitation> connect_to_rank_0(const Membership& own, const ChannelOptions& options,
                                     Deadline deadline) {
    const Meeting meeting = meeting_of(own, options);
    std::optional<Error> problem;
    for (;;) {
        auto rank_0 =
            reach(meeting, own.address, own.port, deadline).and_then([&](Invitation host) {
                return introduce(std::move(host), meeting, hello_text(own), deadline);
            });
        constexpr std::chrono::milliseconds pause{50};
        if (rank_0) return rank_0;
        // What an attempt says whose time ran out, an earlier one may know better.
        if (!problem || Clock::now() < deadline) problem = rank_0.error();
        if (Clock::now() + pause >= deadline) return *problem;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Ending> follow(const Membership& own,
                                                      const ChannelOptions& options) {
    const Deadline deadline = Clock::now() + options.timeout;
    auto rank_0 = connect_to_rank_0(own, options, deadline);
    if (!rank_0) return refuse(rank_0.error(), ExitCode::timed_out);
    const auto line = receive_line(rank_0->socket, longest_line, deadline + for_rank_0);
    if (!line) return refuse({"rank 0", line.error().problem, ""});
    auto peers = read_peers(*line, own.world_size);
    if (!peers) {
        return refuse({formatted("{}:{}", own.address, own.port), "not rank 0 of this run", ""});
    }
    return std::make_unique<Follower>(*std::move(peers), std::move(rank_0->socket), options);
}

}  // namespace distgpu::scaling

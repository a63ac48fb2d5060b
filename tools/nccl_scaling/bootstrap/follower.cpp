#include "bootstrap/follower.h"

#include <chrono>
#include <sys/socket.h>

namespace distgpu::scaling {
namespace {

// As good as without end: rank 0 may be silent for as long as a measurement takes.
constexpr std::chrono::hours forever{24 * 365};

}  // namespace

Follower::Follower(std::vector<Peer> peers, Socket connection, const ChannelOptions& options)
    : peers_(std::move(peers)),
      connection_(std::move(connection)),
      timeout_(options.timeout),
      end_(options.end),
      watcher_([this] { watch(); }) {}

Follower::~Follower() {
    {
        const std::lock_guard lock(mutex_);
        finishing_ = true;
    }
    shutdown(connection_.fd(), SHUT_RDWR);  // wakes the watcher
    watcher_.join();
}

std::vector<std::string> Follower::gather(const std::string& text) {
    send(line_of(Kind::data, text));
    return {};
}

std::string Follower::broadcast(const std::string& /*text*/) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !texts_.empty(); });
    if (texts_.empty()) return "";
    std::string text = std::move(texts_.front());
    texts_.pop_front();
    return text;
}

void Follower::begin(const std::string& phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    progress_ = 0;
}

void Follower::fail(ExitCode code, const std::string& problem) {
    send(failed_line(code, problem));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
}

void Follower::finish() {
    {
        const std::lock_guard lock(mutex_);
        finishing_ = true;
    }
    gather("");
    broadcast("");
}

void Follower::watch() {
    for (;;) {
        const auto line = receive_line(connection_, longest_line, Clock::now() + forever);
        if (!line) return lose_leader();
        take_line(*line);
    }
}

void Follower::take_line(const std::string& line) {
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
void Follower::lose_leader() {
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

void Follower::send(const std::string& line) {
    const std::lock_guard lock(sending_);
    // Where it fails, rank 0 is gone, which the watcher sees.
    static_cast<void>(send_all(connection_, line, Clock::now() + timeout_));
}

}  // namespace distgpu::scaling

// The end of the control channel of every rank but 0.
#pragma once

#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace distgpu::scaling {

class Follower final : public Channel {
  public:
    Follower(std::vector<Peer> peers, Socket connection, const ChannelOptions& options);
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;
    ~Follower() override;

    const std::vector<Peer>& peers() const override { return peers_; }
    std::vector<std::string> gather(const std::string& text) override;
    std::string broadcast(const std::string& text) override;
    void begin(const std::string& phase) override;
    void made_progress() override { ++progress_; }
    void fail(ExitCode code, const std::string& problem) override;
    void finish() override;

  private:
    void watch();
    void take_line(const std::string& line);
    void lose_leader();
    void send(const std::string& line);

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

}  // namespace distgpu::scaling

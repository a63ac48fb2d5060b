// Rank 0's end of the control channel.
#pragma once

#include "base/io/socket.h"
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace distgpu::scaling {

class Leader final : public Channel {
  public:
    // `connections` by rank; the first is not open.
    Leader(std::vector<Peer> peers, std::vector<Socket> connections, const ChannelOptions& options);
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    ~Leader() override;

    const std::vector<Peer>& peers() const override { return peers_; }
    std::vector<std::string> gather(const std::string& text) override;
    std::string broadcast(const std::string& text) override;
    void begin(const std::string& phase) override;
    void made_progress() override { ++members_.front().progress; }
    void fail(ExitCode code, const std::string& problem) override;
    void finish() override;

  private:
    struct Member {
        Socket connection;              // stays open until the channel goes
        bool gone = false;              // read by the watcher alone: not polled any more
        std::deque<std::string> texts;  // for gather()
        // What it has not taken yet, under sending_. The ranks share the texts: the names of
        // thousands are long.
        std::deque<std::shared_ptr<const std::string>> unsent;
        std::size_t sent = 0;                    // bytes of the first
        std::atomic<std::uint64_t> progress{0};  // in this phase, as it last said
        Deadline last_answer;
    };

    void watch();
    void serve_ready(std::chrono::milliseconds longest_wait);
    void take_line(std::uint32_t rank, const std::string& line);
    void probe();
    void send_to_all(std::string line);
    void send(Member& member, std::shared_ptr<const std::string> line);
    std::vector<std::uint32_t> missing_ranks(Deadline silent_since) const;
    void lose(std::uint32_t rank, const Failed& failed);
    void time_out();
    void end(ExitCode code, const std::string& problem, const std::vector<std::uint32_t>& missing);

    const std::vector<Peer> peers_;
    const RankNames names_;
    const Deadline::duration timeout_;
    const End end_;

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::deque<Member> members_;    // by rank
    std::size_t without_text_ = 0;  // members whose text gather() waits for
    std::string phase_;
    std::uint64_t own_progress_ = 0;  // when it was last looked at
    Deadline last_change_;
    bool finishing_ = false;
    bool ending_ = false;  // End is about to be called
    bool ended_ = false;   // and has returned

    std::mutex sending_;
    std::atomic<bool> closing_{false};
    std::thread watcher_;
};

}  // namespace distgpu::scaling

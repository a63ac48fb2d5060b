// The control channel on rank 0: it listens until every rank has connected, and then a separate
// thread watches the ranks.
#include "base/format.h"
#include "base/io/socket.h"
#include "base/values.h"
#include "bootstrap/messages.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <poll.h>
#include <sys/resource.h>
#include <thread>

namespace distgpu::scaling {
namespace {

// Number of times that the ranks are pinged within the time-out.
constexpr int pings_per_timeout = 20;

// Time limit for the rest of a line that a rank has begun to send; then the rank is lost.
constexpr std::chrono::seconds rest_of_line{2};

class Leader final : public Channel {
  public:
    // `connections` by rank; the first is not open.
    Leader(std::vector<Peer> peers, std::vector<Socket> connections, const ChannelOptions& options)
        : peers_(std::move(peers)),
          names_(names_of_peers(peers_)),
          timeout_(options.timeout),
          on_termination_(options.on_termination),
          last_progress_(Clock::now()) {
        for (Socket& connection : connections) {
            RankState& state = ranks_.emplace_back();
            state.connection = std::move(connection);
            state.last_message = last_progress_;
        }
        missing_texts_ = ranks_.size();
        watcher_ = std::thread([this] { watch(); });
    }

    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    ~Leader() override {
        is_closing_ = true;
        watcher_.join();
    }

    const std::vector<Peer>& peers() const override { return peers_; }

    std::vector<std::string> gather(const std::string& text) override {
        std::unique_lock lock(mutex_);
        ranks_.front().texts.push_back(text);
        --missing_texts_;
        changed_.wait(lock, [this] { return is_terminated_ || missing_texts_ == 0; });
        std::vector<std::string> texts;
        if (is_terminated_) return texts;
        texts.reserve(ranks_.size());
        for (RankState& state : ranks_) {
            texts.push_back(std::move(state.texts.front()));
            state.texts.pop_front();
            if (state.texts.empty()) ++missing_texts_;
        }
        return texts;
    }

    std::string broadcast(const std::string& text) override {
        send_to_all(message_line(MessageKind::data, text));
        return text;
    }

    void begin_phase(const std::string& phase) override {
        const std::lock_guard lock(mutex_);
        phase_ = phase;
        last_progress_ = Clock::now();
        for (RankState& state : ranks_) state.progress = 0;
    }

    void report_progress() override { ++ranks_.front().progress; }

    void fail(ExitCode code, const std::string& problem) override {
        handle_lost_rank(0, {code, problem});
    }

    void finish() override {
        gather("");
        {
            const std::lock_guard lock(mutex_);
            is_finishing_ = true;
        }
        broadcast("");
    }

  private:
    struct RankState {
        Socket connection;              // open until the channel is destroyed
        bool is_gone = false;           // no longer polled; used only by the watcher
        std::deque<std::string> texts;  // for gather()
        // Not sent yet; protected by send_mutex_. The ranks share the texts, because the names of
        // thousands of ranks are long.
        std::deque<std::shared_ptr<const std::string>> unsent;
        std::size_t sent = 0;                    // bytes of the first text
        std::atomic<std::uint64_t> progress{0};  // in this phase, as last reported
        Deadline last_message;
    };

    void watch() {
        const auto interval =
            std::chrono::duration_cast<std::chrono::milliseconds>(timeout_ / pings_per_timeout);
        constexpr std::chrono::milliseconds closing_interval{100};
        Deadline next_ping = Clock::now() + interval;
        while (!is_closing_) {
            serve_connections(std::min(interval, closing_interval));
            if (Clock::now() < next_ping) continue;
            ping_ranks();
            next_ping = Clock::now() + interval;
        }
    }

    // Reads one line from each rank that has sent something, and sends each rank what it can
    // receive.
    void serve_connections(std::chrono::milliseconds max_wait) {
        std::vector<pollfd> entries;
        entries.reserve(ranks_.size());
        for (const RankState& state : ranks_) {
            const std::lock_guard lock(send_mutex_);
            const short events = state.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
            entries.push_back({state.is_gone ? -1 : state.connection.fd(), events, 0});
        }
        if (poll(entries.data(), entries.size(), static_cast<int>(max_wait.count())) <= 0) return;
        for (std::uint32_t rank = 1; rank < entries.size(); ++rank) {
            const int events = entries[rank].revents;
            if ((events & POLLOUT) != 0) send(ranks_[rank], nullptr);
            if ((events & ~POLLOUT) == 0) continue;
            const auto line =
                receive_line(ranks_[rank].connection, longest_line, Clock::now() + rest_of_line);
            if (line) {
                handle_line(rank, *line);
            } else {
                ranks_[rank].is_gone = true;
                handle_lost_rank(rank, {ExitCode::environment, "has died"});
            }
        }
    }

    void handle_line(std::uint32_t rank, const std::string& line) {
        if (line.empty()) return;
        const std::string text = line.substr(1);
        const auto kind = static_cast<MessageKind>(line.front());
        if (kind == MessageKind::failed) return handle_lost_rank(rank, read_rank_failure(text));
        const std::lock_guard lock(mutex_);
        RankState& state = ranks_[rank];
        state.last_message = Clock::now();
        if (kind == MessageKind::data) {
            state.texts.push_back(text);
            last_progress_ = state.last_message;
            // Wakes gather() only once, so that it does not go through all ranks for every rank.
            if (state.texts.size() == 1 && --missing_texts_ == 0) changed_.notify_all();
            return;
        }
        const std::uint64_t progress = whole_number_64(text).value_or(0);
        if (state.progress.exchange(progress) != progress) last_progress_ = state.last_message;
    }

    void ping_ranks() {
        {
            const std::lock_guard lock(mutex_);
            const std::uint64_t own = ranks_.front().progress;
            if (std::exchange(own_progress_, own) != own) last_progress_ = Clock::now();
        }
        check_timeout();
        send_to_all(message_line(MessageKind::ping, ""));
    }

    // Does not wait for any rank; a stopped one would delay the time-out of the others.
    void send_to_all(std::string line) {
        const auto shared = std::make_shared<const std::string>(std::move(line));
        for (RankState& state : ranks_) {
            if (state.connection.is_open()) send(state, shared);
        }
    }

    // Sends the unsent texts and `line`, which may be null, as far as the rank can receive them
    // now; the watcher sends the rest. Ignores errors: a lost rank is noticed because it does not
    // answer.
    void send(RankState& state, std::shared_ptr<const std::string> line) {
        const std::lock_guard lock(send_mutex_);
        if (line) state.unsent.push_back(std::move(line));
        while (!state.unsent.empty()) {
            const auto rest = std::string_view(*state.unsent.front()).substr(state.sent);
            const auto sent_bytes = send_some(state.connection, rest);
            if (sent_bytes && *sent_bytes < rest.size()) {
                state.sent += *sent_bytes;
                return;
            }
            state.unsent.pop_front();
            state.sent = 0;
        }
    }

    // The ranks that do not answer; if all do, the unfinished ones with the least progress.
    std::vector<std::uint32_t> find_missing_ranks(Deadline silent_since) const {
        std::vector<std::uint32_t> silent;
        std::vector<std::uint32_t> behind;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            const RankState& state = ranks_[rank];
            if (rank != 0 && state.last_message < silent_since) silent.push_back(rank);
            if (!state.texts.empty() || state.progress > least) continue;
            if (state.progress < least) behind.clear();
            least = state.progress;
            behind.push_back(rank);
        }
        return silent.empty() ? behind : silent;
    }

    void handle_lost_rank(std::uint32_t rank, const RankFailure& failure) {
        {
            const std::lock_guard lock(mutex_);
            if (is_finishing_) return;
        }
        terminate(failure.code, failure.problem, {rank});
    }

    void check_timeout() {
        std::vector<std::uint32_t> missing;
        {
            const std::lock_guard lock(mutex_);
            const Deadline now = Clock::now();
            if (is_finishing_ || now - last_progress_ < timeout_) return;
            missing = find_missing_ranks(now - timeout_ / 2);
        }
        const double seconds = std::chrono::duration<double>(timeout_).count();
        terminate(ExitCode::timed_out, formatted("no progress for {} s", seconds), missing);
    }

    void terminate(ExitCode code, const std::string& problem,
                   const std::vector<std::uint32_t>& missing) {
        Termination termination{code, {"", problem, {}}};
        termination.failure.missing.reserve(missing.size());
        for (const std::uint32_t rank : missing) {
            termination.failure.missing.push_back(names_(rank));
        }
        {
            std::unique_lock lock(mutex_);
            if (std::exchange(is_terminating_, true)) {
                return changed_.wait(lock, [this] { return is_terminated_; });
            }
            termination.failure.phase = phase_;
        }
        send_to_all(failure_line(code, problem));
        on_termination_(termination);
        is_closing_ = true;
        const std::lock_guard lock(mutex_);
        is_terminated_ = true;
        changed_.notify_all();
    }

    const std::vector<Peer> peers_;
    const RankNames names_;
    const Deadline::duration timeout_;
    const TerminationHandler on_termination_;

    mutable std::mutex mutex_;  // for the members up to send_mutex_
    std::condition_variable changed_;
    std::deque<RankState> ranks_;    // by rank
    std::size_t missing_texts_ = 0;  // number of ranks for whose text gather() waits
    std::string phase_;
    std::uint64_t own_progress_ = 0;  // when last compared
    Deadline last_progress_;
    bool is_finishing_ = false;
    bool is_terminating_ = false;  // the handler is about to be called
    bool is_terminated_ = false;   // the handler has returned

    std::mutex send_mutex_;
    std::atomic<bool> is_closing_{false};
    std::thread watcher_;
};

struct ConnectedRanks {
    std::vector<Peer> peers;
    std::vector<Socket> connections;  // by rank; rank 0's is not open
    std::uint32_t count = 1;
};

// Rejects a client that is not a rank of this run, or is already connected.
void admit(VerifiedClient client, const HandshakeServer& server, const Membership& own,
           ConnectedRanks& connected) {
    const auto hello = read_hello(client.text, own);
    if (!hello || hello->rank == 0 || connected.connections[hello->rank].is_open()) return;
    if (!server.send_welcome(client)) return;
    connected.connections[hello->rank] = std::move(client.socket);
    connected.peers[hello->rank] = hello->peer;
    ++connected.count;
}

Termination missing_ranks_termination(const ConnectedRanks& connected,
                                      const ChannelOptions& options) {
    Termination termination{
        ExitCode::timed_out,
        {connecting_phase,
         formatted("only {} of {} ranks connected within {} s", connected.count,
                   connected.peers.size(), std::chrono::duration<double>(options.timeout).count()),
         {}}};
    for (std::uint32_t rank = 1; rank < connected.peers.size(); ++rank) {
        if (!connected.connections[rank].is_open()) {
            termination.failure.missing.push_back(options.names(rank));
        }
    }
    return termination;
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Termination> open_leader(const Membership& own,
                                                                const ChannelOptions& options) {
    if (const auto error = check_open_file_limit(own.world_size)) {
        return connection_failure({error->object, error->problem + "; " + error->remedy, ""});
    }
    const Deadline deadline = Clock::now() + options.timeout;
    const auto listener = listen_on(own.port);
    if (!listener) return connection_failure(listener.error());
    ConnectedRanks connected{std::vector<Peer>(own.world_size), std::vector<Socket>(own.world_size),
                             1};
    connected.peers.front() = {own.host, own.local_rank, own.switches};
    HandshakeServer server(handshake_of(own, options));
    if (server.proof() == Proof::none && own.world_size > 1) {
        options.warn({"the ranks",
                      "cannot prove that they belong to this run, so another user could join it",
                      "start it with srun --distgpu=pytorch, or start munged"});
    }
    while (connected.count < own.world_size) {
        if (Clock::now() >= deadline) {
            return tl::make_unexpected(missing_ranks_termination(connected, options));
        }
        std::vector<pollfd> waiting{{listener->fd(), POLLIN, 0}};
        server.add_to(waiting);
        poll_until(waiting, server.next_check(deadline));
        if (const auto error = server.accept_clients(*listener)) return connection_failure(*error);
        for (VerifiedClient& client : server.verified_clients()) {
            admit(std::move(client), server, own, connected);
        }
    }
    auto leader =
        std::make_unique<Leader>(connected.peers, std::move(connected.connections), options);
    leader->broadcast(peers_text(connected.peers));
    return leader;
}

std::optional<Error> check_open_file_limit(std::uint32_t world_size) {
    constexpr rlim_t other_files = 256;  // of the program, its libraries and their devices
    const rlim_t needed = world_size + other_files;
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t allowed = limits.rlim_cur;
    if (needed <= allowed) return std::nullopt;
    return Error{
        "open files",
        formatted("rank 0 needs {} for {} ranks, but its limit is {}", needed, world_size, allowed),
        "raise the hard limit on its node (ulimit -Hn)"};
}

}  // namespace distgpu::scaling

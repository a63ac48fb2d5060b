// Rank 0's end of the control channel: it listens until every rank has come, and then a thread of
// its own watches them.
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

// How many times within a time-out the ranks are asked.
constexpr int probes = 20;

// A line that a rank has begun to send is there soon, unless the rank is lost.
constexpr std::chrono::seconds rest_of_line{2};

class Leader final : public Channel {
  public:
    // `connections` by rank; the first is not open.
    Leader(std::vector<Peer> peers, std::vector<Socket> connections, const ChannelOptions& options)
        : peers_(std::move(peers)),
          names_(names_of_peers(peers_)),
          timeout_(options.timeout),
          end_(options.end),
          last_change_(Clock::now()) {
        for (Socket& connection : connections) {
            Member& member = members_.emplace_back();
            member.connection = std::move(connection);
            member.last_answer = last_change_;
        }
        without_text_ = members_.size();
        watcher_ = std::thread([this] { watch(); });
    }

    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    ~Leader() override {
        closing_ = true;
        watcher_.join();
    }

    const std::vector<Peer>& peers() const override { return peers_; }

    std::vector<std::string> gather(const std::string& text) override {
        std::unique_lock lock(mutex_);
        members_.front().texts.push_back(text);
        --without_text_;
        changed_.wait(lock, [this] { return ended_ || without_text_ == 0; });
        std::vector<std::string> texts;
        if (ended_) return texts;
        texts.reserve(members_.size());
        for (Member& member : members_) {
            texts.push_back(std::move(member.texts.front()));
            member.texts.pop_front();
            if (member.texts.empty()) ++without_text_;
        }
        return texts;
    }

    std::string broadcast(const std::string& text) override {
        send_to_all(line_of(Kind::data, text));
        return text;
    }

    void begin(const std::string& phase) override {
        const std::lock_guard lock(mutex_);
        phase_ = phase;
        last_change_ = Clock::now();
        for (Member& member : members_) member.progress = 0;
    }

    void made_progress() override { ++members_.front().progress; }

    void fail(ExitCode code, const std::string& problem) override { lose(0, {code, problem}); }

    void finish() override {
        gather("");
        {
            const std::lock_guard lock(mutex_);
            finishing_ = true;
        }
        broadcast("");
    }

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

    void watch() {
        const auto interval =
            std::chrono::duration_cast<std::chrono::milliseconds>(timeout_ / probes);
        constexpr std::chrono::milliseconds to_notice_closing{100};
        Deadline next_probe = Clock::now() + interval;
        while (!closing_) {
            serve_ready(std::min(interval, to_notice_closing));
            if (Clock::now() < next_probe) continue;
            probe();
            next_probe = Clock::now() + interval;
        }
    }

    // One line from each rank that sent something, and to each what it takes by now.
    void serve_ready(std::chrono::milliseconds longest_wait) {
        std::vector<pollfd> entries;
        entries.reserve(members_.size());
        for (const Member& member : members_) {
            const std::lock_guard lock(sending_);
            const short events = member.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
            entries.push_back({member.gone ? -1 : member.connection.fd(), events, 0});
        }
        if (poll(entries.data(), entries.size(), static_cast<int>(longest_wait.count())) <= 0)
            return;
        for (std::uint32_t rank = 1; rank < entries.size(); ++rank) {
            const int found = entries[rank].revents;
            if ((found & POLLOUT) != 0) send(members_[rank], nullptr);
            if ((found & ~POLLOUT) == 0) continue;
            const auto line =
                receive_line(members_[rank].connection, longest_line, Clock::now() + rest_of_line);
            if (line) {
                take_line(rank, *line);
            } else {
                members_[rank].gone = true;
                lose(rank, {ExitCode::environment, "has died"});
            }
        }
    }

    void take_line(std::uint32_t rank, const std::string& line) {
        if (line.empty()) return;
        const std::string text = line.substr(1);
        const auto kind = static_cast<Kind>(line.front());
        if (kind == Kind::failed) return lose(rank, read_failed(text));
        const std::lock_guard lock(mutex_);
        Member& member = members_[rank];
        member.last_answer = Clock::now();
        if (kind == Kind::data) {
            member.texts.push_back(text);
            last_change_ = member.last_answer;
            // Not for each: gather() would look at all members as often as there are members.
            if (member.texts.size() == 1 && --without_text_ == 0) changed_.notify_all();
            return;
        }
        const std::uint64_t progress = whole_number_64(text).value_or(0);
        if (member.progress.exchange(progress) != progress) last_change_ = member.last_answer;
    }

    void probe() {
        {
            const std::lock_guard lock(mutex_);
            const std::uint64_t own = members_.front().progress;
            if (std::exchange(own_progress_, own) != own) last_change_ = Clock::now();
        }
        time_out();
        send_to_all(line_of(Kind::ping, ""));
    }

    // Waits for no rank: of one that has stopped, the others would hear a time-out later.
    void send_to_all(std::string line) {
        const auto shared = std::make_shared<const std::string>(std::move(line));
        for (Member& member : members_) {
            if (member.connection.is_open()) send(member, shared);
        }
    }

    // What the rank takes now of what is left and of this line, which may be null; the watcher
    // sends the rest. Where nothing can be sent, the rank is found lost by what does not come.
    void send(Member& member, std::shared_ptr<const std::string> line) {
        const std::lock_guard lock(sending_);
        if (line) member.unsent.push_back(std::move(line));
        while (!member.unsent.empty()) {
            const auto rest = std::string_view(*member.unsent.front()).substr(member.sent);
            const auto taken = send_some(member.connection, rest);
            if (taken && *taken < rest.size()) {
                member.sent += *taken;
                return;
            }
            member.unsent.pop_front();
            member.sent = 0;
        }
    }

    // Those that do not answer; where all do, of those that are not done those behind the others.
    std::vector<std::uint32_t> missing_ranks(Deadline silent_since) const {
        std::vector<std::uint32_t> silent;
        std::vector<std::uint32_t> behind;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            const Member& member = members_[rank];
            if (rank != 0 && member.last_answer < silent_since) silent.push_back(rank);
            if (!member.texts.empty() || member.progress > least) continue;
            if (member.progress < least) behind.clear();
            least = member.progress;
            behind.push_back(rank);
        }
        return silent.empty() ? behind : silent;
    }

    void lose(std::uint32_t rank, const Failed& failed) {
        {
            const std::lock_guard lock(mutex_);
            if (finishing_) return;
        }
        end(failed.code, failed.problem, {rank});
    }

    void time_out() {
        std::vector<std::uint32_t> missing;
        {
            const std::lock_guard lock(mutex_);
            const Deadline now = Clock::now();
            if (finishing_ || now - last_change_ < timeout_) return;
            missing = missing_ranks(now - timeout_ / 2);
        }
        const double seconds = std::chrono::duration<double>(timeout_).count();
        end(ExitCode::timed_out, formatted("no progress for {} s", seconds), missing);
    }

    void end(ExitCode code, const std::string& problem, const std::vector<std::uint32_t>& missing) {
        Ending ending{code, {"", problem, {}}};
        ending.failure.missing.reserve(missing.size());
        for (const std::uint32_t rank : missing) ending.failure.missing.push_back(names_(rank));
        {
            std::unique_lock lock(mutex_);
            if (std::exchange(ending_, true)) {
                return changed_.wait(lock, [this] { return ended_; });
            }
            ending.failure.phase = phase_;
        }
        send_to_all(failed_line(code, problem));
        end_(ending);
        closing_ = true;
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

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

struct Assembly {
    std::vector<Peer> peers;
    std::vector<Socket> connections;  // by rank, rank 0's not open
    std::uint32_t arrived = 1;
};

// Who is no rank of this run, or one that is there already, is sent away.
void take(Guest guest, const Host& host, const Membership& own, Assembly& assembly) {
    const auto hello = read_hello(guest.text, own);
    if (!hello || hello->rank == 0 || assembly.connections[hello->rank].is_open()) return;
    if (!host.welcome(guest)) return;
    assembly.connections[hello->rank] = std::move(guest.socket);
    assembly.peers[hello->rank] = hello->peer;
    ++assembly.arrived;
}

Ending nobody_else(const Assembly& assembly, const ChannelOptions& options) {
    Ending ending{
        ExitCode::timed_out,
        {connecting,
         formatted("only {} of {} ranks connected within {} s", assembly.arrived,
                   assembly.peers.size(), std::chrono::duration<double>(options.timeout).count()),
         {}}};
    for (std::uint32_t rank = 1; rank < assembly.peers.size(); ++rank) {
        if (!assembly.connections[rank].is_open()) {
            ending.failure.missing.push_back(options.names(rank));
        }
    }
    return ending;
}

}  // namespace

tl::expected<std::unique_ptr<Channel>, Ending> lead(const Membership& own,
                                                    const ChannelOptions& options) {
    if (const auto lack = lack_of_open_files(own.world_size)) {
        return refuse({lack->object, lack->problem + "; " + lack->remedy, ""});
    }
    const Deadline deadline = Clock::now() + options.timeout;
    const auto listener = listen_on(own.port);
    if (!listener) return refuse(listener.error());
    Assembly assembly{std::vector<Peer>(own.world_size), std::vector<Socket>(own.world_size), 1};
    assembly.peers.front() = {own.host, own.local_rank, own.switches};
    Host host(meeting_of(own, options));
    if (host.proof() == Proof::none && own.world_size > 1) {
        options.warn({"the ranks",
                      "not proven to be of this run, so another user could be one of them",
                      "start it with srun --distgpu=pytorch, or start munged"});
    }
    while (assembly.arrived < own.world_size) {
        if (Clock::now() >= deadline) return tl::make_unexpected(nobody_else(assembly, options));
        std::vector<pollfd> waiting{{listener->fd(), POLLIN, 0}};
        host.add_to(waiting);
        poll_until(waiting, host.next_turn(deadline));
        if (const auto error = host.greet(*listener)) return refuse(*error);
        for (Guest& guest : host.introduced()) take(std::move(guest), host, own, assembly);
    }
    auto leader =
        std::make_unique<Leader>(assembly.peers, std::move(assembly.connections), options);
    leader->broadcast(peers_text(assembly.peers));
    return leader;
}

std::optional<Error> lack_of_open_files(std::uint32_t world_size) {
    constexpr rlim_t others = 256;  // of the program, its libraries and their devices
    const rlim_t needed = world_size + others;
    rlimit limits{};
    getrlimit(RLIMIT_NOFILE, &limits);
    const rlim_t allowed = limits.rlim_cur;
    if (needed <= allowed) return std::nullopt;
    return Error{
        "open files",
        formatted("rank 0 needs {} for {} ranks, and may have {}", needed, world_size, allowed),
        "raise the hard limit on its node, ulimit -Hn"};
}

}  // namespace distgpu::scaling

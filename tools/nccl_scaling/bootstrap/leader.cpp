#include "bootstrap/leader.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <poll.h>

namespace distgpu::scaling {
namespace {

// How many times within a time-out the ranks are asked.
constexpr int probes = 20;

// A line that a rank has begun to send is there soon, unless the rank is lost.
constexpr std::chrono::seconds rest_of_line{2};

}  // namespace

Leader::Leader(std::vector<Peer> peers, std::vector<Socket> connections,
               const ChannelOptions& options)
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

Leader::~Leader() {
    closing_ = true;
    watcher_.join();
}

std::vector<std::string> Leader::gather(const std::string& text) {
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

std::string Leader::broadcast(const std::string& text) {
    send_to_all(line_of(Kind::data, text));
    return text;
}

void Leader::begin(const std::string& phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    last_change_ = Clock::now();
    for (Member& member : members_) member.progress = 0;
}

void Leader::fail(ExitCode code, const std::string& problem) {
    lose(0, {code, problem});
}

void Leader::finish() {
    gather("");
    {
        const std::lock_guard lock(mutex_);
        finishing_ = true;
    }
    broadcast("");
}

void Leader::watch() {
    const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(timeout_ / probes);
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
void Leader::serve_ready(std::chrono::milliseconds longest_wait) {
    std::vector<pollfd> entries;
    entries.reserve(members_.size());
    for (const Member& member : members_) {
        const std::lock_guard lock(sending_);
        const short events = member.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
        entries.push_back({member.gone ? -1 : member.connection.fd(), events, 0});
    }
    if (poll(entries.data(), entries.size(), static_cast<int>(longest_wait.count())) <= 0) return;
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

void Leader::take_line(std::uint32_t rank, const std::string& line) {
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

void Leader::probe() {
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t own = members_.front().progress;
        if (std::exchange(own_progress_, own) != own) last_change_ = Clock::now();
    }
    time_out();
    send_to_all(line_of(Kind::ping, ""));
}

// Waits for no rank: of one that has stopped, the others would hear a time-out later.
void Leader::send_to_all(std::string line) {
    const auto shared = std::make_shared<const std::string>(std::move(line));
    for (Member& member : members_) {
        if (member.connection.is_open()) send(member, shared);
    }
}

// What the rank takes now of what is left and of this line, which may be null; the watcher sends
// the rest. Where nothing can be sent, the rank is found lost by what does not come.
void Leader::send(Member& member, std::shared_ptr<const std::string> line) {
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
std::vector<std::uint32_t> Leader::missing_ranks(Deadline silent_since) const {
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

void Leader::lose(std::uint32_t rank, const Failed& failed) {
    {
        const std::lock_guard lock(mutex_);
        if (finishing_) return;
    }
    end(failed.code, failed.problem, {rank});
}

void Leader::time_out() {
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

void Leader::end(ExitCode code, const std::string& problem,
                 const std::vector<std::uint32_t>& missing) {
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

}  // namespace distgpu::scaling

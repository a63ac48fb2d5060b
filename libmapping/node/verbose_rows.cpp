#include "node/verbose_rows.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "mapping/texts/variables.h"
#include "node/network.h"
#include "node/step_variables.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <limits>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace distgpu {
namespace {

// A row holds a node's name, its CPUs and GPUs.
constexpr std::size_t longest_row = 4096;
constexpr std::string_view taken = "taken";

// A row begins with its lowest rank; the last line, of the rendezvous, with none.
std::uint32_t first_rank(std::string_view row) {
    row.remove_prefix(std::min(row.size(), row.find(' ')));
    row.remove_prefix(std::min(row.size(), row.find_first_not_of(' ')));
    const std::size_t digits = std::min(row.size(), row.find_first_not_of("0123456789"));
    return whole_number(row.substr(0, digits)).value_or(std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

void VerboseRows::collect(Environment& environment, std::size_t nodes, std::size_t rows) {
    environment.unset(rows_variable);
    const auto token = draw_secret();
    auto listener = listen_on(0);
    if (!token || !listener) return;
    listener_ = *std::move(listener);
    token_ = token->to_string();
    nodes_ = nodes;
    longest_ = rows + 1;  // and the line of the rendezvous
    environment.set(rows_variable, formatted("{} {}", port_of(listener_), token_));
    // srun has a thread for its signals, which no other may take.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { take_all(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void VerboseRows::finish() {
    if (!thread_.joinable()) return;
    ends_ = true;
    thread_.join();
}

void VerboseRows::take_all() {
    constexpr std::chrono::seconds patience{5};
    constexpr int look_at_end = 100;  // milliseconds
    Deadline deadline = Deadline::max();
    while (heard_ < nodes_ && Clock::now() < deadline) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        const bool ends = ends_;
        poll(&waiting, 1, ends ? 0 : look_at_end);
        const auto connection = accept_from(listener_);
        if (!connection && ends) break;
        if (!connection) continue;
        take(*connection);
        if (heard_ > 0) deadline = Clock::now() + patience;
    }
    listener_ = Socket();
    std::ranges::stable_sort(rows_, {}, first_rank);
    if (!rows_.empty()) write_all(STDERR_FILENO, join(rows_, "\n") + '\n');
}

// Who is no task of the step says nothing that counts, and has no time to keep the others waiting.
void VerboseRows::take(const Socket& connection) {
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto head = receive_line(connection, token_.size() + 8, deadline);
    if (!head) return;
    std::string_view rest = *head;
    if (take_until(rest, ' ') != token_) return;
    const auto count = number_below(rest, longest_ + 1);
    std::vector<std::string> rows;
    if (!count) return;
    while (rows.size() < *count) {
        auto row = receive_line(connection, longest_row, deadline);
        if (!row) return;
        rows.push_back(printable(*row));
    }
    if (!send_all(connection, formatted("{}\n", taken), deadline)) return;
    ++heard_;
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
}

bool send_rows(const Environment& task, const std::string& rows) {
    const std::string where = task.text(rows_variable);
    const std::string host = task.text("SLURM_LAUNCH_NODE_IPADDR");
    std::string_view token = where;
    const auto port = number_below(take_until(token, ' '), std::size_t{1} << 16U);
    if (!port || !is_ip_address(host)) return false;
    const Deadline deadline = Clock::now() + std::chrono::seconds(2);
    const auto srun = connect_to(host, static_cast<std::uint16_t>(*port), deadline);
    if (!srun) return false;
    const auto count = std::count(rows.begin(), rows.end(), '\n') + 1;
    if (!send_all(*srun, formatted("{} {}\n{}\n", token, count, rows), deadline)) return false;
    const auto answer = receive_line(*srun, taken.size(), deadline);
    return answer && *answer == taken;
}

}  // namespace distgpu

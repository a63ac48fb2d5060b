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

// Bytes. A row contains a node's name, its CPUs and GPUs.
constexpr std::size_t max_row_size = 4096;
constexpr std::string_view acknowledgment = "taken";

// A row begins with its lowest rank; the last line, about the rendezvous, has none.
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
    max_rows_per_node_ = rows + 1;  // and the line about the rendezvous
    environment.set(rows_variable, formatted("{} {}", port_of(listener_), token_));
    // srun has a thread for its signals; no other thread may receive them.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { receive_all(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void VerboseRows::finish() {
    if (!thread_.joinable()) return;
    is_step_over_ = true;
    thread_.join();
}

void VerboseRows::receive_all() {
    constexpr std::chrono::seconds patience{5};
    constexpr int poll_interval = 100;  // milliseconds
    Deadline deadline = Deadline::max();
    while (received_nodes_ < nodes_ && Clock::now() < deadline) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        const bool is_step_over = is_step_over_;
        poll(&waiting, 1, is_step_over ? 0 : poll_interval);
        const auto connection = accept_from(listener_);
        if (!connection && is_step_over) break;
        if (!connection) continue;
        receive_node(*connection);
        if (received_nodes_ > 0) deadline = Clock::now() + patience;
    }
    listener_ = Socket();
    std::ranges::stable_sort(rows_, {}, first_rank);
    if (!rows_.empty()) write_all(STDERR_FILENO, join(rows_, "\n") + '\n');
}

// Ignores a sender that is not a task of the step; the deadline keeps it from delaying the others.
void VerboseRows::receive_node(const Socket& connection) {
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto head = receive_line(connection, token_.size() + 8, deadline);
    if (!head) return;
    std::string_view rest = *head;
    if (cut_until(rest, ' ') != token_) return;
    const auto count = number_below(rest, max_rows_per_node_ + 1);
    std::vector<std::string> rows;
    if (!count) return;
    while (rows.size() < *count) {
        auto row = receive_line(connection, max_row_size, deadline);
        if (!row) return;
        rows.push_back(printable(*row));
    }
    if (!send_all(connection, formatted("{}\n", acknowledgment), deadline)) return;
    ++received_nodes_;
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
}

bool send_rows(const Environment& task, const std::string& rows) {
    const std::string where = task.text(rows_variable);
    const std::string host = task.text("SLURM_LAUNCH_NODE_IPADDR");
    std::string_view token = where;
    const auto port = number_below(cut_until(token, ' '), std::size_t{1} << 16U);
    if (!port || !is_ip_address(host)) return false;
    const Deadline deadline = Clock::now() + std::chrono::seconds(2);
    const auto srun = connect_to(host, static_cast<std::uint16_t>(*port), deadline);
    if (!srun) return false;
    const auto count = std::count(rows.begin(), rows.end(), '\n') + 1;
    if (!send_all(*srun, formatted("{} {}\n{}\n", token, count, rows), deadline)) return false;
    const auto answer = receive_line(*srun, acknowledgment.size(), deadline);
    return answer && *answer == acknowledgment;
}

}  // namespace distgpu

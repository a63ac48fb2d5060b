#include "inspect/process_facts.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

std::string path_of(pid_t pid, std::string_view file) {
    return formatted("/proc/{}/{}", pid, file);
}

// Reads a file of /proc/PID; empty if it cannot be read.
std::string read_proc(pid_t pid, std::string_view file) {
    const auto text = read_regular_file(path_of(pid, file));
    return text ? *text : "";
}

// Until `visit` returns false.
void for_each_entry(const fs::path& folder, const std::function<bool(const fs::path&)>& visit) {
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        if (!visit(each->path())) return;
    }
}

// Works for namespaces too, which /proc shows as files.
bool is_same_file(const std::string& left, const std::string& right) {
    std::error_code error;
    return fs::equivalent(left, right, error);
}

std::uint64_t number_in(std::string_view text) {
    return whole_number_64(text).value_or(0);
}

std::uint64_t number_after(std::string_view text, std::string_view key) {
    return number_in(value_after(text, key));
}

// Voluntary and other context switches in a thread's `status`.
std::uint64_t switches_in(std::string_view status) {
    return number_after(status, "voluntary_ctxt_switches:") +
           number_after(status, "nonvoluntary_ctxt_switches:");
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    constexpr int base = 16;
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value, base);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

// Parses "0200000A:6020": one or four words of 32 bits in the machine's byte order, and the port.
std::optional<std::string> parse_peer(std::string_view text) {
    constexpr std::size_t digits = 8;  // of a word
    std::array<std::uint32_t, 4> words{};
    const std::string_view address = cut_until(text, ':');
    if (address.size() != digits && address.size() != digits * words.size()) return std::nullopt;
    for (std::size_t i = 0; i < address.size() / digits; ++i) {
        const auto word = parse_hex(address.substr(i * digits, digits));
        if (!word) return std::nullopt;
        words.at(i) = static_cast<std::uint32_t>(*word);
    }
    const auto port = parse_hex(text);
    if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> name{};
    inet_ntop(address.size() == digits ? AF_INET : AF_INET6, words.data(), name.data(),
              name.size());
    return host_and_port(name.data(), static_cast<std::uint16_t>(*port));
}

// For 0, of the whole node.
std::uint64_t read_bytes(pid_t pid) {
    if (pid != 0) return parse_process_io(read_proc(pid, "io"));
    return parse_net_dev(read_proc(getpid(), "net/dev")) + read_port_bytes();
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
    // The name may hold any byte, also ")".
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return std::nullopt;
    }
    const auto words = words_in(text.substr(close + 1));
    const auto field = [&](std::size_t number) {  // numbered as in proc(5), where the name is 2
        return number - 3 < words.size() ? whole_number_64(words[number - 3]) : std::nullopt;
    };
    const auto [parent, user, system, reaped_user, reaped_system, begin] =
        std::array{field(4), field(14), field(15), field(16), field(17), field(22)};
    if (!parent || !user || !system || !reaped_user || !reaped_system || !begin) {
        return std::nullopt;
    }
    ProcessStat stat{.name = std::string(text.substr(open + 1, close - open - 1)),
                     .state = words[0].front(),
                     .parent = static_cast<pid_t>(*parent),
                     .ticks = *user + *system,
                     .reaped_ticks = *reaped_user + *reaped_system,
                     .begin = *begin};
    if (stat.state == 'Z' && field(52)) stat.exit_code = static_cast<int>(*field(52));
    return stat;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
    return parse_stat(read_proc(pid, "stat"));
}

std::uint64_t read_switches(pid_t pid) {
    return number_after(read_proc(pid, "status"), "voluntary_ctxt_switches:");
}

Work read_work(pid_t pid) {
    const std::string own = formatted("task/{}", pid);
    const auto process = read_stat(pid);
    const auto main = parse_stat(read_proc(pid, own + "/stat"));
    if (!process || !main) return {};
    Work work{switches_in(read_proc(pid, own + "/status")), main->ticks, 0, process->ticks,
              process->reaped_ticks};
    std::size_t threads = 0;
    for_each_entry(path_of(pid, "task"), [&](const fs::path& thread) {
        constexpr std::size_t max_threads = 4096;
        work.switches +=
            switches_in(read_proc(pid, formatted("task/{}/status", thread.filename().native())));
        return ++threads < max_threads;
    });
    return work;
}

std::string read_wait_channel(pid_t pid) {
    std::string name = read_proc(pid, "wchan");
    return name == "0" ? "" : name;
}

std::optional<EnvironmentCopy> read_environment(pid_t pid) {
    const auto text = read_regular_file(path_of(pid, "environ"));
    return text ? std::optional(EnvironmentCopy::from_block(*text)) : std::nullopt;
}

std::string read_command(pid_t pid) {
    constexpr std::size_t max_size = 200;
    std::string command = read_proc(pid, "cmdline").substr(0, max_size);
    while (command.ends_with('\0')) command.pop_back();
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

std::string read_program(pid_t pid) {
    std::error_code error;
    return fs::read_symlink(path_of(pid, "exe"), error);
}

std::optional<uid_t> read_owner(pid_t pid) {
    const std::string status = read_proc(pid, "status");
    const auto users = words_in(value_after(status, "Uid:"));
    return users.size() > 1 ? whole_number(users[1]) : std::nullopt;  // the first is the real one
}

std::string read_own_program(pid_t pid) {
    const std::string program = read_program(pid);
    const bool is_own = read_owner(pid) == geteuid() && is_same_file(path_of(pid, "root"), "/") &&
                        is_same_file(path_of(pid, "ns/user"), "/proc/self/ns/user") &&
                        is_same_file(path_of(pid, "ns/mnt"), "/proc/self/ns/mnt") &&
                        program.starts_with('/') && is_same_file(path_of(pid, "exe"), program);
    return is_own ? program : "";
}

std::map<pid_t, pid_t> read_parents() {
    std::map<pid_t, pid_t> parents;
    for_each_entry("/proc", [&](const fs::path& entry) {
        const auto pid = static_cast<pid_t>(whole_number(entry.filename().native()).value_or(0));
        const auto stat = pid > 0 ? read_stat(pid) : std::nullopt;
        if (stat) parents[pid] = stat->parent;
        return true;
    });
    return parents;
}

void for_each_open_file(pid_t pid, const std::function<bool(const std::string&)>& visit) {
    for_each_entry(path_of(pid, "fd"), [&](const fs::path& file) {
        std::error_code error;  // if it was closed meanwhile
        return visit(fs::read_symlink(file, error));
    });
}

std::map<std::uint64_t, Connection> parse_tcp(std::string_view text) {
    constexpr std::string_view established = "01";
    std::map<std::uint64_t, Connection> connections;
    while (!text.empty()) {
        // sl local rem st tx:rx tr:tm retrnsmt uid timeout inode
        const auto words = words_in(cut_until(text, '\n'));
        if (words.size() < 10 || words[3] != established) continue;
        const auto inode = whole_number_64(words[9]);
        std::string_view unread = words[4];
        const auto unsent = parse_hex(cut_until(unread, ':'));
        auto peer = parse_peer(words[2]);
        if (inode && unsent && parse_hex(unread) && peer) {
            connections[*inode] = {*std::move(peer), *unsent, *parse_hex(unread)};
        }
    }
    return connections;
}

std::vector<Connection> open_connections(pid_t pid) {
    constexpr std::size_t max_connections = 16;
    std::map<std::uint64_t, Connection> all;
    for (const char* const file : {"net/tcp", "net/tcp6"}) {
        all.merge(parse_tcp(read_proc(pid, file)));
    }
    std::vector<Connection> own;
    for_each_open_file(pid, [&](const std::string& file) {
        constexpr std::string_view socket = "socket:[";
        if (!file.starts_with(socket)) return true;
        const std::string_view number = std::string_view(file).substr(socket.size());
        const auto found = all.find(number_in(number.substr(0, number.size() - 1)));
        if (found != all.end()) own.push_back(found->second);
        return true;
    });
    std::ranges::sort(own, {}, [](const Connection& each) {
        return std::tuple(~(each.unsent + each.unread), each.peer);
    });
    own.resize(std::min(own.size(), max_connections));
    return own;
}

std::uint64_t parse_net_dev(std::string_view text) {
    std::uint64_t bytes = 0;
    while (!text.empty()) {
        std::string_view line = cut_until(text, '\n');
        const std::string_view name = trimmed(cut_until(line, ':'));
        // received: bytes packets errs drop fifo frame compressed multicast; sent: bytes ...
        const auto counts = words_in(line);
        if (counts.empty() || name == "lo") continue;
        bytes += number_in(counts[0]) + (counts.size() > 8 ? number_in(counts[8]) : 0);
    }
    return bytes;
}

std::uint64_t parse_process_io(std::string_view text) {
    return number_after(text, "rchar:") + number_after(text, "wchar:");
}

std::uint64_t read_port_bytes(const std::string& folder) {
    constexpr std::uint64_t word = 4;
    std::uint64_t bytes = 0;
    for_each_entry(folder, [&](const fs::path& hca) {
        for_each_entry(hca / "ports", [&](const fs::path& port) {
            const auto number = [&](const char* file) {
                return number_in(read_trimmed(port / file).value_or(""));
            };
            bytes += word * (number("counters/port_rcv_data") + number("counters/port_xmit_data"));
            bytes += number("hw_counters/rx_bytes") + number("hw_counters/tx_bytes");
            return true;
        });
        return true;
    });
    return bytes;
}

Traffic read_traffic(const std::vector<ProcessSample>& processes) {
    Traffic traffic{{0, read_bytes(0)}};
    for (const ProcessSample& process : processes) traffic[process.pid] = read_bytes(process.pid);
    return traffic;
}

std::uint64_t bytes_since(const Traffic& before) {
    std::uint64_t sum = 0;
    for (const auto& [pid, bytes] : before) sum += std::max(read_bytes(pid), bytes) - bytes;
    return sum;
}

bool exceeds_background_traffic(std::uint64_t bytes, double seconds, std::uint64_t ranks) {
    constexpr double per_node = 65'536;  // bytes a second
    constexpr double per_rank = 1024;
    return static_cast<double>(bytes) >
           seconds * (per_node + per_rank * static_cast<double>(ranks));
}

}  // namespace distgpu

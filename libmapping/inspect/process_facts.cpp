#include "inspect/process_facts.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

std::string path_of(pid_t pid, std::string_view file) {
    return formatted("/proc/{}/{}", pid, file);
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

// For 0, of the whole node.
std::uint64_t read_bytes(pid_t pid) {
    if (pid != 0) return parse_process_io(read_proc(pid, "io"));
    return parse_net_dev(read_proc(getpid(), "net/dev")) + read_port_bytes();
}

bool is_select(std::uint64_t number) {
#ifdef SYS_select  // of x86-64; glibc before 2.34 uses it
    if (number == SYS_select) return true;
#endif
    return number == SYS_pselect6;
}

}  // namespace

std::string read_proc(pid_t pid, std::string_view file) {
    const auto text = read_regular_file(path_of(pid, file));
    return text ? *text : "";
}

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

std::vector<pid_t> ProcessTree::below(pid_t pid) const {
    std::set<pid_t>
        found;  // each once: pids are read at different times, so parents may form a cycle
    std::vector<pid_t> open{pid};
    while (!open.empty()) {
        const auto [begin, end] = children.equal_range(open.back());
        open.pop_back();
        for (auto child = begin; child != end; ++child) {
            if (found.insert(child->second).second) open.push_back(child->second);
        }
    }
    return {found.begin(), found.end()};
}

bool ProcessTree::is_running(pid_t pid) const {
    const auto found = stats.find(pid);
    return found != stats.end() && found->second.state == 'R';
}

ProcessTree read_process_tree(std::span<const pid_t> except) {
    ProcessTree tree;
    for_each_entry("/proc", [&](const fs::path& entry) {
        const auto pid = static_cast<pid_t>(whole_number(entry.filename().native()).value_or(0));
        if (pid <= 0 || std::ranges::binary_search(except, pid)) return true;
        if (auto stat = read_stat(pid)) {
            tree.children.emplace(stat->parent, pid);
            tree.stats[pid] = *std::move(stat);
        }
        return true;
    });
    return tree;
}

Work read_work(pid_t pid, const std::vector<pid_t>& below, const ProcessTree& tree) {
    const std::string own = formatted("task/{}", pid);
    const auto process = read_stat(pid);
    const auto main = parse_stat(read_proc(pid, own + "/stat"));
    if (!process || !main) return {};
    Work work{.main_switches = switches_in(read_proc(pid, own + "/status")),
              .main_ticks = main->ticks,
              .ticks = process->ticks,
              .child_ticks = process->reaped_ticks,
              .file_bytes = parse_process_io(read_proc(pid, "io"))};
    for (const pid_t child : below) {
        const auto stat = tree.stats.find(child);
        if (stat == tree.stats.end()) continue;
        work.child_ticks += stat->second.ticks + stat->second.reaped_ticks;
        work.file_bytes += parse_process_io(read_proc(child, "io"));
    }
    return work;
}

std::string read_wait_channel(pid_t pid) {
    std::string name = read_proc(pid, "wchan");
    return name == "0" ? "" : name;
}

std::string read_system_call(pid_t pid) {
    // Those in which a program usually waits.
    constexpr std::array<std::pair<std::uint64_t, std::string_view>, 17> names{
        {{SYS_accept, "accept"},
         {SYS_clock_nanosleep, "clock_nanosleep"},
         {SYS_connect, "connect"},
         {SYS_epoll_pwait, "epoll_pwait"},
         {SYS_fcntl, "fcntl"},
         {SYS_flock, "flock"},
         {SYS_futex, "futex"},
         {SYS_ioctl, "ioctl"},
         {SYS_nanosleep, "nanosleep"},
         {SYS_openat, "openat"},
         {SYS_ppoll, "ppoll"},
         {SYS_pselect6, "pselect6"},
         {SYS_read, "read"},
         {SYS_recvfrom, "recvfrom"},
         {SYS_recvmsg, "recvmsg"},
         {SYS_wait4, "wait4"},
         {SYS_write, "write"}}};
    const std::string text = read_proc(pid, "syscall");  // "202 0x7f... ...", or "running", or "-1"
    const auto words = words_in(text);
    const auto number = words.empty() ? std::nullopt : whole_number_64(words[0]);
    if (!number) return "";
    const bool has_no_files = words.size() > 1 && words[1] == "0x0";  // "270 0x0 0x0 ..."
    if (is_select(*number) && has_no_files) return "sleep";
    const auto known = std::ranges::find(names, *number, &decltype(names)::value_type::first);
    return std::string(known == names.end() ? words[0] : known->second);
}

bool is_sleep(std::string_view wait_channel, std::string_view system_call) {
    return wait_channel.find("nanosleep") != std::string_view::npos ||
           system_call.ends_with("sleep");
}

std::set<pid_t> sleeping_threads(pid_t pid) {
    std::set<pid_t> sleeping;
    for_each_entry(path_of(pid, "task"), [&](const fs::path& path) {
        const auto thread = static_cast<pid_t>(number_in(path.filename().string()));
        if (is_sleep(read_wait_channel(thread), read_system_call(thread))) sleeping.insert(thread);
        return true;
    });
    return sleeping;
}

std::optional<EnvironmentCopy> read_environment(pid_t pid) {
    const auto text = read_regular_file(path_of(pid, "environ"));
    return text ? std::optional(EnvironmentCopy::from_block(*text)) : std::nullopt;
}

std::string read_maps(pid_t pid) {
    constexpr std::size_t max_size = std::size_t{64} << 20U;
    const auto maps = read_regular_file(path_of(pid, "maps"), max_size);
    return maps ? *maps : "";
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

std::uint64_t chatter_of(pid_t pid) {
    constexpr std::uint64_t of_horovod = std::uint64_t{1} << 20U;
    constexpr std::uint64_t of_nccl = 2048;
    const std::string maps = read_maps(pid);
    if (maps.find("/horovod/") != std::string::npos) return of_horovod;
    return maps.find("/libnccl") != std::string::npos ? of_nccl : 0;
}

void for_each_open_file(pid_t pid, const std::function<bool(const std::string&)>& visit) {
    for_each_entry(path_of(pid, "fd"), [&](const fs::path& file) {
        std::error_code error;  // if it was closed meanwhile
        return visit(fs::read_symlink(file, error));
    });
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
    std::uint64_t bytes = 0;
    for (const std::string_view key : {"rchar:", "wchar:", "read_bytes:", "write_bytes:"}) {
        bytes += number_after(text, key);
    }
    return bytes;
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

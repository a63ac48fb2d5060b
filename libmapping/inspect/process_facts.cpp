#include "inspect/process_facts.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

std::string path_of(pid_t pid, std::string_view file) {
    return formatted("/proc/{}/{}", pid, file);
}

std::optional<std::string> read_of(pid_t pid, std::string_view file) {
    const auto text = read_regular_file(path_of(pid, file));
    return text ? std::optional(*text) : std::nullopt;
}

// Also namespaces are files of their own.
bool is_same_file(const std::string& left, const std::string& right) {
    std::error_code error;
    return std::filesystem::equivalent(left, right, error);
}

// Of the thread whose `status` this is: those that it chose, and those that it did not.
std::uint64_t switches_in(const std::optional<std::string>& status) {
    const auto number = [&](std::string_view name) {
        return whole_number_64(value_after(status.value_or(""), name)).value_or(0);
    };
    return number("voluntary_ctxt_switches:") + number("nonvoluntary_ctxt_switches:");
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
    // The name may hold any byte, also ")".
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return std::nullopt;
    }
    std::istringstream fields{std::string(text.substr(close + 1))};
    ProcessStat stat;
    stat.name = text.substr(open + 1, close - open - 1);
    std::string skipped;
    const auto skip = [&](int count) {
        while (count-- > 0) fields >> skipped;
    };
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    std::uint64_t reaped_user = 0;
    std::uint64_t reaped_system = 0;
    constexpr int from_parent_to_user = 9;
    constexpr int from_reaped_to_begin = 4;
    fields >> stat.state >> stat.parent;
    skip(from_parent_to_user);
    fields >> user >> system >> reaped_user >> reaped_system;
    skip(from_reaped_to_begin);
    fields >> stat.begin;
    if (!fields) return std::nullopt;
    constexpr int from_begin_to_exit_code = 29;
    skip(from_begin_to_exit_code);
    int exit_code = 0;
    if (stat.state == 'Z' && fields >> exit_code) stat.exit_code = exit_code;
    stat.ticks = user + system;
    stat.reaped_ticks = reaped_user + reaped_system;
    stat.cpu = static_cast<double>(stat.ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return stat;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
    const auto text = read_of(pid, "stat");
    return text ? parse_stat(*text) : std::nullopt;
}

std::uint64_t read_switches(pid_t pid) {
    const std::string text = read_of(pid, "status").value_or("");
    return whole_number_64(value_after(text, "voluntary_ctxt_switches:")).value_or(0);
}

Work read_work(pid_t pid) {
    const std::string own = formatted("task/{}", pid);
    const auto process = read_stat(pid);
    const auto main = parse_stat(read_of(pid, own + "/stat").value_or(""));
    if (!process || !main) return {};
    Work work{switches_in(read_of(pid, own + "/status")), main->ticks, 0, process->ticks,
              process->reaped_ticks};
    constexpr std::size_t most_threads = 4096;
    std::size_t threads = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator each(path_of(pid, "task"), error), end;
         !error && each != end && threads < most_threads; each.increment(error), ++threads) {
        work.switches += switches_in(
            read_of(pid, formatted("task/{}/status", each->path().filename().native())));
    }
    return work;
}

std::string read_wait_channel(pid_t pid) {
    const std::string name = read_of(pid, "wchan").value_or("");
    return name == "0" ? "" : name;
}

StartEnvironment::StartEnvironment(pid_t pid) {
    auto text = read_of(pid, "environ");
    is_readable_ = text.has_value();
    text_ = std::move(text).value_or("");
}

std::optional<std::string> StartEnvironment::get(std::string_view name) const {
    std::string_view rest = text_;
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        if (item.size() > name.size() && item.starts_with(name) && item[name.size()] == '=') {
            return std::string(item.substr(name.size() + 1));
        }
    }
    return std::nullopt;
}

EnvironmentCopy StartEnvironment::variables() const {
    EnvironmentCopy::Variables variables;
    std::string_view rest = text_;
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0) continue;
        variables.emplace(item.substr(0, equals), item.substr(equals + 1));
    }
    return EnvironmentCopy(std::move(variables));
}

std::string read_command(pid_t pid) {
    constexpr std::size_t longest = 200;
    std::string words = read_of(pid, "cmdline").value_or("").substr(0, longest);
    while (words.ends_with('\0')) words.pop_back();
    std::replace(words.begin(), words.end(), '\0', ' ');
    return words;
}

std::string read_program(pid_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink(path_of(pid, "exe"), error);
}

std::optional<uid_t> read_owner(pid_t pid) {
    std::istringstream words{std::string(value_after(read_of(pid, "status").value_or(""), "Uid:"))};
    uid_t real = 0;
    uid_t effective = 0;
    words >> real >> effective;
    return words ? std::optional(effective) : std::nullopt;
}

std::string read_own_program(pid_t pid) {
    const std::string program = read_program(pid);
    const bool is_own = read_owner(pid) == geteuid() && is_same_file(path_of(pid, "root"), "/") &&
                        is_same_file(path_of(pid, "ns/user"), "/proc/self/ns/user") &&
                        is_same_file(path_of(pid, "ns/mnt"), "/proc/self/ns/mnt") &&
                        program.starts_with('/') && is_same_file(path_of(pid, "exe"), program);
    return is_own ? program : "";
}

std::vector<pid_t> list_processes() {
    std::vector<pid_t> pids;
    std::error_code error;
    for (std::filesystem::directory_iterator each("/proc", error), end; !error && each != end;
         each.increment(error)) {
        const auto pid = whole_number(each->path().filename().native());
        if (pid) pids.push_back(static_cast<pid_t>(*pid));
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

}  // namespace distgpu

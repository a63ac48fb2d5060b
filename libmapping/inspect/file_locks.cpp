#include "inspect/file_locks.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "inspect/process_facts.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>

namespace distgpu {
namespace {

constexpr int hexadecimal = 16;

template <class Number>
Number number_in(std::string_view text, int base) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

// Runs in a child process: "8 1 4711 812 node07": the file's device and inode, and its first line.
std::string read_lock_file(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return "";
    const auto text = read_regular_file(path);
    std::string_view line = text ? std::string_view(*text) : std::string_view();
    return formatted("{} {} {} {}", major(status.st_dev), minor(status.st_dev), status.st_ino,
                     cut_until(line, '\n'));
}

}  // namespace

std::vector<pid_t> lock_holders(std::string_view locks, const FileId& file) {
    std::set<pid_t> holders;
    while (!locks.empty()) {
        // "1: FLOCK  ADVISORY  WRITE 812 08:01:4711 0 EOF"; "1: -> FLOCK ..." for one that waits.
        const auto words = words_in(cut_until(locks, '\n'));
        if (words.size() < 6 || words[1] == "->") continue;
        std::string_view id = words[5];
        FileId locked;
        locked.major = number_in<unsigned>(cut_until(id, ':'), hexadecimal);
        locked.minor = number_in<unsigned>(cut_until(id, ':'), hexadecimal);
        locked.inode = number_in<std::uint64_t>(id, 10);
        if (locked == file) holders.insert(number_in<pid_t>(words[4], 10));
    }
    return {holders.begin(), holders.end()};
}

std::string lock_file_of(pid_t pid) {
    const std::string call = read_system_call(pid);
    if (call != "flock" && call != "fcntl") return "";
    const auto text = read_regular_file(formatted("/proc/{}/syscall", pid));
    const auto words = text ? words_in(*text) : std::vector<std::string_view>();
    if (words.size() < 2 || !words[1].starts_with("0x")) return "";
    std::error_code error;
    return std::filesystem::read_symlink(
        formatted("/proc/{}/fd/{}", pid, number_in<unsigned>(words[1].substr(2), hexadecimal)),
        error);
}

std::string describe_lock(const std::string& file, pid_t pid, const std::string& node) {
    constexpr std::chrono::milliseconds time_limit{500};
    constexpr std::size_t max_line = 60;
    const std::string path = formatted("/proc/{}/root{}", pid, file);
    const auto found =
        output_of_child([&path] { return read_lock_file(path); }, Clock::now() + time_limit);
    if (!found || found->empty()) return "";
    std::string_view rest = *found;
    FileId id;
    id.major = number_in<unsigned>(cut_until(rest, ' '), 10);
    id.minor = number_in<unsigned>(cut_until(rest, ' '), 10);
    id.inode = number_in<std::uint64_t>(cut_until(rest, ' '), 10);
    const auto locks = read_regular_file("/proc/locks");
    const auto holders = lock_holders(locks ? *locks : "", id);
    const std::string name = printable(file);
    if (holders.empty()) {
        const std::string line = printable(trimmed(rest).substr(0, max_line));
        return formatted("no process on {} has locked {}{}", node, name,
                         line.empty() ? "" : formatted(", which says \"{}\"", line));
    }
    const auto stat = read_stat(holders.back());
    return formatted("process {}{} on {} has locked {}", holders.back(),
                     stat ? formatted(" ({})", printable(stat->name)) : "", node, name);
}

}  // namespace distgpu

#include "inspect/traffic.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <array>
#include <filesystem>
#include <sstream>

namespace distgpu {
namespace {

std::uint64_t number_in(std::string_view text) {
    return whole_number_64(text).value_or(0);
}

std::uint64_t number_of(const std::filesystem::path& file) {
    return number_in(read_trimmed(file).value_or(""));
}

std::uint64_t read_process_io(pid_t pid) {
    const auto text = read_regular_file(formatted("/proc/{}/io", pid));
    return text ? parse_process_io(*text) : 0;
}

std::uint64_t read_wire_bytes() {
    const auto interfaces = read_regular_file("/proc/self/net/dev");
    return (interfaces ? parse_net_dev(*interfaces) : 0) + read_port_bytes();
}

std::uint64_t since(std::uint64_t before, std::uint64_t now) {
    return now > before ? now - before : 0;
}

}  // namespace

std::uint64_t parse_net_dev(std::string_view text) {
    std::uint64_t bytes = 0;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        std::istringstream name(line.substr(0, colon));
        std::string interface;
        name >> interface;
        if (interface == "lo") continue;
        std::istringstream fields(line.substr(colon + 1));
        std::array<std::string, 9> words;  // bytes packets errs drop fifo frame compressed
                                           // multicast; then the bytes that were sent
        for (std::string& word : words) fields >> word;
        bytes += number_in(words.front()) + number_in(words.back());
    }
    return bytes;
}

std::uint64_t parse_process_io(std::string_view text) {
    return number_in(value_after(text, "rchar:")) + number_in(value_after(text, "wchar:"));
}

std::uint64_t read_port_bytes(const std::string& folder) {
    constexpr std::uint64_t word = 4;
    std::uint64_t bytes = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator hca(folder, error), end; !error && hca != end;
         hca.increment(error)) {
        std::error_code none;
        for (std::filesystem::directory_iterator port(hca->path() / "ports", none);
             !none && port != end; port.increment(none)) {
            const auto& path = port->path();
            bytes += word * (number_of(path / "counters/port_rcv_data") +
                             number_of(path / "counters/port_xmit_data"));
            bytes +=
                number_of(path / "hw_counters/rx_bytes") + number_of(path / "hw_counters/tx_bytes");
        }
    }
    return bytes;
}

Traffic::Traffic(const std::vector<pid_t>& processes) : wire_(read_wire_bytes()) {
    for (const pid_t pid : processes) files_[pid] = read_process_io(pid);
}

std::uint64_t Traffic::bytes() const {
    std::uint64_t sum = since(wire_, read_wire_bytes());
    for (const auto& [pid, before] : files_) sum += since(before, read_process_io(pid));
    return sum;
}

bool is_at_work(std::uint64_t bytes, double seconds, std::uint64_t ranks) {
    constexpr double of_the_node = 65'536;  // bytes a second
    constexpr double of_a_rank = 1024;
    return static_cast<double>(bytes) >
           seconds * (of_the_node + of_a_rank * static_cast<double>(ranks));
}

}  // namespace distgpu

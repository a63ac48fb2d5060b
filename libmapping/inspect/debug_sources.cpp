#include "inspect/debug_sources.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/values.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_line = 4096;

// Sends a request and receives one line.
Result<std::string> request(const Socket& server, std::string_view text, Deadline deadline) {
    return send_all(server, text, deadline).and_then([&](std::monostate) {
        return receive_line(server, max_line, deadline);
    });
}

// All lines until the server closes the connection.
std::string receive_text(const Socket& server, Deadline deadline) {
    constexpr std::size_t max_size = 16'384;
    std::string text;
    while (text.size() < max_size) {
        const auto line = receive_line(server, max_line, deadline);
        if (!line) break;
        text += printable(*line).substr(0, max_size - text.size());
        text += '\n';
    }
    return text;
}

}  // namespace

Result<std::string> ask_ras(const std::string& address, Deadline deadline) {
    const auto parts = split_host_and_port(address);
    if (!parts || parts->port == 0 || parts->host.empty() ||
        !std::ranges::all_of(parts->host, is_host_character)) {
        return std::string();
    }
    const auto error = [&](std::string problem) {
        return Error{"NCCL's RAS at " + address, std::move(problem), ""};
    };
    const auto server = connect_to(std::string(parts->host), parts->port, deadline);
    if (!server) return std::string();
    // src/ras/ras_internal.h of NCCL 2.28; a server of another version answers with its own.
    const auto greeting = request(*server, "CLIENT PROTOCOL 2\n", deadline);
    if (!greeting) return error(greeting.error().problem);
    if (!greeting->starts_with("SERVER PROTOCOL ")) {
        return error("another program listens there");
    }
    // For ranks that do not answer; NCCL waits twice as long.
    const auto timeout = request(*server, "TIMEOUT 3\n", deadline);
    if (!timeout) return error(timeout.error().problem);
    const auto status = send_all(*server, "STATUS\n", deadline);
    if (!status) return error(status.error().problem);
    std::string text = receive_text(*server, deadline);
    if (text.empty()) return error("no answer");
    return text;
}

std::string flight_record_file(const Environment& environment, std::uint32_t rank, pid_t pid) {
    auto prefix = environment.get("TORCH_FR_DUMP_TEMP_FILE");
    // The variable's name up to torch 2.8.
    if (prefix.value_or("").empty()) prefix = environment.get("TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (prefix.value_or("").empty()) return "";
    const std::string file = formatted("{}{}", *prefix, rank);
    const bool is_absolute = file.starts_with('/');
    // In the process's own file system, which may be a container's.
    const std::string folder = formatted("/proc/{}/{}", pid, is_absolute ? "root" : "cwd");
    std::error_code error;
    if (!fs::is_regular_file(folder + "/" + file, error)) return "";
    return printable(is_absolute ? file : fs::read_symlink(folder, error).native() + "/" + file);
}

}  // namespace distgpu

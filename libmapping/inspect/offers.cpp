#include "inspect/offers.h"

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

constexpr std::size_t longest_line = 4096;

// A question and its one line of answer.
Result<std::string> ask(const Socket& server, std::string_view question, Deadline deadline) {
    return send_all(server, question, deadline).and_then([&](std::monostate) {
        return receive_line(server, longest_line, deadline);
    });
}

// All lines until the server closes the connection.
std::string receive_text(const Socket& server, Deadline deadline) {
    constexpr std::size_t longest = 16'384;
    std::string text;
    while (text.size() < longest) {
        const auto line = receive_line(server, longest_line, deadline);
        if (!line) break;
        text += printable(*line).substr(0, longest - text.size());
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
    const auto failed = [&](std::string problem) {
        return Error{"NCCL's RAS at " + address, std::move(problem), ""};
    };
    const auto server = connect_to(std::string(parts->host), parts->port, deadline);
    if (!server) return std::string();
    // src/ras/ras_internal.h of NCCL 2.28; a server of another version answers with its own.
    const auto greeting = ask(*server, "CLIENT PROTOCOL 2\n", deadline);
    if (!greeting) return failed(greeting.error().problem);
    if (!greeting->starts_with("SERVER PROTOCOL ")) {
        return failed("another program listens there");
    }
    // For ranks that do not answer, as NCCL counts it twice.
    const auto agreed = ask(*server, "TIMEOUT 3\n", deadline);
    if (!agreed) return failed(agreed.error().problem);
    const auto asked = send_all(*server, "STATUS\n", deadline);
    if (!asked) return failed(asked.error().problem);
    std::string text = receive_text(*server, deadline);
    if (text.empty()) return failed("no answer");
    return text;
}

std::string flight_record(const Environment& environment, std::uint32_t rank, pid_t pid) {
    auto prefix = environment.get("TORCH_FR_DUMP_TEMP_FILE");
    // The name up to torch 2.8.
    if (prefix.value_or("").empty()) prefix = environment.get("TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (prefix.value_or("").empty()) return "";
    const std::string file = formatted("{}{}", *prefix, rank);
    const bool is_absolute = file.starts_with('/');
    // As the process itself finds the file, in a container too.
    const std::string folder = formatted("/proc/{}/{}", pid, is_absolute ? "root" : "cwd");
    std::error_code error;
    if (!fs::is_regular_file(folder + "/" + file, error)) return "";
    return printable(is_absolute ? file : fs::read_symlink(folder, error).native() + "/" + file);
}

}  // namespace distgpu

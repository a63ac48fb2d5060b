#include "exec/readiness.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/values.h"

namespace distgpu {

std::string url_of(const HealthCheck& check) {
    return formatted("http://{}", host_and_port(check.host, check.port));
}

bool is_healthy(const HealthCheck& check) {
    constexpr std::size_t longest_line = 1024;
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto socket = connect_to(check.host, check.port, deadline);
    if (!socket) return false;
    const std::string request =
        formatted("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", check.path,
                  host_and_port(check.host, check.port));
    if (!send_all(*socket, request, deadline)) return false;
    const auto answer = receive_line(*socket, longest_line, deadline);
    return answer && answer->starts_with("HTTP/1.") && answer->substr(8, 5) == " 200 ";
}

}  // namespace distgpu

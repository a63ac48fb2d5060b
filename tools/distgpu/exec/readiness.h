// Whether a server answers yet.
#pragma once

#include <cstdint>
#include <string>

namespace distgpu {

struct HealthCheck {
    std::string host;  // a name or an address
    std::uint16_t port = 0;
    std::string path;  // "/health"
};

// "http://10.0.0.1:8000"
std::string url_of(const HealthCheck& check);

// Whether it answers a GET of the path with status 200. Waits for half a second at the most.
bool is_healthy(const HealthCheck& check);

}  // namespace distgpu

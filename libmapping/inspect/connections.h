// The TCP connections of a process.
#pragma once

#include "inspect/look.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Up to 16 of them, those in which the most bytes wait first. Reads /proc/PID/fd, which is empty
// where it may not be read.
std::vector<Connection> open_connections(pid_t pid);

// Of /proc/PID/net/tcp or tcp6 (proc(5)): by inode, those that are established.
std::map<std::uint64_t, Connection> parse_tcp(std::string_view text);

}  // namespace distgpu

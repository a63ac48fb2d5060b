// What was seen of one rank, beside its stack: for the ranks that are odd.
#pragma once

#include "base/json_text.h"
#include "inspect/ranks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

struct RankDetails {
    std::uint32_t rank = 0;
    std::string node;
    pid_t pid = 0;
    std::string command{};
    char state = '?';                      // at the last moment
    std::string wait_channel{};            // the same
    double cpu = 0;                        // of a second
    std::uint64_t wakings = 0;             // in all
    std::vector<std::string> launchers{};  // "700 torchrun train.py", the outermost first
    std::vector<std::string> children{};   // "812 python3 (S)", by their numbers
    std::vector<Connection> connections{};
    std::vector<GpuLook> gpus{};  // that it may use, and that are known

    bool operator==(const RankDetails&) const = default;
};

// Those that the rank may use and that are known.
std::vector<GpuLook> gpus_of(const RankLook& rank);

RankDetails details_of(const RankLook& rank);

// A process that has ended and that nobody has waited for. Which rank it was, the kernel no longer
// tells.
struct EndedProcess {
    std::string node;
    pid_t pid = 0;
    std::string name;
    std::string how;  // "was killed by signal 9 (SIGKILL)", "ended with status 1"

    bool operator==(const EndedProcess&) const = default;
};
std::vector<EndedProcess> ended_processes(const std::vector<NodeLook>& looks);

// A few lines, indented, with the process first.
std::string to_text(const RankDetails& details);

JsonText to_json(const RankDetails& details);
JsonText to_json(const EndedProcess& ended);

}  // namespace distgpu

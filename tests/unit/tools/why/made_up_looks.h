// What a node might have seen of a training's ranks.
#pragma once

#include "inspect/node_sample.h"

#include <string>
#include <utility>
#include <vector>

namespace distgpu {

inline const std::string torch_file =
    "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";

// all_reduce (train.py:88)
inline Stack waiting(const std::string& collective = "all_reduce") {
    return {{"<module>", "/home/u/train.py", 90},
            {"train", "/home/u/train.py", 88},
            {collective, torch_file, 2810}};
}

// load_batch (data.py:41)
inline Stack astray(const std::string& function = "load_batch") {
    return {{"<module>", "/home/u/train.py", 90}, {function, "/home/u/data.py", 41}};
}

// What one process did between two moments.
struct Doing {
    Stack stack{};  // empty: not known
    std::string states = "SS";
    double cpu = 0;             // seconds that it used
    std::uint64_t wakeups = 0;  // of the last moment
    std::string channel{};
    Stack before{};  // empty: the same
};

inline std::optional<std::uint32_t> add_stack(NodeSample& look, const Stack& stack) {
    if (stack.empty()) return std::nullopt;
    look.stacks.push_back(stack);
    return static_cast<std::uint32_t>(look.stacks.size() - 1);
}

inline ProcessSample& add_process(NodeSample& look, pid_t pid, const Doing& doing) {
    ProcessSample process;
    process.pid = pid;
    process.parent = 1;
    process.begin = static_cast<std::uint64_t>(pid);
    process.name = "python3";
    process.is_python = true;
    const auto last = add_stack(look, doing.stack);
    const auto before = doing.before.empty() ? last : add_stack(look, doing.before);
    process.moments = {
        {.state = doing.states.at(0), .cpu = 1, .wait_channel = doing.channel, .stack = before},
        {.state = doing.states.at(1),
         .cpu = 1 + doing.cpu,
         .wakeups = doing.wakeups,
         .wait_channel = doing.channel,
         .stack = last}};
    look.processes.push_back(std::move(process));
    return look.processes.back();
}

// Looked at for three seconds. Ranks from `first` on, each a task of Slurm's.
inline NodeSample made_up_look(const std::string& node, std::uint32_t first,
                               const std::vector<Doing>& ranks) {
    NodeSample look{.node = node, .times = {0.5, 3.5}};
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
        look.tasks.push_back(first + i);
        add_process(look, static_cast<pid_t>(100 + i), ranks[i]).task = first + i;
    }
    return look;
}

}  // namespace distgpu

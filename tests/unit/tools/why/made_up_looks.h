// What a node might have seen of a training's ranks.
#pragma once

#include "inspect/node_sample.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

inline const std::string packages = "/venv/lib/python3.11/site-packages/";
inline const std::string torch_file = packages + "torch/distributed/distributed_c10d.py";

// all_reduce (train.py:88)
inline Stack waiting(const std::string& collective = "all_reduce") {
    return {{"<module>", "/home/u/train.py", 90},
            {"train", "/home/u/train.py", 88},
            {collective, torch_file, 2810}};
}

// load_batch (data.py:41)
inline Stack astray(const std::string& function = "load_batch", std::uint32_t line = 41) {
    return {{"<module>", "/home/u/train.py", 90}, {function, "/home/u/data.py", line}};
}

// What one process did. Each list has an item for each moment; its last one counts for the rest.
struct Doing {
    std::vector<Stack> stacks{};  // an empty one is unknown
    std::string states = "S";
    std::vector<std::string> variables{};
    Work work{};  // from the first moment to the second
    std::string channel{};
    std::string call{};
    bool holds_gil = false;
    bool has_request = false;
    Stack native{};  // at the last moment; empty: unknown
};

// Of the main thread.
inline Work used_cpu(double seconds) {
    const auto ticks = static_cast<std::uint64_t>(100 * seconds);
    return {.main_ticks = ticks, .ticks = ticks};
}
inline Work woke(std::uint64_t times) {
    return {.main_switches = times};
}

inline std::optional<std::uint32_t> add_stack(NodeSample& look, const Stack& stack) {
    if (stack.empty()) return std::nullopt;
    const auto found = std::ranges::find(look.stacks, stack);
    const auto index = static_cast<std::uint32_t>(found - look.stacks.begin());
    if (found == look.stacks.end()) look.stacks.push_back(stack);
    return index;
}

template <class Items>
auto item_at(const Items& items, std::size_t moment) {
    using Item = typename Items::value_type;
    return items.empty() ? Item() : items[std::min(moment, items.size() - 1)];
}

// To read its stack made the process switch and compute at each moment.
inline std::vector<Moment> moments_of(NodeSample& look, const Doing& doing) {
    std::vector<Moment> moments;
    Work work{.main_switches = 40, .main_ticks = 100, .ticks = 100};
    for (std::size_t i = 0; i < look.times.size(); ++i) {
        Moment moment{.state = item_at(doing.states, i),
                      .wait_channel = doing.channel,
                      .system_call = doing.call,
                      .stack = add_stack(look, item_at(doing.stacks, i)),
                      .variables = item_at(doing.variables, i),
                      .holds_gil = doing.holds_gil,
                      .has_request = doing.has_request};
        if (i == 1) {
            for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::ticks,
                                     &Work::child_ticks, &Work::file_bytes, &Work::peer_bytes}) {
                work.*count += doing.work.*count;
            }
        }
        moment.before = work;
        work.main_switches += 7;
        work.main_ticks += 50;
        work.ticks += 50;
        moment.after = work;
        moments.push_back(std::move(moment));
    }
    return moments;
}

inline ProcessSample& add_process(NodeSample& look, pid_t pid, const Doing& doing) {
    ProcessSample process{.pid = pid,
                          .parent = 1,
                          .begin = static_cast<std::uint64_t>(pid),
                          .name = "python3",
                          .is_python = true,
                          .moments = moments_of(look, doing),
                          .native = add_stack(look, doing.native)};
    look.processes.push_back(std::move(process));
    return look.processes.back();
}

// Looked at for three seconds. Ranks from `first` on, each a task of Slurm's.
inline NodeSample made_up_look(const std::string& node, std::uint32_t first,
                               const std::vector<Doing>& ranks,
                               const std::vector<double>& times = {0.5, 1.5, 2.5, 3.5}) {
    NodeSample look{.node = node, .times = times};
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
        look.tasks.push_back(first + i);
        add_process(look, static_cast<pid_t>(100 + i), ranks[i]).task = first + i;
    }
    return look;
}

}  // namespace distgpu

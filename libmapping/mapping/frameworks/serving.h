// What the modes share whose program `distgpu exec` starts on every node: ports, variables and
// refusals.
#pragma once

#include "mapping/frameworks/common.h"
#include "mapping/frameworks/program_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu::contract {

// The ports from MASTER_PORT on that such a step has: all of a slot.
inline constexpr std::uint16_t service_ports = 16;

// One whose program is a server. Killed, vLLM and SGLang leave temporary files, and not only then;
// their sockets among these have names of up to 37 bytes, of 107 that the system takes.
constexpr Service server(std::span<const ProgramOption> options) {
    return {.options = options,
            .folder_variable = "TMPDIR",
            .longest_folder = 70,
            .host_option = "--host",
            .port_option = "--port",
            .health = "/health"};
}

inline std::string port_behind(const TaskContext& task, std::uint16_t offset) {
    return std::to_string(task.master_port + offset);
}

inline Value node_address(const TaskContext& task) {
    return std::string(task.node_address);
}

// By these `distgpu exec` knows its place in a task that the plugin prepared. Its program gets them
// as options, and not as variables.
inline constexpr std::array service_rendezvous{
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
    SetVariable{"NODE_ADDR", "this node's address, for `distgpu exec`", node_address},
};

// One of the sizes of a model's parallel layout, as the user writes it.
struct ParallelSize {
    std::string_view names;  // between blanks, the usual one first
};

// Whether it is a program that `distgpu exec` has to start, and does not; and the words for that.
bool lacks_exec(const StepView& step);
Error without_exec(const StepView& step);

// Refuses several tasks on a node; the program without `distgpu exec` before it, or within a
// shell's text, to which nothing can be appended; an option that is each node's own.
std::optional<Error> no_service(const StepView& step);

// Refuses sizes whose product the step's nodes cannot share out evenly. Sizes that are not given
// are 1; without any of them nothing is known.
std::optional<Error> uneven_sizes(const StepView& step, std::span<const ParallelSize> sizes);

}  // namespace distgpu::contract

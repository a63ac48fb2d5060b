// What the modes share whose program `distgpu exec` starts on every node (ray, vllm, sglang):
// command lines, ports, variables and refusals.
#pragma once

#include "mapping/frameworks/common.h"

namespace distgpu {

// A command line, without `distgpu exec [SPEC] --` before it.
struct StartedProgram {
    std::span<const std::string> words;
    bool by_exec = false;  // `distgpu exec` stood before it
};
StartedProgram started_program(std::span<const std::string> command_line);

// The last value of an option in `words`, as in "--port=8000" or "--port 8000". `names`: its names,
// separated by blanks; '_' counts as '-'. nullopt if the option is absent; empty if it has no
// value.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            std::string_view names);

// The same for an option of a service.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            const ProgramOption& option);

// The options that distgpu adds for this node's program, without those that the user gave.
std::vector<std::string> service_options(const Service& service, const TaskContext& task);

namespace contract {

// The number of ports of such a step, from MASTER_PORT on: a whole slot.
inline constexpr std::uint16_t service_ports = 16;

// A service whose program is a server. vLLM and SGLang leave temporary files behind, not only when
// killed. Among them are sockets with names of up to 37 bytes; the system allows 107 for a path.
constexpr Service server(std::span<const ProgramOption> options) {
    return {.options = options,
            .folder_variable = "TMPDIR",
            .max_folder_length = 70,
            .host_option = "--host",
            .port_option = "--port",
            .health_path = "/health"};
}

template <std::uint16_t offset>
Value port(const TaskContext& task) {
    return std::to_string(task.master_port + offset);
}

// A value that only the program on rank 0's node gets.
template <Value (*get)(const TaskContext&)>
Value of_rank0(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? get(task) : std::nullopt;
}

inline constexpr auto node_address = value_of<&TaskContext::node_address>;

// From these variables, `distgpu exec` reads its place in a task that the plugin prepared. Its
// program gets options instead.
inline constexpr auto service_rendezvous = std::to_array<SetVariable>({
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
    {"NODE_ADDR", "this node's address, for `distgpu exec`", node_address},
});

// Whether the program needs `distgpu exec` before it but lacks it, and the error for that.
bool lacks_exec(const StepView& step);
Error missing_exec_error(const StepView& step);

// Refuses several tasks on a node; a program without `distgpu exec` before it, or within a shell's
// text, to which no options can be appended; an option that needs another value on each node.
std::optional<Error> refuse_service(const StepView& step);

// Refuses sizes of a model's parallel layout whose product is not a multiple of the step's nodes.
// `sizes`: the names of each option, separated by blanks, the usual one first. Sizes that are not
// given are 1; if none is given, no step is refused.
std::optional<Error> refuse_uneven_sizes(const StepView& step, std::span<const Text> sizes);

}  // namespace contract

}  // namespace distgpu

// The modes whose program `distgpu exec` starts on every node (ray, vllm, sglang): their command
// lines, ports, variables and refusals.
#pragma once

#include "mapping/frameworks/common.h"

namespace distgpu {

// A command line, without `distgpu exec [SPEC] --` before it.
struct StartedProgram {
    std::span<const std::string> words;
    bool by_exec = false;  // `distgpu exec` stood before it
};
StartedProgram started_program(std::span<const std::string> command_line);

// The last value that `words` give the option whose name is one of `names`, which stand between
// blanks, as "--port=8000" or "--port 8000"; '_' counts as '-'. Nothing: it is not there; empty: no
// value stands behind it.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            std::string_view names);

// The same of one of the service's options.
std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            const ProgramOption& option);

// What this node's program gets besides: no option that the user gave it.
std::vector<std::string> options_of(const Service& service, const TaskContext& task);

namespace contract {

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

template <std::uint16_t offset>
Value port(const TaskContext& task) {
    return std::to_string(task.master_port + offset);
}

// What the program on rank 0's node gets alone.
template <Value (*get)(const TaskContext&)>
Value of_rank0(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? get(task) : std::nullopt;
}

inline constexpr auto node_address = value_of<&TaskContext::node_address>;

// By these `distgpu exec` knows its place in a task that the plugin prepared. Its program gets them
// as options, and not as variables.
inline constexpr auto service_rendezvous = std::to_array<SetVariable>({
    master_addr_variable,
    master_port_variable,
    node_rank_variable,
    {"NODE_ADDR", "this node's address, for `distgpu exec`", node_address},
});

// Whether it is a program that `distgpu exec` has to start, and does not; and the words for that.
bool lacks_exec(const StepView& step);
Error without_exec(const StepView& step);

// Refuses several tasks on a node; the program without `distgpu exec` before it, or within a
// shell's text, to which nothing can be appended; an option that is each node's own.
std::optional<Error> no_service(const StepView& step);

// Refuses sizes of a model's parallel layout whose product the step's nodes cannot share out
// evenly. `sizes`: the names of each option between blanks, the usual one first. Sizes that are not
// given are 1; without any of them nothing is known.
std::optional<Error> uneven_sizes(const StepView& step, std::span<const std::string_view> sizes);

}  // namespace contract

}  // namespace distgpu

// vLLM's server on one node or several, without Ray: one `vllm serve` a node, which starts a worker
// for each of its GPUs. Source: vllm/engine/arg_utils.py and vllm/config/parallel.py (0.33); it
// reads neither the node's rank nor the head's address from the environment, takes MASTER_ADDR for
// nothing, and looks for its own address by a route to 8.8.8.8 where VLLM_HOST_IP is not set.
#include "mapping/frameworks/registry.h"
#include "mapping/frameworks/serving.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::uint16_t api_offset = 1;
constexpr std::uint16_t data_parallel_offset = 2;

constexpr std::string_view data_parallel_size = "--data-parallel-size -dp";

bool one_node(const TaskContext& task) {
    return task.node_count == 1;
}

// Of a model that has to be dealt to several nodes.
template <Value (*Get)(const TaskContext&)>
Value on_several_nodes(const TaskContext& task) {
    return one_node(task) ? std::nullopt : Get(task);
}

Value multiprocessing(const TaskContext& /*task*/) {
    return "mp";
}
Value headless(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? Value() : "";
}
Value api_host(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? node_address(task) : std::nullopt;
}
Value api_port(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? Value(port_behind(task, api_offset)) : std::nullopt;
}

bool is_data_parallel(const TaskContext& task) {
    const auto program = started_program(task.step->facts.program).words;
    const auto size = given_value(program, data_parallel_size);
    return !one_node(task) && size && *size != "1";
}
Value data_parallel_address(const TaskContext& task) {
    return is_data_parallel(task) ? master_address(task) : std::nullopt;
}
Value data_parallel_port(const TaskContext& task) {
    return is_data_parallel(task) ? Value(port_behind(task, data_parallel_offset)) : std::nullopt;
}

constexpr std::string_view executor = "--distributed-executor-backend";

constexpr std::array options{
    ProgramOption{executor, "", "mp: vLLM's own workers, not Ray's; on several nodes",
                  on_several_nodes<multiprocessing>},
    ProgramOption{"--nnodes", "-n", "number of nodes in the step, if there are several",
                  on_several_nodes<node_count>},
    ProgramOption{"--node-rank", "-r", "this node's number, from 0", on_several_nodes<node_rank>,
                  true},
    ProgramOption{"--master-addr", "", "address of the node that runs rank 0",
                  on_several_nodes<master_address>},
    ProgramOption{"--master-port", "", "port on which rank 0's node serves the rendezvous",
                  on_several_nodes<master_port>},
    ProgramOption{"--headless", "", "on all nodes but rank 0's, which alone answers requests",
                  headless},
    ProgramOption{"--host", "", "rank 0's node: its address, on which it answers requests",
                  api_host},
    ProgramOption{"--port", "", "rank 0's node: the port of its API, the one behind MASTER_PORT",
                  api_port},
    ProgramOption{"--data-parallel-address", "-dpa",
                  "address of rank 0's node, where you gave --data-parallel-size",
                  data_parallel_address},
    ProgramOption{"--data-parallel-rpc-port", "-dpp",
                  "the second port behind MASTER_PORT, where you gave --data-parallel-size",
                  data_parallel_port},
};

constexpr Service service = server(options);

constexpr auto sets = joined(
    service_rendezvous,
    std::array{SetVariable{"VLLM_HOST_IP", "this node's address, by which its workers are reached",
                           node_address}});

constexpr auto unsets =
    joined(launcher_unsets,
           std::array{UnsetVariable{"VLLM_DP_*",
                                    "the data-parallel rank of an outer server would be its "
                                    "own"}});

constexpr std::array<std::string_view, 2> launchers{"vllm serve",
                                                    "python -m vllm.entrypoints.openai.api_server"};

// Another way of starting the workers is another mode's.
std::optional<Error> other_executor(const StepView& step) {
    const auto program = started_program(step.facts.program).words;
    const auto backend = given_value(program, executor);
    if (backend == "external_launcher") {
        return Error{formatted("{} external_launcher", executor),
                     "it wants one process for each GPU, which --distgpu=vllm does not start",
                     "use --distgpu=pytorch with a task for each GPU, without distgpu exec"};
    }
    if (backend == "ray") {
        return Error{formatted("{} ray", executor), "--distgpu=vllm starts no Ray",
                     "leave it out: vLLM's own workers reach over all nodes of the step"};
    }
    return std::nullopt;
}

constexpr std::array sizes{ParallelSize{"--tensor-parallel-size -tp"},
                           ParallelSize{"--pipeline-parallel-size -pp"},
                           ParallelSize{data_parallel_size}};

std::optional<Error> refuse(const StepView& step) {
    if (auto error = no_service(step)) return error;
    if (auto error = other_executor(step)) return error;
    return uneven_sizes(step, sizes);
}

// Within the CPUs that are left to it, numactl may find none of a GPU's.
std::optional<Error> bound_twice(const StepView& step) {
    const Request& request = step.request;
    const bool kept = request.cpus ? request.cpus == BindingChoice::keep : request.keep_all;
    const auto program = started_program(step.facts.program).words;
    if (kept || !given_value(program, "--numa-bind")) return std::nullopt;
    return Error{"--numa-bind", "both vLLM and distgpu would choose CPUs near the GPUs",
                 "leave it out, or use --distgpu=vllm,cpus=keep"};
}

}  // namespace

const Framework vllm{
    .mode = "vllm",
    .summary = "vLLM's server, one per node, started by distgpu exec",
    .launcher_per_node = true,
    .launchers = launchers,
    .service = &service,
    .ports = service_ports,
    .sets = sets,
    .unsets = unsets,
    .refuse = refuse,
    .warn = bound_twice,
};

}  // namespace distgpu

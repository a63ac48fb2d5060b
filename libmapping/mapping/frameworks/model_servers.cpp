// Model servers, one per node, which start a worker for each of its GPUs: vLLM and SGLang.
#include "mapping/frameworks/service.h"

namespace distgpu {
namespace {

using namespace contract;

// vLLM, without Ray. Source: vllm/engine/arg_utils.py and vllm/config/parallel.py (0.33). It reads
// neither the node's rank nor the head's address from the environment, ignores MASTER_ADDR, and
// derives its own address from a route to 8.8.8.8 if VLLM_HOST_IP is not set.

constexpr std::string_view data_parallel_size = "--data-parallel-size -dp";
constexpr Text executor = "--distributed-executor-backend";

template <Value (*get)(const TaskContext&)>
Value on_several_nodes(const TaskContext& task) {
    return task.node_count == 1 ? std::nullopt : get(task);
}
template <Value (*get)(const TaskContext&)>
Value if_data_parallel(const TaskContext& task) {
    const auto program = started_program(task.step->facts.program).words;
    const auto size = given_value(program, data_parallel_size);
    return task.node_count > 1 && size && *size != "1" ? get(task) : std::nullopt;
}
Value headless(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? Value() : "";
}

constexpr auto vllm_options = std::to_array<ProgramOption>({
    {executor, "", "mp: vLLM's own workers, not Ray's; on several nodes",
     on_several_nodes<constant<"mp">>},
    {"--nnodes", "-n", "number of nodes in the step, if there are several",
     on_several_nodes<node_count>},
    {"--node-rank", "-r", "this node's number, from 0", on_several_nodes<node_rank>, true},
    {"--master-addr", "", "address of the node that runs rank 0", on_several_nodes<master_address>},
    {"--master-port", "", "port on which rank 0's node serves the rendezvous",
     on_several_nodes<master_port>},
    {"--headless", "", "on all nodes but rank 0's, which alone answers requests", headless},
    {"--host", "", "rank 0's node: its address, on which it answers requests",
     of_rank0<node_address>},
    {"--port", "", "rank 0's node: the port of its API, the one after MASTER_PORT",
     of_rank0<port<1>>},
    {"--data-parallel-address", "-dpa",
     "address of rank 0's node, if you gave --data-parallel-size",
     if_data_parallel<master_address>},
    {"--data-parallel-rpc-port", "-dpp",
     "the second port after MASTER_PORT, if you gave --data-parallel-size",
     if_data_parallel<port<2>>},
});
constexpr Service vllm_service = server(vllm_options);

constexpr auto vllm_sets = joined(
    service_rendezvous,
    std::to_array<SetVariable>(
        {{"VLLM_HOST_IP", "this node's address, by which its workers are reached", node_address}}));

constexpr auto vllm_unsets =
    joined(launcher_unsets,
           std::to_array<UnsetVariable>({{"VLLM_DP_*",
                                          "it would use the data-parallel rank of an outer "
                                          "server"}}));

constexpr auto vllm_sizes =
    words<"--tensor-parallel-size -tp", "--pipeline-parallel-size -pp", "--data-parallel-size -dp">;

std::optional<Error> refuse_vllm(const StepView& step) {
    if (auto error = refuse_service(step)) return error;
    const auto program = started_program(step.facts.program).words;
    const auto backend = given_value(program, executor);
    if (backend == "external_launcher") {
        return Error{formatted("{} external_launcher", executor),
                     "it needs one process for each GPU, which --distgpu=vllm does not start",
                     "use --distgpu=pytorch with a task for each GPU, without distgpu exec"};
    }
    if (backend == "ray") {
        return Error{formatted("{} ray", executor), "--distgpu=vllm does not start Ray",
                     "leave it out: vLLM's own workers use all nodes of the step"};
    }
    return refuse_uneven_sizes(step, vllm_sizes);
}

// Warns about --numa-bind: numactl may find none of a GPU's CPUs among those that distgpu leaves.
std::optional<Error> warn_numa_bind(const StepView& step) {
    const Request& request = step.request;
    const bool keeps_cpus = request.cpus ? request.cpus == BindingChoice::keep : request.keep_all;
    const auto program = started_program(step.facts.program).words;
    if (keeps_cpus || !given_value(program, "--numa-bind")) return std::nullopt;
    return Error{"--numa-bind", "both vLLM and distgpu would choose CPUs near the GPUs",
                 "leave it out, or use --distgpu=vllm,cpus=keep"};
}

// SGLang. Source: sglang/srt/server_args.py (0.5.23). With data-parallel attention it also uses the
// six ports after --dist-init-addr, and with its Rust server one more for each data-parallel rank,
// so the API's port follows these. Without --nccl-port it draws one of 22000 to 29999, which other
// steps may use. An inherited MASTER_ADDR overrides --dist-init-addr (bootstrap.py), so `distgpu
// exec` removes it.

constexpr auto sglang_options = std::to_array<ProgramOption>({
    {"--nnodes", "", "number of nodes in the step", node_count},
    {"--node-rank", "", "this node's number, from 0", node_rank, true},
    {"--dist-init-addr", "--nccl-init-addr",
     "MASTER_ADDR:MASTER_PORT, where rank 0's node serves the rendezvous", master_endpoint},
    {"--host", "", "this node's address, on which rank 0's node answers requests", node_address},
    // On the other nodes, SGLang's dummy server there answers only health checks.
    {"--port", "", "the port of its API, the 13th after MASTER_PORT", port<13>},
    {"--nccl-port", "", "the 14th port after MASTER_PORT", port<14>},
});
constexpr Service sglang_service = server(sglang_options);

constexpr auto sglang_sets =
    joined(service_rendezvous,
           std::to_array<SetVariable>(
               {{"SGLANG_HOST_IP", "this node's address, by which its workers are reached",
                 node_address}}));

constexpr auto sglang_unsets = joined(
    launcher_unsets, std::to_array<UnsetVariable>({{"SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE",
                                                    "it overrides --dist-init-addr"}}));

constexpr auto sglang_sizes =
    words<"--tp-size --tp --tensor-parallel-size", "--pp-size --pp --pipeline-parallel-size">;

std::optional<Error> refuse_sglang(const StepView& step) {
    if (auto error = refuse_service(step)) return error;
    return refuse_uneven_sizes(step, sglang_sizes);
}

}  // namespace

const Framework vllm{
    .mode = "vllm",
    .summary = "vLLM's server, one per node, started by distgpu exec",
    .launcher_per_node = true,
    .launchers = words<"vllm serve", "python -m vllm.entrypoints.openai.api_server">,
    .service = &vllm_service,
    .ports = service_ports,
    .sets = vllm_sets,
    .unsets = vllm_unsets,
    .refuse = refuse_vllm,
    .warn = warn_numa_bind,
};

const Framework sglang{
    .mode = "sglang",
    .summary = "SGLang's server, one per node, started by distgpu exec",
    .launcher_per_node = true,
    .launchers = words<"python -m sglang.launch_server", "sglang serve">,
    .service = &sglang_service,
    .ports = service_ports,
    .sets = sglang_sets,
    .unsets = sglang_unsets,
    .refuse = refuse_sglang,
};

}  // namespace distgpu

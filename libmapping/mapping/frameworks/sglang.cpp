// SGLang's server, one `python -m sglang.launch_server` a node. Source: sglang/srt/server_args.py
// (0.5.23): with attention's data parallelism the six ports behind --dist-init-addr are taken too,
// and with its Rust server one more for each rank of it, so that the API's port stands behind
// these; without --nccl-port it draws one of 22000 to 29999, where other steps may have theirs. An
// inherited MASTER_ADDR wins over --dist-init-addr (bootstrap.py), so `distgpu exec` removes it.
#include "base/values.h"
#include "mapping/frameworks/registry.h"
#include "mapping/frameworks/serving.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::uint16_t api_offset = 13;
constexpr std::uint16_t nccl_offset = 14;

Value rendezvous_endpoint(const TaskContext& task) {
    return host_and_port(task.master_address, task.master_port);
}
// On the other nodes a dummy that answers to nothing but health checks.
Value api_port(const TaskContext& task) {
    return port_behind(task, api_offset);
}
Value nccl_port(const TaskContext& task) {
    return port_behind(task, nccl_offset);
}

constexpr std::array options{
    ProgramOption{"--nnodes", "", "number of nodes in the step", node_count},
    ProgramOption{"--node-rank", "", "this node's number, from 0", node_rank, true},
    ProgramOption{"--dist-init-addr", "--nccl-init-addr",
                  "MASTER_ADDR:MASTER_PORT, where rank 0's node serves the rendezvous",
                  rendezvous_endpoint},
    ProgramOption{"--host", "", "this node's address, on which rank 0's node answers requests",
                  node_address},
    ProgramOption{"--port", "", "the port of its API, the 13th behind MASTER_PORT", api_port},
    ProgramOption{"--nccl-port", "", "the 14th port behind MASTER_PORT", nccl_port},
};

constexpr Service service = server(options);

constexpr auto sets = joined(
    service_rendezvous,
    std::array{SetVariable{"SGLANG_HOST_IP",
                           "this node's address, by which its workers are reached", node_address}});

constexpr auto unsets =
    joined(launcher_unsets, std::array{UnsetVariable{"SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE",
                                                     "it wins over --dist-init-addr"}});

constexpr std::array<std::string_view, 2> launchers{"python -m sglang.launch_server",
                                                    "sglang serve"};

constexpr std::array sizes{ParallelSize{"--tp-size --tp --tensor-parallel-size"},
                           ParallelSize{"--pp-size --pp --pipeline-parallel-size"}};

std::optional<Error> refuse(const StepView& step) {
    if (auto error = no_service(step)) return error;
    return uneven_sizes(step, sizes);
}

}  // namespace

const Framework sglang{
    .mode = "sglang",
    .summary = "SGLang's server, one per node, started by distgpu exec",
    .launcher_per_node = true,
    .launchers = launchers,
    .service = &service,
    .ports = service_ports,
    .sets = sets,
    .unsets = unsets,
    .refuse = refuse,
};

}  // namespace distgpu

// Ray: a private cluster of the step, with `ray start` on every node and the user's program as the
// driver on rank 0's. Source: ray/scripts/scripts.py and ray/dashboard/consts.py (2.60). Every port
// that can be set is one of the step's, and the kernel chooses those of the workers, so that two
// jobs on a node share nothing. By default Ray would use the machine's CPUs, GPUs and memory, not
// the step's.
#include "mapping/frameworks/service.h"

namespace distgpu {
namespace {

using namespace contract;

Value endpoint_of_head(const TaskContext& task) {
    return task.node_rank == NodeRank{0} ? std::nullopt : master_endpoint(task);
}
Value no_dashboard(const TaskContext& task) {
    return task.step->request.dashboard ? std::nullopt : Value("false");
}
using PortPair = std::pair<std::uint16_t, std::uint16_t>;
template <auto end>
Value worker_port(const TaskContext& task) {
    const auto& range = task.step->request.worker_ports;
    return std::to_string(range ? (*range).*end : 0);
}

// Memory in bytes. Ray's default for the object store is 30 % of the machine's.
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
std::uint64_t object_store_bytes(const TaskContext& task) {
    return task.memory * mebibyte / 10 * 3;
}
Value object_store(const TaskContext& task) {
    // Ray refuses less than 75 MB.
    constexpr std::uint64_t least = 100 * mebibyte;
    const std::uint64_t bytes = object_store_bytes(task);
    return bytes < least ? std::nullopt : Value(std::to_string(bytes));
}
Value memory(const TaskContext& task) {
    if (task.memory == 0) return std::nullopt;
    return std::to_string(task.memory * mebibyte - object_store_bytes(task));
}

constexpr auto options = std::to_array<ProgramOption>({
    {"--head", "", "on rank 0's node", of_rank0<constant<"">>},
    {"--address", "", "on the others: MASTER_ADDR:MASTER_PORT", endpoint_of_head},
    {"--port", "", "MASTER_PORT: rank 0's node serves the cluster's store there",
     of_rank0<master_port>},
    {"--ray-client-server-port", "", "the port after it", of_rank0<port<1>>},
    {"--dashboard-host", "", "rank 0's node's address", of_rank0<node_address>},
    {"--dashboard-port", "", "the 8th port after MASTER_PORT", of_rank0<port<8>>},
    {"--include-dashboard", "", "false, with `dashboard=off`", of_rank0<no_dashboard>},
    {"--node-ip-address", "", "this node's address", node_address},
    {"--node-manager-port", "", "the 2nd port after MASTER_PORT", port<2>},
    {"--object-manager-port", "", "the 3rd port", port<3>},
    {"--runtime-env-agent-port", "", "the 4th port", port<4>},
    {"--dashboard-agent-grpc-port", "", "the 5th port", port<5>},
    {"--dashboard-agent-listen-port", "", "the 6th port", port<6>},
    {"--metrics-export-port", "", "the 7th port", port<7>},
    {"--min-worker-port", "", "0: the kernel chooses; or the first of `worker-ports=`",
     worker_port<&PortPair::first>},
    {"--max-worker-port", "", "0, or the last of `worker-ports=`", worker_port<&PortPair::second>},
    {"--num-cpus", "", "the step's CPUs on this node", value_of<&TaskContext::cpus>},
    {"--num-gpus", "", "the step's GPUs on this node", value_of<&TaskContext::gpus>},
    {"--object-store-memory", "", "30 % of the step's memory on this node, if that is known",
     object_store},
    {"--memory", "", "the rest of it", memory},
    {"--disable-usage-stats", "", "no usage data is sent to Ray's developers", constant<"">},
    {"--block", "", "keeps the command running, so that distgpu sees it end", constant<"">},
});

constexpr ServiceToken token{
    .variable = "RAY_AUTH_TOKEN",
    .mode_variable = "RAY_AUTH_MODE",
    .address_variable = "RAY_ADDRESS",
    // Added with the tokens in 2.52. Click ends an unknown command with status 2.
    .query = words<"ray", "get-auth-token">,
    .outdated_warning =
        "Ray before 2.52 does not support tokens, so anyone who can reach this "
        "cluster's ports can run programs as you; install a newer version",
};

constexpr Service service{
    .options = options,
    .companion = words<"ray", "start">,
    .ready_text = "Ray runtime started.",
    .folder_option = "--temp-dir",
    .folder_variable = "RAY_TMPDIR",
    // The names of Ray's sockets are 63 to 67 bytes long; the system allows 107.
    .max_folder_length = 40,
    .token = &token,
};

constexpr auto sets = joined(
    service_rendezvous,
    std::to_array<SetVariable>({
        {"RAY_ADDRESS", "MASTER_ADDR:MASTER_PORT: without it, a driver would start another cluster",
         master_endpoint},
        {"AUTOSCALER_METRIC_PORT", "the 10th port after MASTER_PORT; Ray's is fixed", port<10>},
        {"DASHBOARD_METRIC_PORT", "the 11th port after MASTER_PORT; Ray's is fixed", port<11>},
    }));

constexpr auto unsets = joined(
    launcher_unsets, std::to_array<UnsetVariable>(
                         {{"RAY_JOB_ID", "the driver would use the job id of another cluster"}}));

}  // namespace

const Framework ray{
    .mode = "ray",
    .summary = "Ray, one ray start per node and the driver on the first, by distgpu exec",
    .keys = words<"worker-ports", "dashboard">,
    .launcher_per_node = true,
    .service = &service,
    .chooses_threads = true,
    .also_for_cpus = true,
    .ports = service_ports,
    .ports_on_all_nodes = true,
    .sets = sets,
    .unsets = unsets,
    .refuse = refuse_service,
};

}  // namespace distgpu

// Ray: a cluster of the step's own, `ray start` on every node, and the user's program, its driver,
// on rank 0's. Source: ray/scripts/scripts.py and ray/dashboard/consts.py (2.60). Every port that
// can be given stands in the step's block, and the workers' are chosen by the kernel: two jobs on a
// node share nothing. Ray counts the machine's CPUs, GPUs and memory where it is not told the
// step's.
#include "mapping/frameworks/serving.h"

namespace distgpu {
namespace {

using namespace contract;

Value heads_endpoint(const TaskContext& task) {
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

// In bytes; Ray's own share of a machine for its object store is 30 %.
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
std::uint64_t object_store_bytes(const TaskContext& task) {
    return task.memory * mebibyte / 10 * 3;
}
Value object_store(const TaskContext& task) {
    // Ray refuses a smaller one than 75 MB.
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
    {"--address", "", "on the others: MASTER_ADDR:MASTER_PORT", heads_endpoint},
    {"--port", "", "MASTER_PORT: rank 0's node serves the cluster's store there",
     of_rank0<master_port>},
    {"--ray-client-server-port", "", "the port behind it", of_rank0<port<1>>},
    {"--dashboard-host", "", "rank 0's node's address", of_rank0<node_address>},
    {"--dashboard-port", "", "the 8th port behind MASTER_PORT", of_rank0<port<8>>},
    {"--include-dashboard", "", "false, with `dashboard=off`", of_rank0<no_dashboard>},
    {"--node-ip-address", "", "this node's address", node_address},
    {"--node-manager-port", "", "the 2nd port behind MASTER_PORT", port<2>},
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
    {"--disable-usage-stats", "", "nothing is sent to Ray's makers", constant<"">},
    {"--block", "", "it stays, so that its end is known", constant<"">},
});

constexpr ServiceToken token{
    .variable = "RAY_AUTH_TOKEN",
    .mode_variable = "RAY_AUTH_MODE",
    .address_variable = "RAY_ADDRESS",
    // It came with the tokens, in 2.52; it is click that ends an unknown one with status 2.
    .query = words<"ray", "get-auth-token">,
    .unknown =
        "Ray before 2.52 knows no token, so whoever reaches this "
        "cluster's ports can run programs as you; install a newer one",
};

constexpr Service service{
    .options = options,
    .companion = words<"ray", "start">,
    .up_text = "Ray runtime started.",
    .folder_option = "--temp-dir",
    .folder_variable = "RAY_TMPDIR",
    // The names of Ray's sockets are 63 to 67 bytes long; the system takes 107.
    .longest_folder = 40,
    .token = &token,
};

constexpr auto sets = joined(
    service_rendezvous,
    std::to_array<SetVariable>({
        {"RAY_ADDRESS",
         "MASTER_ADDR:MASTER_PORT: without it, a driver would start a cluster of its own",
         master_endpoint},
        {"AUTOSCALER_METRIC_PORT", "the 10th port behind MASTER_PORT; Ray's is fixed", port<10>},
        {"DASHBOARD_METRIC_PORT", "the 11th port behind MASTER_PORT; Ray's is fixed", port<11>},
    }));

constexpr auto unsets = joined(
    launcher_unsets, std::to_array<UnsetVariable>(
                         {{"RAY_JOB_ID", "the driver would take itself for another cluster's"}}));

}  // namespace

const Framework ray{
    .mode = "ray",
    .summary = "Ray, one ray start per node and the driver on the first, by distgpu exec",
    .keys = words<"worker-ports", "dashboard">,
    .launcher_per_node = true,
    .service = &service,
    .chooses_threads = true,
    .for_cpus_too = true,
    .ports = service_ports,
    .ports_on_all_nodes = true,
    .sets = sets,
    .unsets = unsets,
    .refuse = no_service,
};

}  // namespace distgpu

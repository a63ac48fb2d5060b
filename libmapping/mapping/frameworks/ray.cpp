// Ray: a cluster of the step's own, `ray start` on every node, and the user's program, its driver,
// on rank 0's. Source: ray/scripts/scripts.py and ray/dashboard/consts.py (2.60). Every port that
// can be given stands in the step's block, and the workers' are chosen by the kernel: two jobs on a
// node share nothing. Ray counts the machine's CPUs, GPUs and memory where it is not told the
// step's.
#include "base/values.h"
#include "mapping/frameworks/registry.h"
#include "mapping/frameworks/serving.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::uint16_t client_offset = 1;
constexpr std::uint16_t node_manager_offset = 2;
constexpr std::uint16_t object_manager_offset = 3;
constexpr std::uint16_t runtime_environment_offset = 4;
constexpr std::uint16_t agent_grpc_offset = 5;
constexpr std::uint16_t agent_http_offset = 6;
constexpr std::uint16_t metrics_offset = 7;
constexpr std::uint16_t dashboard_offset = 8;
constexpr std::uint16_t autoscaler_metrics_offset = 10;
constexpr std::uint16_t dashboard_metrics_offset = 11;

template <std::uint16_t Offset>
Value port(const TaskContext& task) {
    return port_behind(task, Offset);
}

bool is_head(const TaskContext& task) {
    return task.node_rank == NodeRank{0};
}
template <Value (*Get)(const TaskContext&)>
Value of_head(const TaskContext& task) {
    return is_head(task) ? Get(task) : std::nullopt;
}

Value nothing(const TaskContext& /*task*/) {
    return "";
}
Value endpoint(const TaskContext& task) {
    return host_and_port(task.master_address, task.master_port);
}
Value heads_endpoint(const TaskContext& task) {
    return is_head(task) ? std::nullopt : endpoint(task);
}
Value no_dashboard(const TaskContext& task) {
    return task.step->request.dashboard ? std::nullopt : Value("false");
}
Value first_worker_port(const TaskContext& task) {
    const auto& range = task.step->request.worker_ports;
    return std::to_string(range ? range->first : 0);
}
Value last_worker_port(const TaskContext& task) {
    const auto& range = task.step->request.worker_ports;
    return std::to_string(range ? range->second : 0);
}
Value cpus(const TaskContext& task) {
    return std::to_string(task.cpus);
}
Value gpus(const TaskContext& task) {
    return std::to_string(task.gpus);
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

constexpr std::array options{
    ProgramOption{"--head", "", "on rank 0's node", of_head<nothing>},
    ProgramOption{"--address", "", "on the others: MASTER_ADDR:MASTER_PORT", heads_endpoint},
    ProgramOption{"--port", "", "MASTER_PORT: rank 0's node serves the cluster's store there",
                  of_head<master_port>},
    ProgramOption{"--ray-client-server-port", "", "the port behind it",
                  of_head<port<client_offset>>},
    ProgramOption{"--dashboard-host", "", "rank 0's node's address", of_head<node_address>},
    ProgramOption{"--dashboard-port", "", "the 8th port behind MASTER_PORT",
                  of_head<port<dashboard_offset>>},
    ProgramOption{"--include-dashboard", "", "false, with `dashboard=off`", of_head<no_dashboard>},
    ProgramOption{"--node-ip-address", "", "this node's address", node_address},
    ProgramOption{"--node-manager-port", "", "the 2nd port behind MASTER_PORT",
                  port<node_manager_offset>},
    ProgramOption{"--object-manager-port", "", "the 3rd port", port<object_manager_offset>},
    ProgramOption{"--runtime-env-agent-port", "", "the 4th port", port<runtime_environment_offset>},
    ProgramOption{"--dashboard-agent-grpc-port", "", "the 5th port", port<agent_grpc_offset>},
    ProgramOption{"--dashboard-agent-listen-port", "", "the 6th port", port<agent_http_offset>},
    ProgramOption{"--metrics-export-port", "", "the 7th port", port<metrics_offset>},
    ProgramOption{"--min-worker-port", "", "0: the kernel chooses; or the first of `worker-ports=`",
                  first_worker_port},
    ProgramOption{"--max-worker-port", "", "0, or the last of `worker-ports=`", last_worker_port},
    ProgramOption{"--num-cpus", "", "the step's CPUs on this node", cpus},
    ProgramOption{"--num-gpus", "", "the step's GPUs on this node", gpus},
    ProgramOption{"--object-store-memory", "",
                  "30 % of the step's memory on this node, if that is known", object_store},
    ProgramOption{"--memory", "", "the rest of it", memory},
    ProgramOption{"--disable-usage-stats", "", "nothing is sent to Ray's makers", nothing},
    ProgramOption{"--block", "", "it stays, so that its end is known", nothing},
};

constexpr std::array<std::string_view, 2> companion{"ray", "start"};

// Its subcommand came with the tokens, in 2.52; it is click that ends an unknown one with status 2.
constexpr std::array<std::string_view, 2> token_query{"ray", "get-auth-token"};

constexpr ServiceToken token{
    .variable = "RAY_AUTH_TOKEN",
    .mode_variable = "RAY_AUTH_MODE",
    .address_variable = "RAY_ADDRESS",
    .query = token_query,
    .unknown =
        "Ray before 2.52 knows no token, so whoever reaches this "
        "cluster's ports can run programs as you; install a newer one",
};

constexpr Service service{
    .options = options,
    .companion = companion,
    .up_text = "Ray runtime started.",
    .folder_option = "--temp-dir",
    .folder_variable = "RAY_TMPDIR",
    // The names of Ray's sockets are 63 to 67 bytes long; the system takes 107.
    .longest_folder = 40,
    .token = &token,
};

constexpr auto sets = joined(
    service_rendezvous,
    std::array{
        SetVariable{
            "RAY_ADDRESS",
            "MASTER_ADDR:MASTER_PORT: without it, a driver would start a cluster of its own",
            endpoint},
        SetVariable{"AUTOSCALER_METRIC_PORT", "the 10th port behind MASTER_PORT; Ray's is fixed",
                    port<autoscaler_metrics_offset>},
        SetVariable{"DASHBOARD_METRIC_PORT", "the 11th port behind MASTER_PORT; Ray's is fixed",
                    port<dashboard_metrics_offset>},
    });

constexpr auto unsets = joined(
    launcher_unsets,
    std::array{UnsetVariable{"RAY_JOB_ID", "the driver would take itself for another cluster's"}});

constexpr std::array<std::string_view, 2> keys{"worker-ports", "dashboard"};

}  // namespace

const Framework ray{
    .mode = "ray",
    .summary = "Ray, one ray start per node and the driver on the first, by distgpu exec",
    .keys = keys,
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

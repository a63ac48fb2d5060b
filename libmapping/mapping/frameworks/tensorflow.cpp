// TensorFlow's tf.distribute: TF_CONFIG, one JSON text that names every task.
// Source: tensorflow/python/distribute/cluster_resolver/tfconfig_cluster_resolver.py
// and distribute_coordinator (2.21): types chief, worker, ps and evaluator, at most
// one chief and one evaluator; the evaluator is not part of the cluster.
#include "mapping/frameworks/common.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {
namespace {

using namespace contract;

// Tasks [first, first + count) of the step, in rank order.
struct Role {
    std::string_view type;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// Precondition: the step has enough tasks.
std::array<Role, 4> roles(const Request& request, std::uint32_t tasks) {
    const std::uint32_t first_worker = request.chief + request.ps;
    const std::uint32_t workers = tasks - first_worker - request.evaluator;
    return {{{"chief", 0, request.chief},
             {"ps", request.chief, request.ps},
             {"worker", first_worker, workers},
             {"evaluator", first_worker + workers, request.evaluator}}};
}

std::string task_address(const StepView& step, std::uint16_t port, GlobalRank rank) {
    const Placement place = step.layout.place(rank);
    return host_and_port(step.addresses.name(place.node),
                         static_cast<std::uint16_t>(port + place.local_rank.value));
}

std::string cluster(const StepView& step, std::uint16_t port) {
    std::string text;
    for (const Role& role : roles(step.request, step.layout.task_count())) {
        if (role.count == 0 || role.type == "evaluator") continue;
        text += formatted("{}\"{}\":[", text.empty() ? "" : ",", role.type);
        for (std::uint32_t i = 0; i < role.count; ++i) {
            text += formatted("{}\"{}\"", i == 0 ? "" : ",",
                              task_address(step, port, GlobalRank{role.first + i}));
        }
        text += ']';
    }
    return text;
}

std::string config_text(std::string_view cluster, const StepView& step, std::uint32_t rank) {
    for (const Role& role : roles(step.request, step.layout.task_count())) {
        if (rank - role.first >= role.count) continue;
        return formatted(R"({{"cluster":{{{}}},"task":{{"type":"{}","index":{}}}}})", cluster,
                         role.type, rank - role.first);
    }
    return {};
}

Value tf_config(const TaskContext& task) {
    return config_text(cluster(*task.step, task.master_port), *task.step, task.rank.value);
}

constexpr auto sets = std::to_array<SetVariable>({
    {"TF_CONFIG",
     "the addresses of all tasks and this task's type and index: chief, ps, worker and "
     "evaluator in rank order, each on MASTER_PORT plus its local rank",
     tf_config},
    master_addr_variable,
    master_port_variable,
});

Error refusal(const StepView& step, std::string problem, std::string remedy) {
    return {option_of(step.request), std::move(problem), std::move(remedy)};
}

std::optional<Error> refuse_missing_tasks(const StepView& step) {
    const Request& request = step.request;
    const std::uint32_t tasks = step.layout.task_count();
    const std::uint64_t special = std::uint64_t{request.chief} + request.ps + request.evaluator;
    if (special > tasks) {
        return refusal(
            step,
            formatted("{} tasks for chief, ps and evaluator, but the step has {}", special, tasks),
            formatted("use --ntasks={} or more", special + 1));
    }
    const bool has_worker = special < tasks || (request.chief > 0 && request.ps == 0);
    if (has_worker) return std::nullopt;
    return refusal(
        step, formatted("chief, ps and evaluator use all {} tasks, so no worker is left", tasks),
        formatted("use --ntasks={} or more", special + 1));
}

// srun cannot pass a longer value on (Linux allows 131,072 bytes for NAME=VALUE and its NUL, Slurm
// needs a few of them).
constexpr std::size_t max_config_length = 131'060;

std::optional<Error> refuse_long_config(const StepView& step) {
    constexpr std::uint16_t five_digits = 10'000;
    const std::string addresses = cluster(step, five_digits);
    std::size_t length = 0;
    for (const Role& role : roles(step.request, step.layout.task_count())) {
        if (role.count == 0) continue;
        length = std::max(length, config_text(addresses, step, role.first + role.count - 1).size());
    }
    if (length <= max_config_length) return std::nullopt;
    return refusal(
        step,
        formatted("TF_CONFIG would have {} bytes for {} tasks, but a variable holds at most "
                  "{}",
                  length, step.layout.task_count(), max_config_length),
        "use one task per node, fewer nodes, or master=name if the names are shorter");
}

std::optional<Error> refuse_step(const StepView& step) {
    if (auto missing = refuse_missing_tasks(step)) return missing;
    return refuse_long_config(step);
}

}  // namespace

const Framework tensorflow{
    .mode = "tensorflow",
    .summary = "TensorFlow (tf.distribute), one worker per task",
    .aliases = words<"tf">,
    .keys = words<"chief", "ps", "evaluator">,
    .port_per_task = true,
    .names_all_nodes = true,
    .sets = sets,
    .refuse = refuse_step,
};

}  // namespace distgpu

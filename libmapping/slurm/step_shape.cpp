#include "slurm/step_shape.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/texts/sent_step.h"

#include <algorithm>
#include <functional>

namespace distgpu {
namespace {

// "block:cyclic,pack" -> "block": the rest is about sockets and packing.
std::string node_level(std::string distribution) {
    distribution.resize(std::min(distribution.find_first_of(":,"), distribution.size()));
    return distribution;
}

std::optional<Distribution> read_distribution(const Environment& environment, bool topology_order) {
    const std::string name = node_level(environment.text("SLURM_DISTRIBUTION"));
    // Unset means block, or cyclic for at most one task per node, which is the same map.
    if (name.empty() || name == "block") {
        if (topology_order) return std::nullopt;
        return Distribution{Distribution::Kind::block, 0};
    }
    if (name == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (name == "plane") {
        const auto size = environment.number("SLURM_DIST_PLANESIZE").value_or(0);
        if (size > 0) return Distribution{Distribution::Kind::plane, size};
    }
    return std::nullopt;
}

// Since 26.05, whose block steps follow the topology.
bool has_sluid(const Environment& environment) {
    return !environment.text("SLURM_JOB_SLUID").empty();
}

}  // namespace

bool is_order_known(const Environment& environment, bool topology_order) {
    return read_distribution(environment, topology_order || has_sluid(environment)).has_value();
}

bool is_srun_task(const Environment& environment) {
    // The lowest of SLURM_INTERACTIVE_STEP, SLURM_BATCH_SCRIPT and SLURM_EXTERN_CONT of slurm.h.
    // The batch script has no SLURM_STEP_NODELIST, but salloc's shell has one.
    constexpr std::uint32_t first_special_step = 0xfffffffa;
    const auto step = environment.number("SLURM_STEP_ID");
    return step && *step < first_special_step && !environment.text("SLURM_STEP_NODELIST").empty();
}

Result<std::optional<StepLayout>> derive_layout(const Environment& environment, StepSize max_size,
                                                bool topology_order) {
    auto runs = parse_tasks_per_node(environment.text("SLURM_STEP_TASKS_PER_NODE"), max_size);
    if (!runs) return runs.error();
    const bool is_one_node = runs->size() == 1 && runs->front().nodes == 1;
    const bool has_topology_order = topology_order || has_sluid(environment);
    const auto distribution = is_one_node ? std::optional(Distribution{})
                                          : read_distribution(environment, has_topology_order);
    if (!distribution) return std::optional<StepLayout>{};
    return HostList::parse(environment.text("SLURM_STEP_NODELIST"), max_size.nodes)
        .and_then([&](HostList hosts) {
            return StepLayout::distribute(std::move(hosts), *runs, *distribution);
        })
        .transform([](StepLayout layout) { return std::optional(std::move(layout)); });
}

std::optional<StepLayout> derive_new_layout(const Environment& environment,
                                            const SlurmOptions& options, StepSize size,
                                            bool topology_order) {
    const bool is_range =
        options.value("nodes").value_or("").find_first_of("-,:") != std::string_view::npos;
    if (is_range || environment.get("SLURM_OVERCOMMIT") || environment.get("SLURM_HOSTFILE") ||
        environment.number("SLURM_NTASKS") != size.tasks ||
        environment.number("SLURM_NNODES") != size.nodes) {
        return std::nullopt;
    }
    const auto distribution = size.nodes == 1 ? std::optional(Distribution{})
                                              : read_distribution(environment, topology_order);
    const auto runs = parse_tasks_per_node(environment.text("SLURM_TASKS_PER_NODE"), size);
    auto hosts = HostList::parse(environment.text("SLURM_NODELIST"), size.nodes);
    if (!distribution || !runs || !hosts) return std::nullopt;
    auto layout = StepLayout::distribute(*std::move(hosts), *runs, *distribution);
    if (!layout || check_size(*layout, size)) return std::nullopt;
    return *std::move(layout);
}

namespace {

using GetVariable = std::function<std::string(const char* name)>;

std::string distribution_from(const GetVariable& get) {
    const std::string name = node_level(get("SLURM_DISTRIBUTION"));
    return name == "plane" ? formatted("plane={}", get("SLURM_DIST_PLANESIZE")) : name;
}

NodeOrder order_of(const std::string& distribution, bool is_own_step, const GetVariable& get) {
    if (distribution == "cyclic" || distribution.starts_with("plane=")) return NodeOrder::known;
    // With SLURM_JOB_SLUID, a block step follows the topology.
    if (distribution != "arbitrary" && get("SLURM_JOB_SLUID").empty()) return NodeOrder::known;
    return is_own_step ? NodeOrder::of_step : NodeOrder::topology;
}

}  // namespace

Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment) {
    LayoutText& layout = options.layout;
    if (!layout.nodelist.empty() || !layout.nodes.empty()) return std::optional<SlurmShape>{};
    std::vector<std::string> read;  // names from sbatch(1) and srun(1), 22.05
    const auto get = [&](const char* name) {
        auto value = environment.text(name);
        if (!value.empty()) read.emplace_back(name);
        return value;
    };
    const auto complete = [&](std::string& text, const char* name) {
        if (text.empty()) text = get(name);
    };
    const auto number = [&](const char* name) { return whole_number(get(name)).value_or(0); };
    const bool in_step = is_srun_task(environment);
    const bool is_own_step = in_step && layout.ntasks.empty() && layout.tasks_per_node.empty() &&
                             layout.distribution.empty();
    complete(layout.nodelist, in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST");
    if (layout.nodelist.empty()) return std::optional<SlurmShape>{};
    if (layout.ntasks.empty()) {
        complete(layout.tasks_per_node,
                 in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE");
    }
    NodeOrder order = NodeOrder::known;
    const bool is_one_node = in_step && environment.get("SLURM_STEP_NUM_NODES") == "1";
    if (layout.distribution.empty() && !is_one_node) {
        layout.distribution = distribution_from(get);
        order = order_of(layout.distribution, is_own_step, get);
        if (layout.distribution == "arbitrary" && order != NodeOrder::of_step) {
            return Error{"SLURM_DISTRIBUTION=arbitrary",
                         "no variable says which node each task runs on",
                         "give --distribution arbitrary=NODE,NODE,..."};
        }
    }
    if (options.gpus_per_node.empty() && options.gpus.empty() && options.gpu_list.empty()) {
        options.gpus_variable = "SLURM_GPUS_ON_NODE";
        complete(options.gpus_per_node, "SLURM_GPUS_ON_NODE");
    }
    // Outside a step, srun would use its own variable; a task has the actual number.
    if (!in_step) complete(options.cpus_per_task, "SRUN_CPUS_PER_TASK");
    complete(options.cpus_per_task, "SLURM_CPUS_PER_TASK");
    const StepId step{number("SLURM_JOB_ID"), in_step ? number("SLURM_STEP_ID") : 0,
                      number("SLURM_RESTART_COUNT")};
    return std::optional(SlurmShape{std::move(options), step, is_own_step, order, std::move(read)});
}

}  // namespace distgpu

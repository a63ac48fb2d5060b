#include "slurm/step_shape.h"

#include "base/format.h"
#include "base/values.h"

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
    const std::string word = node_level(environment.text("SLURM_DISTRIBUTION"));
    // Unset means block, or cyclic for at most one task a node, which is the same map.
    if (word.empty() || word == "block") {
        if (topology_order || !environment.text("SLURM_JOB_SLUID").empty()) return std::nullopt;
        return Distribution{Distribution::Kind::block, 0};
    }
    if (word == "cyclic") return Distribution{Distribution::Kind::cyclic, 0};
    if (word == "plane") {
        const auto size = environment.number("SLURM_DIST_PLANESIZE").value_or(0);
        if (size > 0) return Distribution{Distribution::Kind::plane, size};
    }
    return std::nullopt;
}

}  // namespace

bool tells_order(const Environment& environment, bool topology_order) {
    return read_distribution(environment, topology_order).has_value();
}

bool in_step_of_tasks(const Environment& environment) {
    // SLURM_INTERACTIVE_STEP, SLURM_BATCH_SCRIPT and SLURM_EXTERN_CONT of slurm.h. The batch script
    // has no SLURM_STEP_NODELIST, the shell of salloc has one.
    constexpr std::uint32_t first_special_step = 0xfffffffa;
    const auto step = environment.number("SLURM_STEP_ID");
    return step && *step < first_special_step && !environment.text("SLURM_STEP_NODELIST").empty();
}

Result<std::optional<StepLayout>> derive_layout(const Environment& environment, StepSize most,
                                                bool topology_order) {
    auto runs = parse_tasks_per_node(environment.text("SLURM_STEP_TASKS_PER_NODE"), most);
    if (!runs) return runs.error();
    const bool one_node = runs->size() == 1 && runs->front().nodes == 1;
    const auto distribution =
        one_node ? std::optional(Distribution{}) : read_distribution(environment, topology_order);
    if (!distribution) return std::optional<StepLayout>{};
    return HostList::parse(environment.text("SLURM_STEP_NODELIST"), most.nodes)
        .and_then([&](HostList hosts) {
            return StepLayout::distribute(std::move(hosts), *runs, *distribution);
        })
        .transform([](StepLayout layout) { return std::optional(std::move(layout)); });
}

namespace {

using Read = std::function<std::string(const char* name)>;

std::string distribution_from(const Read& get) {
    const std::string word = node_level(get("SLURM_DISTRIBUTION"));
    return word == "plane" ? formatted("plane={}", get("SLURM_DIST_PLANESIZE")) : word;
}

NodeOrder order_of(const std::string& distribution, bool own_step, const Read& get) {
    if (distribution == "cyclic" || distribution.starts_with("plane=")) return NodeOrder::known;
    // SLURM_JOB_SLUID: a block step is in the topology's order.
    if (distribution != "arbitrary" && get("SLURM_JOB_SLUID").empty()) return NodeOrder::known;
    return own_step ? NodeOrder::of_step : NodeOrder::topology;
}

}  // namespace

Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment) {
    LayoutText& layout = options.layout;
    if (!layout.nodelist.empty() || !layout.nodes.empty()) return std::optional<SlurmShape>{};
    std::vector<std::string> read;  // those of sbatch(1) and srun(1), 22.05
    const auto get = [&](const char* name) {
        auto value = environment.text(name);
        if (!value.empty()) read.emplace_back(name);
        return value;
    };
    const auto complete = [&](std::string& text, const char* name) {
        if (text.empty()) text = get(name);
    };
    const auto number = [&](const char* name) { return whole_number(get(name)).value_or(0); };
    const bool in_step = in_step_of_tasks(environment);
    const bool own_step = in_step && layout.ntasks.empty() && layout.tasks_per_node.empty() &&
                          layout.distribution.empty();
    complete(layout.nodelist, in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST");
    if (layout.nodelist.empty()) return std::optional<SlurmShape>{};
    if (layout.ntasks.empty()) {
        complete(layout.tasks_per_node,
                 in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE");
    }
    NodeOrder order = NodeOrder::known;
    const bool one_node = in_step && environment.get("SLURM_STEP_NUM_NODES") == "1";
    if (layout.distribution.empty() && !one_node) {
        layout.distribution = distribution_from(get);
        order = order_of(layout.distribution, own_step, get);
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
    // A task knows what it has; outside, srun would take its own variable.
    if (!in_step) complete(options.cpus_per_task, "SRUN_CPUS_PER_TASK");
    complete(options.cpus_per_task, "SLURM_CPUS_PER_TASK");
    const StepId step{number("SLURM_JOB_ID"), in_step ? number("SLURM_STEP_ID") : 0,
                      number("SLURM_RESTART_COUNT")};
    return std::optional(SlurmShape{std::move(options), step, own_step, order, std::move(read)});
}

}  // namespace distgpu

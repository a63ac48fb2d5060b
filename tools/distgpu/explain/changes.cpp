#include "explain/changes.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"
#include "node/task_variables.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace distgpu {
namespace {

using Value = std::optional<std::string>;

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// But for Slurm's own, of which a mode sets one or two and everybody has all.
std::set<std::string_view> names_set_by_modes() {
    std::set<std::string_view> names;
    const auto add = [&](std::span<const SetVariable> variables) {
        for (const SetVariable& variable : variables) {
            if (!variable.name.starts_with("SLURM_")) names.insert(variable.name);
        }
    };
    add(common_variables());
    add(device_variables());
    for (const Framework* framework : frameworks()) {
        add(framework->sets);
        for (const Variant& variant : framework->variants) add(variant.framework->sets);
    }
    return names;
}

bool matches(std::string_view name, std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
}

// What a launcher that runs once a node gives its processes: what its mode takes away from it, the
// address of its own store, and what torchrun sets where nobody did
// (torch/distributed/elastic/agent/server/local_elastic_agent.py, 2.15).
bool is_launchers(std::string_view name, const Framework* framework) {
    constexpr std::array<std::string_view, 3> others{"MASTER_ADDR", "MASTER_PORT",
                                                     "TORCH_NCCL_ASYNC_ERROR_HANDLING"};
    constexpr std::array<std::string_view, 4> own{"ROLE_", "TORCHELASTIC_", "CROSS_", "PET_"};
    const Framework* const launcher = framework != nullptr ? framework : find_framework("torchrun");
    if (!launcher->launcher_per_node) return false;
    return std::find(others.begin(), others.end(), name) != others.end() ||
           begins_with_any(name, own) ||
           std::any_of(launcher->unsets.begin(), launcher->unsets.end(),
                       [&](const UnsetVariable& unset) { return matches(name, unset.name); });
}

// "NAME=VALUE NAME=VALUE" of given_variable. A value with a space is not among them.
std::map<std::string, std::string> given_to(const EnvironmentCopy& task) {
    std::map<std::string, std::string> given;
    const std::string text = task.get(given_variable).value_or("");
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) continue;
        given.emplace(item.substr(0, equals), item.substr(equals + 1));
    }
    return given;
}

std::string shortened(const std::string& value) {
    constexpr std::size_t longest = 300;
    if (value.size() <= longest) return value;
    return formatted("{}... ({} bytes, {:x})", value.substr(0, longest), value.size(),
                     std::hash<std::string>{}(value));
}

Value shortened(const Value& value) {
    return value ? Value(shortened(*value)) : std::nullopt;
}

class Comparison {
  public:
    explicit Comparison(const RankEnvironments& environments) : of_(environments) {}

    std::vector<Change> changes() && {
        add_since_start();
        add_given();
        add_planned();
        std::vector<Change> all;
        for (auto& [name, change] : changes_) all.push_back(std::move(change));
        return all;
    }

  private:
    void add(Change::Since since, const std::string& name, const Value& then, const Value& now) {
        changes_.try_emplace(name, Change{since, name, shortened(then), shortened(now)});
    }

    void add_since_start() {
        std::set<std::string> names;
        for (const EnvironmentCopy* environment : {&of_.task, &of_.rank}) {
            for (const auto& [name, value] : environment->variables()) names.insert(name);
        }
        for (const std::string& name : names) {
            if (!is_told_of(name) || is_launchers(name, of_.framework)) continue;
            const Value then = of_.task.get(name);
            const Value now = of_.rank.get(name);
            if (then != now) add(Change::Since::start, name, then, now);
        }
    }

    // Of a wrapper that became the program by exec the kernel keeps no start, but distgpu's list.
    void add_given() {
        for (const auto& [name, given] : given_to(of_.task)) {
            if (is_launchers(name, of_.framework)) continue;
            const Value now = of_.rank.get(name);
            if (now != given) add(Change::Since::given, name, given, now);
        }
    }

    void add_planned() {
        if (of_.plan == nullptr) return;
        const bool by_launcher = of_.framework != nullptr && of_.framework->launcher_per_node;
        for (const Difference& difference :
             differences(by_launcher ? of_.task : of_.rank, *of_.plan)) {
            add(Change::Since::planned, difference.name, difference.planned, difference.present);
        }
        if (by_launcher) add_launched();
    }

    // torchrun's name for the node's rank: another one is another order of the nodes.
    void add_launched() {
        const std::string planned = formatted("{}", of_.plan->node_rank.value);
        const Value now = of_.rank.get("GROUP_RANK");
        if (now && *now != planned) add(Change::Since::planned, "GROUP_RANK", planned, now);
    }

    const RankEnvironments& of_;
    std::map<std::string, Change> changes_;
};

}  // namespace

bool is_told_of(std::string_view name) {
    static constexpr std::array<std::string_view, 19> tuning{
        "CUDA_", "FI_",  "GLOO_", "GOMP_",    "HIP_",  "HSA_",  "JAX_", "KMP_", "MKL_", "NCCL_",
        "OMP_",  "PET_", "ROLE_", "PYTORCH_", "RCCL_", "TORCH", "UCX_", "XLA_", "ZE_"};
    // Without the launchers' own: what they start has them.
    static constexpr std::array<std::string_view, 9> ranks{
        "RANK",       "LOCAL_RANK",       "WORLD_SIZE",  "LOCAL_WORLD_SIZE", "NODE_RANK",
        "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    static const std::set<std::string_view> by_modes = names_set_by_modes();
    return begins_with_any(name, tuning) ||
           std::find(ranks.begin(), ranks.end(), name) != ranks.end() || by_modes.contains(name);
}

bool is_of_step(std::string_view name) {
    static constexpr std::array<std::string_view, 4> of_launchers{"CROSS_", "PET_", "ROLE_",
                                                                  "TORCHELASTIC_"};
    static const std::set<std::string_view> by_modes = names_set_by_modes();
    return is_told_of(name) && !by_modes.contains(name) && !name.ends_with("RANK") &&
           !begins_with_any(name, of_launchers);
}

std::vector<Variable> variables_told_of(const EnvironmentCopy& environment) {
    std::vector<Variable> told;
    for (const auto& [name, value] : environment.variables()) {
        if (is_told_of(name)) told.push_back({name, shortened(value)});
    }
    return told;
}

std::vector<Change> changed_variables(const RankEnvironments& environments) {
    return Comparison(environments).changes();
}

std::vector<Change> changed_cpus(const CpuSet& then, const CpuSet& now) {
    if (then.empty() || now.empty() || then == now) return {};
    return {{Change::Since::start, "CPUs", then.to_string(), now.to_string()}};
}

}  // namespace distgpu

#include "identity.h"

#include <algorithm>
#include <string>
#include <utility>

namespace distgpu {
namespace {

ComponentTasks read_component(spank_t spank) {
    ComponentTasks component{ComponentNode{item(spank, S_JOB_NODEID).value_or(0)}, {}};
    const std::uint32_t count = item(spank, S_JOB_LOCAL_TASK_COUNT).value_or(0);
    for (std::uint32_t id = 0; id < count; ++id) {
        std::uint32_t task = 0;
        if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, id, &task) == ESPANK_SUCCESS) {
            component.tasks.push_back(ComponentTaskId{task});
        }
    }
    return component;
}

Error unknown_task(std::string what, std::string remedy) {
    return {std::move(what), "not set by Slurm", std::move(remedy)};
}

// Slurm sets both variables over whatever was inherited.
std::optional<ComponentOffset> offset_from_task(spank_t spank, const Identity& identity,
                                                LocalRank local) {
    const auto node = step_number(spank, "SLURM_NODEID");
    const auto task = step_number(spank, "SLURM_PROCID");
    if (!node || !task) return std::nullopt;
    return offset_of(identity.component, local, NodeIndex{*node}, TaskId{*task});
}

Result<ComponentOffset> choose_offset(spank_t spank, const Identity& identity,
                                      const std::vector<ComponentOffset>& offsets, LocalRank local,
                                      bool in_container) {
    if (offsets.size() == 1) return offsets.front();
    if (offsets.empty()) {
        return Error{"task map", "has this node's tasks on no node", "run the step again"};
    }
    if (in_container) {
        return Error{"heterogeneous step", "components of one shape share this node",
                     "in a container, place them on different nodes"};
    }
    const auto told = offset_from_task(spank, identity, local);
    if (told && std::find(offsets.begin(), offsets.end(), *told) != offsets.end()) return *told;
    return unknown_task("SLURM_PROCID or SLURM_NODEID", "do not change them before the program");
}

}  // namespace

Identity read_identity(spank_t spank, std::uint32_t step) {
    Identity identity;
    identity.job = item(spank, S_JOB_ID).value_or(0);
    identity.step = step;
    identity.component = read_component(spank);
    identity.size = {item(spank, S_JOB_NNODES).value_or(0),
                     item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(0)};
    const auto step_tasks = step_number(spank, "SLURM_STEP_NUM_TASKS");
    identity.heterogeneous =
        identity.size.tasks > 0 && step_tasks && *step_tasks != identity.size.tasks;
    return identity;
}

Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container) {
    const auto local = item(spank, S_TASK_ID);
    if (!local || *local >= identity.component.tasks.size()) {
        return unknown_task("local task id", "run again without --distgpu");
    }
    return choose_offset(spank, identity, offsets, LocalRank{*local}, in_container)
        .transform([&](ComponentOffset offset) {
            return TaskIdentity{in_step(identity.component, offset), LocalRank{*local}};
        });
}

void set_slurm_numbers(spank_t spank, const TaskIdentity& task) {
    StepVariables variables(spank);
    variables.set("SLURM_PROCID", std::to_string(task.task().value));
    variables.set("SLURM_LOCALID", std::to_string(task.local.value));
    variables.set("SLURM_NODEID", std::to_string(task.node.node.value));
}

}  // namespace distgpu

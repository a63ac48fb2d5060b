// See identity.h.
#include "identity.h"

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

Error unknown_task(std::string what) {
    return {std::move(what), "not set by Slurm", "run again without --distgpu"};
}

// Slurm sets both variables over whatever was inherited.
std::optional<ComponentOffset> read_offset(spank_t spank, const Identity& identity,
                                           LocalRank local) {
    if (!identity.heterogeneous) return ComponentOffset{};
    const auto node = step_number(spank, "SLURM_NODEID");
    const auto task = step_number(spank, "SLURM_PROCID");
    if (!node || !task) return std::nullopt;
    return offset_of(identity.component, local, NodeIndex{*node}, TaskId{*task});
}

}  // namespace

Identity read_identity(spank_t spank, std::uint32_t step) {
    Identity identity;
    identity.job = item(spank, S_JOB_ID).value_or(0);
    identity.step = step;
    identity.component = read_component(spank);
    const auto tasks = item(spank, S_JOB_TOTAL_TASK_COUNT);
    const auto step_tasks = step_number(spank, "SLURM_STEP_NUM_TASKS");
    identity.heterogeneous = tasks && step_tasks && *tasks != *step_tasks;
    return identity;
}

Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity) {
    const auto local = item(spank, S_TASK_ID);
    if (!local || *local >= identity.component.tasks.size()) return unknown_task("local task id");
    const auto offset = read_offset(spank, identity, LocalRank{*local});
    if (!offset) return unknown_task("SLURM_PROCID or SLURM_NODEID");
    return TaskIdentity{in_step(identity.component, *offset), LocalRank{*local}};
}

}  // namespace distgpu

// Refusals and variables that several frameworks share.
#include "mapping/frameworks/common.h"

namespace distgpu {
namespace contract {

std::optional<Error> one_task_per_node(const StepView& step) {
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    if (tasks == 1) return std::nullopt;
    const std::string_view mode = step.request.framework->mode;
    // "lightning" of "lightning,per-node"; torchrun and composer start scripts of pytorch's.
    const Framework* const own = find_framework(mode.substr(0, mode.find(',')));
    const bool starts_tasks = own != nullptr && !own->launcher_per_node;
    return Error{formatted("--distgpu={}", mode),
                 formatted("{} tasks on a node, but this mode's launcher starts the processes "
                           "itself and needs one task per node",
                           tasks),
                 formatted("use --ntasks-per-node=1 --distgpu={}, or --distgpu={} and the script "
                           "without its launcher",
                           mode, starts_tasks ? own->mode : "pytorch")};
}

}  // namespace contract

namespace {

contract::Value threads(const TaskContext& task) {
    if (task.threads == 0) return std::nullopt;
    return std::to_string(task.threads);
}

}  // namespace

std::span<const SetVariable> common_variables() {
    static constexpr std::array variables{
        SetVariable{"OMP_NUM_THREADS",
                    "CPUs of each process, unless you exported it or wrote `omp=keep`: without it "
                    "every process starts a thread for each CPU that it sees",
                    threads, true},
    };
    return variables;
}

}  // namespace distgpu

// The list of frameworks, its lookup, and functions that several frameworks share.

#include "mapping/frameworks/common.h"

namespace distgpu {

std::span<const Framework* const> frameworks() {
    static constexpr std::array all{&pytorch,  &torchrun, &lightning, &accelerate, &deepspeed,
                                    &megatron, &composer, &ompi,      &horovod,    &tensorflow,
                                    &jax,      &ray,      &vllm,      &sglang};
    return all;
}

const Framework* find_framework(std::string_view name) {
    for (const Framework* framework : frameworks()) {
        if (framework->mode == name) return framework;
        for (const std::string_view alias : framework->aliases) {
            if (alias == name) return framework;
        }
    }
    return nullptr;
}

std::string option_of(const Request& request) {
    return formatted("--distgpu={}",
                     request.mode.empty() ? request.framework->mode.view() : request.mode);
}

namespace contract {

std::string one_task_options(const StepView& step) {
    switch (step.facts.task_count_source) {
        case TaskCountSource::job:
            return "--ntasks=$SLURM_NNODES --ntasks-per-node=1";
        case TaskCountSource::command_line:
            return formatted("--ntasks={} --ntasks-per-node=1", step.layout.node_count());
        default:
            return "--ntasks-per-node=1";
    }
}

std::optional<Error> refuse_several_tasks(const StepView& step) {
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    if (tasks == 1) return std::nullopt;
    const std::string_view mode = step.request.framework->mode;
    // "lightning" of "lightning,per-node"; torchrun and composer start scripts for pytorch.
    const Framework* const base = find_framework(mode.substr(0, mode.find(',')));
    const bool has_tasks = base != nullptr && !base->launcher_per_node;
    return Error{option_of(step.request),
                 formatted("{} tasks on a node, but this mode's launcher starts the processes "
                           "itself and needs one task per node",
                           tasks),
                 formatted("use {} {}, or --distgpu={} and the script without its launcher",
                           one_task_options(step), option_of(step.request),
                           has_tasks ? base->mode : "pytorch")};
}

}  // namespace contract

namespace {

contract::Value threads(const TaskContext& task) {
    if (task.threads == 0) return std::nullopt;
    return std::to_string(task.threads);
}

template <contract::Value (*get)(const TaskContext&)>
contract::Value if_watched(const TaskContext& task) {
    return watch_of(task.step->request).on ? get(task) : std::nullopt;
}

// All processes of a node listen on the same port (SO_REUSEPORT in src/ras/client_support.cc of
// NCCL 2.28), and any of them answers for the whole job.
contract::Value ras_address(const TaskContext& task) {
    if (!task.spare_port) return std::nullopt;
    return formatted("localhost:{}", *task.spare_port);
}

// In the program's folder: torchfrtrace needs the files of all ranks in one place.
contract::Value record_file(const TaskContext& task) {
    return formatted("distgpu-{}-rank_", task.step_name);
}

}  // namespace

std::span<const SetVariable> common_variables() {
    static constexpr auto variables = std::to_array<SetVariable>({
        {"OMP_NUM_THREADS",
         "CPUs of each process, unless you exported it or wrote `omp=keep`: without it "
         "every process starts a thread for each CPU that it sees",
         threads, true},
        {"NCCL_RAS_ENABLE",
         "with `watch`: `1`, so that NCCL reports missing ranks to `distgpu why` (NCCL 2.24)",
         if_watched<contract::constant<"1">>, true},
        {"NCCL_RAS_ADDR",
         "with `watch`: where NCCL reports them, `localhost` and a port of the step, "
         "unless 16 tasks or more on a node need all ports",
         if_watched<ras_address>, true},
        // FlightRecorder.hpp and FlightRecorder.cpp of torch/csrc/distributed/c10d, 2.15; torch's
        // documentation uses 2000. torch still reads the older names, with a warning.
        {"TORCH_FR_BUFFER_SIZE",
         "with `watch`: `2000`, the number of collective calls that torch's flight recorder "
         "keeps, and writes to a file when one times out (torch 2.9)",
         if_watched<contract::constant<"2000">>, true, "TORCH_NCCL_TRACE_BUFFER_SIZE"},
        {"TORCH_FR_DUMP_TEMP_FILE",
         "with `watch`: the prefix of these files' names, `distgpu-JOB.STEP-rank_`, in the "
         "program's folder (torch 2.9)",
         if_watched<record_file>, true, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"},
    });
    return variables;
}

}  // namespace distgpu

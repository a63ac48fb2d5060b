// The launchers' variables are those of Open MPI 4.1 and 5.0 (OMPI_COMM_WORLD_*), Hydra of MPICH
// 4.0 (PMI_*, MPI_LOCALRANKID, MPI_LOCALNRANKS) and flux-core 0.50 (FLUX_*, with PMI_*).
#include "node/process_place.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/texts/sent_step.h"
#include "node/step_variables.h"
#include "slurm/step_shape.h"

namespace distgpu {
namespace {

StepId slurm_step(const Environment& environment) {
    return {environment.number("SLURM_JOB_ID").value_or(0),
            environment.number("SLURM_STEP_ID").value_or(0),
            environment.number("SLURM_RESTART_COUNT").value_or(0)};
}

// The counts that mpirun, flux and Hydra pass to a process.
struct Counts {
    Launcher launcher = Launcher::none;
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint32_t local_rank = 0;
    std::uint32_t local_size = 1;
};

struct CountVariables {
    Launcher launcher;
    const char* rank;
    const char* size;
    const char* local_rank;
    const char* local_size;
    bool has_node_count = false;  // `local_size` names the variable of the number of nodes instead
};

constexpr std::array<CountVariables, 3> count_variables{{
    {Launcher::mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::flux, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_NNODES",
     true},
    {Launcher::hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
}};

// nullopt if this launcher did not start the process.
std::optional<Result<Counts>> read_counts(const Environment& environment,
                                          const CountVariables& variables) {
    if (!environment.get(variables.local_rank)) return std::nullopt;
    const auto rank = environment.number(variables.rank);
    const auto size = environment.number(variables.size);
    const auto local_rank = environment.number(variables.local_rank);
    auto local_size = environment.number(variables.local_size);
    if (variables.has_node_count && size && local_size && *local_size > 0) {
        local_size = *size % *local_size == 0 ? *size / *local_size : 0;
    }
    const bool is_complete = rank && size && local_rank && local_size && *rank < *size &&
                             *local_rank < *local_size && *local_size <= *size;
    if (is_complete) return Counts{variables.launcher, *rank, *size, *local_rank, *local_size};
    return Error{
        formatted("{} {}", name_of(variables.launcher), variables.local_rank),
        "its variables do not give this process's rank and the number of processes per node",
        "start the same number on every node"};
}

// Refuses ranks that are dealt to the nodes in turns. Not every rank can detect this (of 6 ranks on
// 3 nodes, rank 3 has local rank 1 either way), but rank 1 always can, and its error ends the
// launch.
Result<ProcessPlace> place_of(const Counts& counts, const Environment& environment,
                              const std::string& host) {
    const std::uint32_t nodes = counts.size / counts.local_size;
    // If the job has fewer nodes, this node has fewer ranks than others.
    const auto job = environment.number("SLURM_JOB_NUM_NODES");
    if (counts.size % counts.local_size != 0 || (job && nodes > *job)) {
        return Error{
            formatted("{}: rank {} of {}, {} of them on this node", name_of(counts.launcher),
                      counts.rank, counts.size, counts.local_size),
            "the ranks of the other nodes are not known",
            "start the same number on every node, or use srun"};
    }
    if (counts.rank % counts.local_size != counts.local_rank) {
        return Error{
            formatted("{}: rank {} has local rank {}", name_of(counts.launcher), counts.rank,
                      counts.local_rank),
            "ranks are not assigned to the nodes in blocks, so the node of each rank is unknown",
            "use mpirun --map-by slot, or srun"};
    }
    const NodeIndex own{counts.rank / counts.local_size};
    // The nodes of the Slurm job around the launcher, if this node is one of them.
    auto hosts = HostList::parse(environment.text("SLURM_JOB_NODELIST"));
    const bool are_job_nodes =
        hosts && hosts->size() == nodes &&
        hosts->name(own) == environment.get("SLURMD_NODENAME").value_or(host);
    if (!are_job_nodes) {
        std::vector<std::string> names;
        for (std::uint32_t node = 0; node < nodes; ++node) {
            names.push_back(node == own.value ? host : formatted("node-{}-of-{}", node, nodes));
        }
        hosts = HostList::from_names(names);
    }
    const bool knows_hosts = are_job_nodes || nodes == 1;
    const std::vector<TasksRun> runs{{counts.local_size, nodes}};
    return StepLayout::distribute(*std::move(hosts), runs, {}).transform([&](StepLayout layout) {
        return ProcessPlace{
            counts.launcher,         std::move(layout), own, LocalRank{counts.local_rank},
            slurm_step(environment), knows_hosts};
    });
}

// The layout of an srun step, from its variables or `query`.
Result<StepLayout> layout_of_step(const Environment& environment, const StepQuery& query) {
    return derive_layout(environment).and_then([&](std::optional<StepLayout> derived) {
        return derived ? *std::move(derived) : query(slurm_step(environment));
    });
}

// The place in a step whose layout distgpu passed on.
Result<ProcessPlace> place_in(Result<StepLayout> layout, const Environment& environment) {
    if (!layout) return layout.error();
    const auto task = environment.number("SLURM_PROCID");
    if (!task || *task >= layout->task_count()) {
        return Error{"SLURM_PROCID", "not a task of the step", "start it with srun"};
    }
    const Placement placement = layout->place(TaskId{*task});
    return ProcessPlace{Launcher::slurm,      *std::move(layout),      placement.node,
                        placement.local_rank, slurm_step(environment), true};
}

// Whether the layout is right about this task's node: its index, its name and all its tasks. A
// wrong layout is wrong about at least one node.
bool matches_node(const Environment& environment, const StepLayout& layout,
                  const LocalTasks& started) {
    const StepSize size{environment.number("SLURM_STEP_NUM_NODES").value_or(0),
                        environment.number("SLURM_STEP_NUM_TASKS").value_or(0)};
    if (check_size(layout, size) || check_layout(layout, started)) return false;
    // The nodes of a heterogeneous step are not listed in the order of their numbers.
    const std::string name = layout.hosts().name(started.node);
    return environment.get("SLURMD_NODENAME").value_or(name) == name;
}

Result<ProcessPlace> place_in_step(const Environment& environment, const StepQuery& query) {
    if (auto passed = read_layout_variable(environment)) {
        return place_in(*std::move(passed), environment);
    }
    const StepId step = slurm_step(environment);
    SentStep sent = read_sent_step(environment);
    auto layout = sent.layout ? Result<StepLayout>(*std::move(sent.layout))
                              : layout_of_step(environment, query);
    if (!layout) return layout.error();
    const auto node = environment.number("SLURM_NODEID");
    const auto local = environment.number("SLURM_LOCALID");
    LocalTasks started{NodeIndex{node.value_or(0)}, {}};
    const std::string tasks = environment.text("SLURM_GTIDS");
    for (const std::string_view item : comma_items(tasks)) {
        if (const auto task = whole_number(item)) started.tasks.push_back(TaskId{*task});
    }
    if (!node || !local || *local >= started.tasks.size() ||
        !matches_node(environment, *layout, started)) {
        return Error{formatted("step {}.{}", step.job, step.step),
                     "the tasks that Slurm started do not match its variables, as in a "
                     "heterogeneous step",
                     "use srun --distgpu"};
    }
    return ProcessPlace{Launcher::slurm,
                        *std::move(layout),
                        started.node,
                        LocalRank{*local},
                        step,
                        true,
                        std::move(sent.rank0_address)};
}

// Whether the variables of mpirun were set by --distgpu=ompi for this task of srun.
bool are_set_for_step(const Environment& environment, const Counts& counts) {
    return counts.launcher == Launcher::mpirun &&
           environment.number("SLURM_PROCID") == counts.rank &&
           environment.number("SLURM_STEP_NUM_TASKS") == counts.size &&
           environment.number("SLURM_LOCALID") == counts.local_rank;
}

Result<ProcessPlace> place_of_single_process(const Environment& environment,
                                             const std::string& host) {
    const std::vector<TasksRun> one{{1, 1}};
    const std::vector<std::string> name{host};
    return StepLayout::distribute(HostList::from_names(name), one, {})
        .transform([&](StepLayout layout) {
            return ProcessPlace{Launcher::none, std::move(layout),       NodeIndex{0},
                                LocalRank{0},   slurm_step(environment), true};
        });
}

}  // namespace

std::string_view name_of(Launcher launcher) {
    constexpr std::array names{"mpirun", "flux", "mpiexec", "srun", "a single process"};
    return names.at(static_cast<std::size_t>(launcher));
}

// The launcher that started this process itself takes precedence over the one around it: in a job,
// mpirun's daemons and Hydra's proxies are tasks of Slurm.
Result<ProcessPlace> find_process_place(const Environment& environment, const std::string& host,
                                        const StepQuery& query) {
    for (const CountVariables& variables : count_variables) {
        auto counts = read_counts(environment, variables);
        if (!counts || (*counts && are_set_for_step(environment, **counts))) continue;
        return std::move(*counts).and_then(
            [&](const Counts& known) { return place_of(known, environment, host); });
    }
    if (is_srun_task(environment)) return place_in_step(environment, query);
    return place_of_single_process(environment, host);
}

}  // namespace distgpu

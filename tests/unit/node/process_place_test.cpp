// Where a process stands, from the variables of the launcher that started it.
#include "node/process_place.h"

#include "map_environment.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

Result<StepLayout> not_asked(const StepId& /*step*/) {
    return Error{"slurmctld", "was asked", ""};
}

// "srun: task 2 of 4 is 0 on n2 (2 nodes)"; of an error its message.
std::string place_of(const Variables& variables, const StepQuery& query = not_asked) {
    const auto place = find_process_place(MapEnvironment(variables), "host", query);
    if (!place) return place.error().message();
    const StepLayout& layout = place->layout;
    return std::string(name_of(place->launcher)) + ": task " +
           std::to_string(layout.task(place->node, place->local).value) + " of " +
           std::to_string(layout.task_count()) + " is " + std::to_string(place->local.value) +
           " on " + layout.hosts().name(place->node) + " (" + std::to_string(layout.node_count()) +
           " nodes" + (place->knows_hosts ? ")" : ", unknown)");
}

Variables step() {
    return {{"SLURM_JOB_ID", "7"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_STEP_NODELIST", "n[1-2]"},
            {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
            {"SLURM_STEP_NUM_NODES", "2"},
            {"SLURM_STEP_NUM_TASKS", "4"},
            {"SLURM_NODEID", "1"},
            {"SLURMD_NODENAME", "n2"},
            {"SLURM_LOCALID", "0"},
            {"SLURM_GTIDS", "2,3"}};
}

Variables with(Variables variables, const Variables& more) {
    for (const auto& [name, value] : more) variables[name] = value;
    return variables;
}

Variables mpirun(const char* rank, const char* size, const char* local_rank,
                 const char* local_size) {
    return {{"OMPI_COMM_WORLD_RANK", rank},
            {"OMPI_COMM_WORLD_SIZE", size},
            {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size}};
}

constexpr const char* other_tasks =
    "distgpu: step 7.0: the tasks that Slurm started do not match its variables, as in a "
    "heterogeneous step; use srun --distgpu";

constexpr const char* uneven =
    "the ranks of the other nodes are not known; start the same number on every node, or use srun";

TEST(ProcessPlace, InAStepOfSlurm) {
    EXPECT_EQ(place_of(step()), "srun: task 2 of 4 is 0 on n2 (2 nodes)");
    EXPECT_EQ(place_of(with(step(), {{"SLURM_DISTRIBUTION", "cyclic"}, {"SLURM_GTIDS", "1,3"}})),
              "srun: task 1 of 4 is 0 on n2 (2 nodes)");
    EXPECT_EQ(find_process_place(MapEnvironment(step()), "host", not_asked)->step,
              (StepId{7, 0, 0}));
}

// Its variables do not tell the layout: block from 26.05 on, and arbitrary.
TEST(ProcessPlace, InAStepWhoseOrderOnlySlurmKnows) {
    // Tasks 0 and 1 on n2.
    const StepQuery second_first = [](const StepId& asked) -> Result<StepLayout> {
        EXPECT_EQ(asked, (StepId{7, 0, 0}));
        return StepLayout::from_task_map(*HostList::parse("n[1-2]"), {{1, 1, 2, 1}, {0, 1, 2, 1}});
    };
    const Variables blocks = with(step(), {{"SLURM_JOB_SLUID", "sFZDM816855K00"}});
    EXPECT_EQ(place_of(with(blocks, {{"SLURM_GTIDS", "0,1"}}), second_first),
              "srun: task 0 of 4 is 0 on n2 (2 nodes)");
    EXPECT_EQ(place_of(with(step(), {{"SLURM_DISTRIBUTION", "arbitrary"}, {"SLURM_GTIDS", "0,1"}}),
                       second_first),
              "srun: task 0 of 4 is 0 on n2 (2 nodes)");
    EXPECT_EQ(place_of(with(blocks, {{"SLURM_DISTRIBUTION", "cyclic"}, {"SLURM_GTIDS", "1,3"}})),
              "srun: task 1 of 4 is 0 on n2 (2 nodes)");
    // A refusal is handed on, and an answer is held against what Slurm started.
    EXPECT_EQ(place_of(blocks), "distgpu: slurmctld: was asked");
    EXPECT_EQ(place_of(with(blocks, {{"SLURM_GTIDS", "2,3"}}), second_first), other_tasks);
}

TEST(ProcessPlace, InAStepWhoseLayoutWasHandedOn) {
    const Variables arbitrary =
        with(step(), {{"SLURM_DISTRIBUTION", "arbitrary"},
                      {"SLURM_DISTGPU_LAYOUT", "7.0 n[1-2] 1.1.1.1,0.2.1.1"}});
    EXPECT_EQ(place_of(with(arbitrary, {{"SLURM_PROCID", "2"}})),
              "srun: task 2 of 3 is 1 on n2 (2 nodes)");
    EXPECT_EQ(place_of(with(arbitrary, {{"SLURM_PROCID", "3"}})),
              "distgpu: SLURM_PROCID: not a task of the step; start it with srun");
    EXPECT_EQ(place_of(with(arbitrary, {{"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "2"}})),
              place_of(with(step(), {{"SLURM_DISTRIBUTION", "arbitrary"}})));
}

// Where no plugin took what srun sent.
TEST(ProcessPlace, InAnUnpreparedStepIsAsSrunSentIt) {
    const std::string sent = "v2 7.0 rank0=10.0.0.2 layout=n[1-2] 1.1.2.1,0.1.2.1";
    const Variables arbitrary =
        with(step(), {{"SLURM_DISTRIBUTION", "arbitrary"}, {"SLURM_DISTGPU_STEP", sent}});
    const Variables right = with(arbitrary, {{"SLURM_GTIDS", "0,1"}});
    EXPECT_EQ(place_of(right), "srun: task 0 of 4 is 0 on n2 (2 nodes)");
    EXPECT_EQ(find_process_place(MapEnvironment(right), "host", not_asked)->rank0_address,
              "10.0.0.2");
    // It is held against what Slurm started, and another step's is none.
    EXPECT_EQ(place_of(with(arbitrary, {{"SLURM_GTIDS", "2,3"}})), other_tasks);
    EXPECT_EQ(place_of(with(right, {{"SLURM_STEP_ID", "1"}})), "distgpu: slurmctld: was asked");
}

// --distgpu=ompi sets what mpirun would.
TEST(ProcessPlace, InAStepWithTheVariablesOfOmpi) {
    Variables task = with(step(), mpirun("2", "4", "0", "2"));
    task["SLURM_PROCID"] = "2";
    task["SLURM_STEP_NUM_TASKS"] = "4";
    EXPECT_EQ(place_of(task), "srun: task 2 of 4 is 0 on n2 (2 nodes)");
    // mpirun's own, within a task of srun.
    task["OMPI_COMM_WORLD_RANK"] = "3";
    task["OMPI_COMM_WORLD_LOCAL_RANK"] = "1";
    EXPECT_EQ(place_of(task).substr(0, 22), "mpirun: task 3 of 4 is");
}

TEST(ProcessPlace, IsNeverGuessedWhereSlurmStartedSomethingElse) {
    for (const auto& [name, value] :
         {std::pair{"SLURM_GTIDS", "1,3"}, std::pair{"SLURM_LOCALID", "2"},
          std::pair{"SLURM_STEP_NUM_TASKS", "5"}, std::pair{"SLURM_STEP_NUM_NODES", "3"},
          // In a heterogeneous step of n2 and n1, where n2 has number 0.
          std::pair{"SLURMD_NODENAME", "n1"}}) {
        EXPECT_EQ(place_of(with(step(), {{name, value}})), other_tasks) << name;
    }
}

TEST(ProcessPlace, OfABatchScriptOrAnInteractiveShellIsASingleProcess) {
    EXPECT_EQ(place_of({}), "a single process: task 0 of 1 is 0 on host (1 nodes)");
    EXPECT_EQ(place_of({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}),
              "a single process: task 0 of 1 is 0 on host (1 nodes)");
    EXPECT_EQ(place_of(with(step(), {{"SLURM_STEP_ID", "4294967290"}})),
              "a single process: task 0 of 1 is 0 on host (1 nodes)");
}

TEST(ProcessPlace, UnderMpirunIsDealtInBlocks) {
    EXPECT_EQ(place_of(mpirun("1", "2", "1", "2")), "mpirun: task 1 of 2 is 1 on host (1 nodes)");
    EXPECT_EQ(place_of(mpirun("3", "4", "1", "2")),
              "mpirun: task 3 of 4 is 1 on host (2 nodes, unknown)");
    // In turns rank 1 is the first on the second node.
    EXPECT_EQ(place_of(mpirun("1", "4", "0", "2")),
              "distgpu: mpirun: rank 1 has local rank 0: ranks are not assigned to the nodes in "
              "blocks, so the node of each rank is unknown; use mpirun --map-by slot, or srun");
    EXPECT_EQ(place_of(mpirun("0", "4", "0", "3")),
              std::string("distgpu: mpirun: rank 0 of 4, 3 of them on this node: ") + uneven);
}

TEST(ProcessPlace, UnderMpirunInAJobHasTheJobsNodes) {
    const Variables job{{"SLURM_JOB_ID", "7"},
                        {"SLURM_JOB_NUM_NODES", "2"},
                        {"SLURM_JOB_NODELIST", "n[1-2]"},
                        {"SLURMD_NODENAME", "n2"}};
    // Before the variables of the step in which mpirun's daemon runs.
    EXPECT_EQ(place_of(with(step(), with(mpirun("3", "4", "1", "2"), job))),
              "mpirun: task 3 of 4 is 1 on n2 (2 nodes)");
    // Rank 1 would be on the first node.
    EXPECT_EQ(place_of(with(mpirun("1", "4", "1", "2"), job)),
              "mpirun: task 1 of 4 is 1 on host (2 nodes, unknown)");
    // One of four ranks here, and the job has two nodes: the other has three.
    EXPECT_EQ(place_of(with(mpirun("3", "4", "0", "1"), job)),
              std::string("distgpu: mpirun: rank 3 of 4, 1 of them on this node: ") + uneven);
}

TEST(ProcessPlace, UnderOtherLaunchers) {
    EXPECT_EQ(place_of({{"FLUX_TASK_RANK", "1"},
                        {"FLUX_JOB_SIZE", "2"},
                        {"FLUX_TASK_LOCAL_ID", "0"},
                        {"FLUX_JOB_NNODES", "2"}}),
              "flux: task 1 of 2 is 0 on host (2 nodes, unknown)");
    const Variables hydra{
        {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
    EXPECT_EQ(place_of(hydra), "mpiexec: task 1 of 2 is 1 on host (1 nodes)");
    EXPECT_EQ(place_of(with(hydra, {{"PMI_RANK", "2"}})),
              "distgpu: mpiexec MPI_LOCALRANKID: its variables do not give this process's rank and "
              "the number of processes per node; start the same number on every node");
    // Slurm's own PMI sets PMI_RANK too, and no local rank.
    EXPECT_EQ(place_of(with(step(), {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}})),
              "srun: task 2 of 4 is 0 on n2 (2 nodes)");
}

}  // namespace
}  // namespace distgpu

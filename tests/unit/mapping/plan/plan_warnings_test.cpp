// What a plan warns of: shapes of a step that Slurm allows and the user seldom meant.
#include "mapping/spec/parse_spec.h"
#include "plan_testing.h"

#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

TEST(PlanWarnings, NameShapesThatAreSeldomMeant) {
    const std::string begin = "distgpu: --distgpu=";
    const std::string idle =
        begin +
        "pytorch: 1 task on a node with 4 GPUs, of which 3 are idle; use --ntasks-per-node=4, or "
        "a launcher with --distgpu=torchrun";
    const std::string one_cpu =
        begin +
        "pytorch: each task has only one CPU, too few for data loaders; use srun "
        "--cpus-per-task=N (srun does not inherit it from sbatch)";
    struct Row {
        const char* title;
        const char* spec;
        std::uint32_t tasks;
        NodeFacts node;
        std::vector<std::string> warnings;
    };
    const std::vector<Row> rows = {
        {"a task a GPU", "pytorch", 4, {.gpus = 4, .cpus = 32, .cpus_per_task = 8}, {}},
        {"one task for four GPUs",
         "pytorch",
         1,
         {.gpus = 4, .cpus = 32, .cpus_per_task = 32},
         {idle}},
        {"one task for one GPU", "pytorch", 1, {.gpus = 1, .cpus = 8, .cpus_per_task = 8}, {}},
        {"one task, no GPU", "pytorch", 1, {.gpus = 0, .cpus = 8, .cpus_per_task = 8}, {}},
        {"one CPU a task", "pytorch", 4, {.gpus = 4, .cpus = 4, .cpus_per_task = 1}, {one_cpu}},
        {"CPUs a task not known", "pytorch", 4, {.gpus = 4, .cpus = 4, .cpus_per_task = 0}, {}},
        {"one CPU a task, no GPU", "pytorch", 4, {.gpus = 0, .cpus = 4, .cpus_per_task = 1}, {}},
        {"both", "pytorch", 1, {.gpus = 4, .cpus = 1, .cpus_per_task = 1}, {idle, one_cpu}},
        {"three tasks for four GPUs",
         "deepspeed",
         3,
         {.gpus = 4, .cpus = 32, .cpus_per_task = 8},
         {begin + "deepspeed: 3 tasks on a node with 4 GPUs, of which one is idle; use "
                  "--ntasks-per-node=4"}},
        {"one task where the launcher is a key",
         "lightning",
         1,
         {.gpus = 2, .cpus = 32, .cpus_per_task = 8},
         {begin + "lightning: 1 task on a node with 2 GPUs, of which one is idle; use "
                  "--ntasks-per-node=2, or a launcher with --distgpu=lightning,per-node"}},
        {"--gpus-per-task=1",
         "megatron",
         4,
         {.gpus = 1, .cpus = 32, .cpus_per_task = 8, .gpus_bound = true},
         {begin + "megatron: 4 tasks on a node, but each sees 1 GPU, so some tasks have no device "
                  "LOCAL_RANK; use --gpus-per-node=4 or --gres=gpu:4 instead of --gpus-per-task "
                  "and --gpu-bind, or --ntasks-per-node=1"}},
        {"fewer GPUs than tasks, and none bound to a task",
         "pytorch",
         2,
         {.gpus = 1, .cpus = 32, .cpus_per_task = 8},
         {begin + "pytorch: 2 tasks on a node, but each sees 1 GPU, so some tasks have no device "
                  "LOCAL_RANK; use --gpus-per-node=2 or --gres=gpu:2, or --ntasks-per-node=1"}},
        {"--cpus-per-gpu, which SPANK does not count for the task",
         "pytorch",
         1,
         {.gpus = 1, .cpus = 2, .cpus_per_task = 1},
         {}},
        {"all CPUs of the job, but a mask of one for each task",
         "pytorch",
         2,
         {.gpus = 2,
          .cpus = 8,
          .cpus_per_task = 1,
          .share = {{*CpuSet::parse("0"), *CpuSet::parse("1")}, 1, {}, {}}},
         {one_cpu}},
        {"a launcher is one task a node",
         "torchrun",
         1,
         {.gpus = 4, .cpus = 1, .cpus_per_task = 1},
         {}},
        {"a launcher's processes are the GPUs",
         "composer,nproc=4",
         1,
         {.gpus = 4, .cpus = 1, .cpus_per_task = 1},
         {}},
        {"more processes than GPUs",
         "composer,nproc=4",
         1,
         {.gpus = 2, .cpus = 32, .cpus_per_task = 32},
         {begin + "composer: nproc=4 on a node with 2 GPUs in this step; use nproc=2, or ask for "
                  "more GPUs"}},
        {"processes on CPUs",
         "torchrun,nproc=4",
         1,
         {.gpus = 0, .cpus = 32, .cpus_per_task = 32},
         {}},
        {"TensorFlow takes all GPUs",
         "tensorflow",
         1,
         {.gpus = 4, .cpus = 32, .cpus_per_task = 8},
         {}},
        {"an MPI program may start anything",
         "ompi",
         1,
         {.gpus = 4, .cpus = 32, .cpus_per_task = 8},
         {}},
        {"and see what it likes", "ompi", 4, {.gpus = 1, .cpus = 32, .cpus_per_task = 1}, {}},
    };
    for (const auto& row : rows) {
        const StepLayout step = layout("n1", {{0, 1, row.tasks, 1}});
        EXPECT_EQ(messages(planned(row.spec, step, 0, row.node).warnings), row.warnings)
            << row.title;
    }
}

// A server would load for a minute and end. Ray's programs may be for CPUs.
TEST(PlanWarnings, OfGpusThatNobodyAskedForAreARefusalOfAServer) {
    const auto refused = [](const char* spec) {
        NodeTopology topology;
        topology.gpus.resize(4);
        const NodeFacts node{.cpus = 8, .topology = &topology, .gpus_by_slurm = true};
        const auto result =
            plan(*parse_spec("S", spec), Step{layout("n[1-2]", {{0, 2, 1, 1}})}, node);
        return result ? "" : result.error().message();
    };
    for (const std::string mode : {"vllm", "sglang"}) {
        EXPECT_EQ(refused(mode.c_str()),
                  "distgpu: --distgpu=" + mode +
                      ": the step has no GPU, but n1 has 4; use --gres=gpu:4, or gpus=keep if none "
                      "is meant");
        EXPECT_EQ(refused((mode + ",gpus=keep").c_str()), "");
    }
    EXPECT_EQ(refused("ray"), "");
}

// A node with so many GPUs, of which Slurm gave the step none.
TEST(PlanWarnings, NameTheGpusThatNobodyAskedFor) {
    const auto warnings = [](const char* spec, std::uint32_t tasks, std::size_t gpus,
                             NodeFacts node = {.cpus = 8, .gpus_by_slurm = true}) {
        NodeTopology topology;
        topology.gpus.resize(gpus);
        node.topology = &topology;
        return messages(planned(spec, layout("n[1-2]", {{0, 2, tasks, 1}}), 0, node).warnings);
    };
    using Lines = std::vector<std::string>;
    const std::string begin = "distgpu: --distgpu=";
    const std::string none = ", or gpus=keep if none is meant";
    EXPECT_EQ(warnings("pytorch", 4, 4),
              Lines{begin + "pytorch: the step has no GPU, but n1 has 4; use --gres=gpu:4" + none});
    EXPECT_EQ(warnings("deepspeed", 2, 4),
              Lines{begin +
                    "deepspeed: the step has no GPU, but n1 has 4; use --gres=gpu:4 with "
                    "--ntasks-per-node=4" +
                    none});
    EXPECT_EQ(
        warnings("torchrun", 1, 1),
        Lines{begin + "torchrun: the step has no GPU, but n1 has one; use --gres=gpu:1" + none});
    EXPECT_EQ(warnings("jax", 1, 4),
              Lines{begin + "jax: the step has no GPU, but n1 has 4; use --gres=gpu:4" + none});
    EXPECT_EQ(warnings("pytorch", 4, 0), Lines{}) << "the node has none";
    EXPECT_EQ(warnings("pytorch,gpus=keep", 4, 4), Lines{});
    EXPECT_EQ(warnings("pytorch,bind=none", 4, 4), Lines{});
    EXPECT_EQ(warnings("ompi", 4, 4), Lines{}) << "MPI programs are often for CPUs";
    EXPECT_EQ(warnings("ompi,per-node", 1, 4), Lines{});
    EXPECT_EQ(warnings("pytorch", 4, 4, {.gpus = 4, .gpus_by_slurm = true}), Lines{});
    EXPECT_EQ(warnings("pytorch", 4, 4, {.cpus = 8}), Lines{}) << "open to all";
}

TEST(StepWarnings, NameNodesThatIdleAndAStepOfOneTask) {
    const auto warnings = [](const char* spec, const char* nodes, std::vector<TaskMapBlock> map,
                             std::uint32_t allocated, bool size_by_default) {
        Step step = step_of(layout(nodes, std::move(map)));
        step.facts.allocated_nodes = allocated;
        step.facts.size_by_default = size_by_default;
        return messages(step_warnings(request(spec), step));
    };
    using Lines = std::vector<std::string>;
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 3, false),
              Lines{"distgpu: --distgpu=pytorch: the step runs on 2 of the 3 nodes of the "
                    "allocation; use -N3, or -N2 if that is meant"});
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 2, false), Lines{});
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 0, false), Lines{});
    EXPECT_EQ(warnings("jax", "n1", {{0, 1, 1, 1}}, 0, true),
              Lines{"distgpu: --distgpu=jax: the step has one task, which trains alone, as rank 0 "
                    "of 1; use -N NODES, --ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if one "
                    "task is meant"});
    EXPECT_EQ(warnings("jax", "n1", {{0, 1, 1, 1}}, 0, false), Lines{});
    EXPECT_EQ(warnings("jax", "n1", {{0, 1, 2, 1}}, 0, true), Lines{});
    EXPECT_EQ(warnings("torchrun", "n1", {{0, 1, 1, 1}}, 0, true), Lines{});
}

TEST(StepWarnings, NameAProgramThatDoesNotFit) {
    Step step = step_of(layout("n[1-2]", {{0, 2, 1, 1}}));
    step.facts.program = {"python3", "train.py"};
    EXPECT_EQ(messages(step_warnings(request("torchrun"), step)).size(), 1U);
    EXPECT_FALSE(refusal(request("torchrun"), step));
    step.facts.program = {"mpirun", "./a.out"};
    EXPECT_EQ(messages(step_warnings(request("torchrun"), step)).size(), 0U);
    EXPECT_TRUE(refusal(request("torchrun"), step));
}

TEST(PlanWarnings, NodesWithDifferentNumbersOfGpusGetNoNumberOfOneOfThem) {
    const StepLayout step = layout("n[1-2]", {{0, 2, 2, 1}});
    const auto warned = [&](std::uint32_t gpus, std::uint32_t of_step) {
        const NodeFacts node{.gpus = gpus, .gpus_of_step = of_step, .cpus = 32, .cpus_per_task = 8};
        return messages(planned("pytorch", step, 0, node).warnings);
    };
    const std::string begin =
        "distgpu: --distgpu=pytorch: 2 tasks on a node with 4 GPUs, of which 2 are idle; use ";
    EXPECT_EQ(warned(4, 6),
              std::vector{begin +
                          "--gpus-per-node=3 --ntasks-per-node=3, because --gpus=6 gives the nodes "
                          "different numbers"});
    EXPECT_EQ(warned(4, 8), std::vector{begin + "--ntasks-per-node=4"});
    EXPECT_EQ(warned(4, 0), std::vector{begin + "--ntasks-per-node=4"});
    EXPECT_EQ(warned(1, 3),
              std::vector<std::string>{
                  "distgpu: --distgpu=pytorch: 2 tasks on a node, but each sees 1 GPU, so some "
                  "tasks have no device LOCAL_RANK; use --gpus-per-node=1 --ntasks-per-node=1, "
                  "because --gpus=3 gives the nodes different numbers"});
}

// Of one GPU more than tasks on each of two nodes.
std::vector<std::string> warned_of(TasksFrom tasks_from, bool is_helper = false) {
    Step step = step_of(layout("n[1-2]", {{0, 2, 1, 1}}));
    step.facts.tasks_from = tasks_from;
    step.facts.is_helper = is_helper;
    const NodeFacts node{.gpus = 2, .cpus = 32, .cpus_per_task = 8};
    const auto result = plan(request("pytorch"), step, node);
    return result ? messages(result->warnings) : std::vector{result.error().message()};
}

TEST(PlanWarnings, ChangeANumberOfTasksThatComesBeforeTheTasksOfANode) {
    const std::string idle =
        "distgpu: --distgpu=pytorch: 1 task on a node with 2 GPUs, of which one is idle; use ";
    const std::string launcher = ", or a launcher with --distgpu=torchrun";
    EXPECT_EQ(warned_of(TasksFrom::nodes), std::vector{idle + "--ntasks-per-node=2" + launcher});
    for (const TasksFrom from : {TasksFrom::line, TasksFrom::job}) {
        EXPECT_EQ(warned_of(from), std::vector{idle + "--ntasks=4 --ntasks-per-node=2" + launcher});
    }
}

TEST(PlanWarnings, SayNothingOfTheGpusOfAHelper) {
    EXPECT_EQ(warned_of(TasksFrom::nodes, true), std::vector<std::string>{});
}

TEST(StepRefusals, NameTheNumberOfTasksThatSrunTakesFirst) {
    const auto refused = [](const char* spec, TasksFrom from, std::vector<std::string> program) {
        Step step = step_of(layout("n[1-2]", {{0, 2, 4, 1}}));
        step.facts.tasks_from = from;
        step.facts.program = std::move(program);
        const auto error = refusal(request(spec), step);
        const std::string remedy = error ? error->remedy : "";
        return remedy.substr(0, remedy.find(','));
    };
    const std::string job = "--ntasks=$SLURM_NNODES --ntasks-per-node=1";
    const std::string line = "--ntasks=2 --ntasks-per-node=1";
    EXPECT_EQ(refused("torchrun", TasksFrom::nodes, {}),
              "use --ntasks-per-node=1 --distgpu=torchrun");
    EXPECT_EQ(refused("torchrun", TasksFrom::job, {}), "use " + job + " --distgpu=torchrun");
    EXPECT_EQ(refused("torchrun", TasksFrom::line, {}), "use " + line + " --distgpu=torchrun");
    EXPECT_EQ(refused("vllm", TasksFrom::job, {}), "use " + job + " --distgpu=vllm");
    EXPECT_EQ(refused("pytorch", TasksFrom::job, {"torchrun", "train.py"}),
              "use --distgpu=torchrun with " + job);
}

}  // namespace
}  // namespace distgpu::plan_testing

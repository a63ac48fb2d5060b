// What a plan warns of: shapes of a step that Slurm allows and the user seldom meant.
#include "mapping/plan/plan_warnings.h"

#include "mapping/frameworks/task_values.h"
#include "plan_testing.h"

#include <sstream>

namespace distgpu::plan_testing {
namespace {

NodeFacts node(std::uint32_t gpus, std::uint32_t cpus, std::uint32_t cpus_per_task) {
    return {.gpus = gpus, .cpus = cpus, .cpus_per_task = cpus_per_task};
}

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
    const auto warned = [](const char* spec, std::uint32_t tasks, const NodeFacts& facts) {
        return messages(planned(spec, layout("n1", {{0, 1, tasks, 1}}), 0, facts).warnings);
    };
    using Lines = std::vector<std::string>;
    EXPECT_EQ(warned("pytorch", 4, node(4, 32, 8)), Lines{});
    EXPECT_EQ(warned("pytorch", 1, node(4, 32, 32)), Lines{idle});
    EXPECT_EQ(warned("pytorch", 1, node(1, 8, 8)), Lines{});
    EXPECT_EQ(warned("pytorch", 1, node(0, 8, 8)), Lines{});
    EXPECT_EQ(warned("pytorch", 4, node(4, 4, 1)), Lines{one_cpu});
    EXPECT_EQ(warned("pytorch", 4, node(4, 4, 0)), Lines{}) << "CPUs a task not known";
    EXPECT_EQ(warned("pytorch", 4, node(0, 4, 1)), Lines{});
    EXPECT_EQ(warned("pytorch", 1, node(4, 1, 1)), (Lines{idle, one_cpu}));
    EXPECT_EQ(warned("deepspeed", 3, node(4, 32, 8)),
              Lines{begin + "deepspeed: 3 tasks on a node with 4 GPUs, of which one is idle; use "
                            "--ntasks-per-node=4"});
    EXPECT_EQ(
        warned("lightning", 1, node(2, 32, 8)),
        Lines{begin + "lightning: 1 task on a node with 2 GPUs, of which one is idle; use "
                      "--ntasks-per-node=2, or a launcher with --distgpu=lightning,per-node"});
    // --gpus-per-task=1
    EXPECT_EQ(warned("megatron", 4,
                     {.gpus = 1, .cpus = 32, .cpus_per_task = 8, .slurm_binds_gpus = true}),
              Lines{begin + "megatron: 4 tasks on a node, but each sees 1 GPU, so some tasks have "
                            "no device LOCAL_RANK; use --gpus-per-node=4 or --gres=gpu:4 instead "
                            "of --gpus-per-task and --gpu-bind, or --ntasks-per-node=1"});
    EXPECT_EQ(warned("pytorch", 2, node(1, 32, 8)),
              Lines{begin + "pytorch: 2 tasks on a node, but each sees 1 GPU, so some tasks have "
                            "no device LOCAL_RANK; use --gpus-per-node=2 or --gres=gpu:2, or "
                            "--ntasks-per-node=1"});
    EXPECT_EQ(warned("pytorch", 1, node(1, 2, 1)), Lines{}) << "--cpus-per-gpu is not counted";
    // All CPUs of the job, but a mask of one for each task.
    NodeFacts masks = node(2, 8, 1);
    masks.share.masks = {CpuSet{0}, CpuSet{1}};
    EXPECT_EQ(warned("pytorch", 2, masks), Lines{one_cpu});
    EXPECT_EQ(warned("torchrun", 1, node(4, 1, 1)), Lines{}) << "a launcher is one task a node";
    EXPECT_EQ(warned("composer,nproc=4", 1, node(4, 1, 1)), Lines{});
    EXPECT_EQ(warned("composer,nproc=4", 1, node(2, 32, 32)),
              Lines{begin + "composer: nproc=4 on a node with 2 GPUs in this step; use nproc=2, or "
                            "ask for more GPUs"});
    EXPECT_EQ(warned("torchrun,nproc=4", 1, node(0, 32, 32)), Lines{}) << "processes on CPUs";
    EXPECT_EQ(warned("tensorflow", 1, node(4, 32, 8)), Lines{}) << "it takes all GPUs";
    // An MPI program may start anything, and see what it likes.
    EXPECT_EQ(warned("ompi", 1, node(4, 32, 8)), Lines{});
    EXPECT_EQ(warned("ompi", 4, node(1, 32, 1)), Lines{});
}

// A server would load for a minute and end. Ray's programs may be for CPUs.
TEST(PlanWarnings, OfGpusThatNobodyAskedForAreARefusalOfAServer) {
    const auto refused = [](const char* spec) {
        NodeTopology topology;
        topology.gpus.resize(4);
        const NodeFacts node{.cpus = 8, .topology = &topology, .slurm_manages_gpus = true};
        const auto result =
            plan(*parse_spec("S", spec), Step{layout("n[1-2]", {{0, 2, 1, 1}})}, node);
        return result ? "" : result.error().message();
    };
    for (const std::string mode : {"vllm", "sglang"}) {
        EXPECT_EQ(refused(mode.c_str()),
                  "distgpu: --distgpu=" + mode +
                      ": the step has no GPU, but n1 has 4; use --gres=gpu:4, or gpus=keep if it "
                      "needs none");
        EXPECT_EQ(refused((mode + ",gpus=keep").c_str()), "");
    }
    EXPECT_EQ(refused("ray"), "");
}

// A node with so many GPUs, of which Slurm gave the step none.
TEST(PlanWarnings, NameTheGpusThatNobodyAskedFor) {
    const auto warnings = [](const char* spec, std::uint32_t tasks, std::size_t gpus,
                             NodeFacts node = {.cpus = 8, .slurm_manages_gpus = true}) {
        NodeTopology topology;
        topology.gpus.resize(gpus);
        node.topology = &topology;
        return messages(planned(spec, layout("n[1-2]", {{0, 2, tasks, 1}}), 0, node).warnings);
    };
    using Lines = std::vector<std::string>;
    const std::string begin = "distgpu: --distgpu=";
    const std::string none = ", or gpus=keep if it needs none";
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
    EXPECT_EQ(warnings("pytorch", 4, 4, {.gpus = 4, .slurm_manages_gpus = true}), Lines{});
    EXPECT_EQ(warnings("pytorch", 4, 4, {.cpus = 8}), Lines{}) << "open to all";
}

TEST(StepWarnings, NameNodesThatIdleAndAStepOfOneTask) {
    const auto warnings = [](const char* spec, const char* nodes, std::vector<TaskMapBlock> map,
                             std::uint32_t allocated, bool has_default_size) {
        Step step = step_of(layout(nodes, std::move(map)));
        step.facts.allocated_nodes = allocated;
        step.facts.has_default_size = has_default_size;
        return messages(step_warnings(request(spec), step));
    };
    using Lines = std::vector<std::string>;
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 3, false),
              Lines{"distgpu: --distgpu=pytorch: the step runs on 2 of the 3 nodes of the "
                    "allocation; use -N3, or -N2 if you want that"});
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 2, false), Lines{});
    EXPECT_EQ(warnings("pytorch", "n[1-2]", {{0, 2, 4, 1}}, 0, false), Lines{});
    EXPECT_EQ(warnings("jax", "n1", {{0, 1, 1, 1}}, 0, true),
              Lines{"distgpu: --distgpu=jax: the step has one task, which trains alone, as rank 0 "
                    "of 1; use -N NODES, --ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if you "
                    "want one task"});
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
std::vector<std::string> warned_of(TaskCountSource task_count_source, bool is_helper = false) {
    Step step = step_of(layout("n[1-2]", {{0, 2, 1, 1}}));
    step.facts.task_count_source = task_count_source;
    step.facts.is_helper = is_helper;
    const NodeFacts node{.gpus = 2, .cpus = 32, .cpus_per_task = 8};
    const auto result = plan(request("pytorch"), step, node);
    return result ? messages(result->warnings) : std::vector{result.error().message()};
}

TEST(PlanWarnings, ChangeANumberOfTasksThatComesBeforeTheTasksOfANode) {
    const std::string idle =
        "distgpu: --distgpu=pytorch: 1 task on a node with 2 GPUs, of which one is idle; use ";
    const std::string launcher = ", or a launcher with --distgpu=torchrun";
    EXPECT_EQ(warned_of(TaskCountSource::per_node),
              std::vector{idle + "--ntasks-per-node=2" + launcher});
    for (const TaskCountSource from : {TaskCountSource::command_line, TaskCountSource::job}) {
        EXPECT_EQ(warned_of(from), std::vector{idle + "--ntasks=4 --ntasks-per-node=2" + launcher});
    }
    EXPECT_EQ(warned_of(TaskCountSource::per_node, true), std::vector<std::string>{}) << "a helper";
}

TEST(StepRefusals, NameTheNumberOfTasksThatSrunTakesFirst) {
    const auto refused = [](const char* spec, TaskCountSource from,
                            std::vector<std::string> program) {
        Step step = step_of(layout("n[1-2]", {{0, 2, 4, 1}}));
        step.facts.task_count_source = from;
        step.facts.program = std::move(program);
        const auto error = refusal(request(spec), step);
        const std::string remedy = error ? error->remedy : "";
        return remedy.substr(0, remedy.find(','));
    };
    const std::string job = "--ntasks=$SLURM_NNODES --ntasks-per-node=1";
    const std::string line = "--ntasks=2 --ntasks-per-node=1";
    EXPECT_EQ(refused("torchrun", TaskCountSource::per_node, {}),
              "use --ntasks-per-node=1 --distgpu=torchrun");
    EXPECT_EQ(refused("torchrun", TaskCountSource::job, {}), "use " + job + " --distgpu=torchrun");
    EXPECT_EQ(refused("torchrun", TaskCountSource::command_line, {}),
              "use " + line + " --distgpu=torchrun");
    EXPECT_EQ(refused("vllm", TaskCountSource::job, {}), "use " + job + " --distgpu=vllm");
    EXPECT_EQ(refused("pytorch", TaskCountSource::job, {"torchrun", "train.py"}),
              "use --distgpu=torchrun with " + job);
}

std::string text_of(const std::vector<Mismatch>& mismatches) {
    std::string text;
    for (const Mismatch& misfit : mismatches) {
        text += (misfit.is_refusal ? "refused: " : "warned: ") + misfit.error.message() + "\n";
    }
    return text;
}

SampleStep sample_step(const std::string& spec, const std::string& line, const char* counts) {
    const bool is_one = std::string(counts) == "1";
    SampleStep step(spec.c_str(), is_one ? "n1" : "n[1-2]", counts);
    std::istringstream words(line);
    for (std::string word; words >> word;) step.facts.program.push_back(word);
    return step;
}

// Of the step as a whole.
std::string judged(const std::string& spec, const std::string& line, const char* counts = "1(x2)") {
    return text_of(launcher_mismatches(sample_step(spec, line, counts).view(), {}));
}

// Of its first node, with four GPUs and rank 0's port 25000.
std::string on_node(const std::string& spec, const std::string& line, std::uint32_t gpus = 4) {
    NodeFacts node;
    node.gpus = gpus;
    node.cpus = 16;
    const Rendezvous rendezvous{.address = "n1", .port = 25000};
    return text_of(
        node_launcher_mismatches(sample_step(spec, line, "1(x2)").view(), node, rendezvous));
}

const std::string alone = "each of the step's 2 nodes would train alone; ";
const std::string own = "every node would get the same value, but each needs its own; ";
const std::string sets = "leave it out: --distgpu=torchrun sets it\n";

TEST(LauncherLine, ThatMakesEachNodeTrainAloneIsRefused) {
    EXPECT_EQ(judged("torchrun", "torchrun --standalone train.py"),
              "refused: distgpu: torchrun --standalone: " + alone + "leave it out\n");
    for (const char* option : {"--nnodes=1", "--nnodes 1", "--nn=1", "--nnodes=1:1"}) {
        EXPECT_EQ(judged("torchrun", std::string("torchrun ") + option + " train.py"),
                  std::string("refused: distgpu: torchrun ") + option + ": " + alone + sets);
    }
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch --num_machines 1 train.py"),
              "refused: distgpu: accelerate launch --num_machines 1: " + alone +
                  "write --num_machines $SLURM_NNODES\n");
    EXPECT_EQ(judged("deepspeed,per-node", "deepspeed --no_ssh --num_nodes 1 train.py"),
              "refused: distgpu: deepspeed --num_nodes 1: " + alone +
                  "write --num_nodes $SLURM_NNODES\n");
    EXPECT_EQ(judged("deepspeed,per-node", "deepspeed --no_ssh --include=localhost:0,1 a"),
              "refused: distgpu: deepspeed --include=localhost:0,1: " + alone + "leave it out\n");
}

TEST(LauncherLine, OfAnotherNumberOfNodesIsRefused) {
    const std::string vain =
        ": the step has 2 nodes, so the launchers would wait for each other forever; ";
    EXPECT_EQ(judged("torchrun", "torchrun --nnodes=3 train.py"),
              "refused: distgpu: torchrun --nnodes=3" + vain + sets);
    EXPECT_EQ(judged("torchrun", "torchrun --nnodes=1:4 train.py"),
              "refused: distgpu: torchrun --nnodes=1:4" + vain + sets);
    EXPECT_NE(judged("torchrun,rdzv=c10d", "torchrun --nnodes=3:4 train.py"), "");
}

TEST(LauncherLine, WithANodesOwnNumberIsRefused) {
    EXPECT_EQ(judged("torchrun", "torchrun --node_rank=0 train.py"),
              "refused: distgpu: torchrun --node_rank=0: " + own + sets);
    EXPECT_EQ(judged("accelerate,per-node",
                     "accelerate launch --num_machines 2 --machine_rank 0 train.py"),
              "refused: distgpu: accelerate launch --machine_rank 0: " + own +
                  "write --machine_rank $NODE_RANK within bash -c '...'\n");
    EXPECT_EQ(judged("composer", "composer --base_rank=0 train.py"),
              "refused: distgpu: composer --base_rank=0: " + own +
                  "leave it out: --distgpu=composer sets it\n");
    EXPECT_EQ(judged("torchrun", "torchrun --node_rank=1 train.py", "1"),
              "refused: distgpu: torchrun --node_rank=1: the step has one node, whose number is "
              "0; " +
                  sets);
}

TEST(LauncherLine, WithAnotherAddressIsRefused) {
    EXPECT_EQ(judged("torchrun", "torchrun --master_addr=localhost train.py"),
              "refused: distgpu: torchrun --master_addr=localhost: each of the step's 2 nodes "
              "would look for rank 0 on itself; " +
                  sets);
    EXPECT_EQ(judged("composer", "composer --master_addr n2 train.py"),
              "refused: distgpu: composer --master_addr n2: rank 0 runs on n1; leave it out: "
              "--distgpu=composer sets it\n");
    EXPECT_NE(judged("torchrun,rdzv=c10d", "torchrun --rdzv_endpoint=[::1]:29500 train.py"), "");
    EXPECT_NE(judged("torchrun", "torchrun --rdzv-endpoint n2:29500 train.py"), "");
}

TEST(LauncherLine, OfTheOtherRendezvousIsRefusedOrTold) {
    EXPECT_EQ(judged("torchrun", "torchrun --rdzv_backend=c10d train.py"),
              "refused: distgpu: torchrun --rdzv_backend=c10d: without --rdzv-endpoint each of "
              "the step's 2 nodes would wait for the others on itself; use "
              "--distgpu=torchrun,rdzv=c10d without --rdzv-backend\n");
    EXPECT_EQ(
        judged("torchrun", "torchrun --rdzv_backend=c10d --rdzv_endpoint=n1:1 --node_rank=0 a"),
        "warned: distgpu: torchrun --rdzv_backend=c10d: the launchers agree on the ranks, "
        "which --distgpu=torchrun would give; use --distgpu=torchrun,rdzv=c10d without "
        "--rdzv-backend\n");
    EXPECT_EQ(judged("torchrun,rdzv=c10d", "torchrun --rdzv_backend=static train.py"),
              "refused: distgpu: torchrun --rdzv_backend=static: each node would have node "
              "rank 0; leave it out, or use --distgpu=torchrun\n");
    EXPECT_EQ(judged("torchrun,rdzv=c10d", "torchrun --rdzv_conf=is_host=1 train.py"),
              "refused: distgpu: torchrun --rdzv_conf=is_host=1: every node would get the same "
              "value, but only rank 0's node serves the store; leave is_host out: distgpu gives "
              "each node its own\n");
    EXPECT_EQ(judged("torchrun", "torchrun --local_addr=n1 train.py"),
              "warned: distgpu: torchrun --local_addr=n1: every node would get the same value; "
              "leave it out: distgpu gives each node its own\n");
}

TEST(LauncherLine, WithoutWhatTheLauncherNeedsIsTold) {
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch train.py"),
              "warned: distgpu: accelerate launch: without --num_machines each of the step's 2 "
              "nodes trains alone, unless a configuration file says otherwise; write bash -c "
              "'accelerate launch --num_machines $SLURM_NNODES --machine_rank $NODE_RANK "
              "--main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT ...', or use "
              "--distgpu=accelerate with a task for each GPU\n");
    EXPECT_EQ(judged("deepspeed,per-node", "deepspeed --num_gpus=4 train.py"),
              "refused: distgpu: deepspeed: without --no_ssh each of the step's 2 nodes would "
              "train alone, or start all of them again over ssh; write --no_ssh, with --hostfile, "
              "--node_rank and --master_addr, or use --distgpu=deepspeed with a task for each "
              "GPU\n");
    EXPECT_EQ(judged("lightning,per-node", "fabric run train.py --devices=2"),
              "refused: distgpu: fabric run: without --num-nodes each of the step's 2 nodes would "
              "train alone; write bash -c 'fabric run --num-nodes $SLURM_NNODES --node-rank "
              "$NODE_RANK --main-address $MASTER_ADDR --main-port $MASTER_PORT ...', or use "
              "--distgpu=lightning with a task for each GPU\n");
    EXPECT_EQ(judged("accelerate,per-node",
                     "accelerate launch --num_machines=2 --deepspeed_multinode_launcher pdsh a"),
              "refused: distgpu: accelerate launch --deepspeed_multinode_launcher pdsh: each "
              "node's launcher would start the processes of all nodes; use "
              "--deepspeed_multinode_launcher standard\n");
}

TEST(LauncherLine, ThatAgreesIsFine) {
    for (const char* line :
         {"torchrun --nnodes=2 --rdzv_id=7 train.py", "torchrun train.py --nnodes=1",
          "torchrun --nnodes=$SLURM_NNODES --node_rank=$SLURM_NODEID train.py",
          "torchrun --master_addr=n1 --master_port=25000 train.py",
          "torchrun --master_addr=n1-ib0 train.py", "torchrun -m train --nnodes=1",
          "torchrun --nproc_per_node=gpu train.py", "torchrun --rdzv_endpoint=n1:29500 train.py",
          "python3 -m torch.distributed.run --nnodes 2 train.py", "python3 train.py --nnodes=1"}) {
        EXPECT_EQ(judged("torchrun", line), "") << line;
    }
    EXPECT_EQ(judged("torchrun", "torchrun --standalone --nnodes=1 --node_rank=0 a", "1"), "");
    EXPECT_EQ(judged("torchrun,rdzv=c10d", "torchrun --nnodes=1:4 --node_rank=0 train.py"), "");
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch --config_file=a.yaml a"), "");
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch --num_machines $N a"), "");
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch $OPTIONS a"), "");
    EXPECT_EQ(judged("accelerate,per-node", "accelerate launch a", "1"), "");
    EXPECT_EQ(judged("deepspeed,per-node", "deepspeed --hostfile=h --no_ssh --node_rank=$N a"), "");
    EXPECT_EQ(judged("deepspeed,per-node", "deepspeed a", "1"), "");
    EXPECT_EQ(judged("lightning,per-node", "fabric run train.py --num-nodes=2"), "");
    EXPECT_EQ(judged("lightning,per-node", "python3 train.py"), "");
    EXPECT_EQ(judged("pytorch", "torchrun --nnodes=1 train.py"), "");
}

TEST(LauncherLine, OfANodesProcessesIsComparedWithItsGpus) {
    EXPECT_EQ(on_node("torchrun", "torchrun --nproc_per_node=2 train.py"),
              "warned: distgpu: torchrun --nproc_per_node=2: 2 processes on a node with 4 GPUs, "
              "of which 2 are idle; use 4\n");
    EXPECT_EQ(on_node("torchrun", "torchrun --nproc_per_node 8 train.py"),
              "warned: distgpu: torchrun --nproc_per_node 8: 8 processes on a node with 4 GPUs in "
              "this step; use 4\n");
    EXPECT_EQ(on_node("accelerate,per-node", "accelerate launch --num_processes 4 train.py"),
              "warned: distgpu: accelerate launch --num_processes 4: 2 processes on a node with 4 "
              "GPUs, of which 2 are idle; use 8\n");
    EXPECT_EQ(on_node("torchrun", "torchrun --nproc_per_node=4 train.py"), "");
    EXPECT_EQ(on_node("torchrun", "torchrun --nproc_per_node=2 train.py", 0), "");
    EXPECT_EQ(on_node("accelerate,per-node", "accelerate launch --num_processes=8 train.py"), "");
    EXPECT_EQ(
        judged("accelerate,per-node", "accelerate launch --num_machines=2 --num_processes=1 a"),
        "refused: distgpu: accelerate launch --num_processes=1: fewer processes than the "
        "step's 2 nodes; write --num_processes with the number of all GPUs of the step\n");
}

// Composer's variables count the processes of all nodes.
TEST(LauncherLine, OfComposersWorldMustAgree) {
    EXPECT_EQ(on_node("composer", "composer -n 2 train.py"),
              "refused: distgpu: composer -n 2: --distgpu=composer expects 4 processes on each "
              "node; leave it out, or write --distgpu=composer,nproc=2\n");
    EXPECT_EQ(on_node("composer", "composer --world_size=4 train.py"),
              "refused: distgpu: composer --world_size=4: the step has 8 processes, 4 on each "
              "node; leave it out, or write --distgpu=composer,nproc=N\n");
    EXPECT_EQ(on_node("composer", "composer -n4 --world_size=8 train.py"), "");
    EXPECT_EQ(on_node("composer,nproc=2", "composer -n2 --world_size=4 train.py"), "");
    const std::uint32_t not_known = 0;
    EXPECT_EQ(on_node("composer", "composer -n 4 --world_size=8 train.py", not_known), "");
}

TEST(LauncherLine, OfAnotherPortIsTold) {
    EXPECT_EQ(on_node("torchrun", "torchrun --master_port=29500 train.py"),
              "warned: distgpu: torchrun --master_port=29500: not the port that distgpu tests, "
              "which is 25000; leave it out, or write --distgpu=torchrun,port=29500\n");
    EXPECT_EQ(on_node("torchrun", "torchrun --master_port=25000 train.py"), "");
    EXPECT_EQ(on_node("torchrun", "torchrun --rdzv_backend=c10d --master_port=29500 a"), "");
}

}  // namespace
}  // namespace distgpu::plan_testing

// Options of launchers that say of the step what is not so.
#include "mapping/plan/launcher_line.h"

#include "mapping/frameworks/task_values.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace distgpu {
namespace {

std::string text_of(const std::vector<Misfit>& misfits) {
    std::string text;
    for (const Misfit& misfit : misfits) {
        text += (misfit.impossible ? "refused: " : "warned: ") + misfit.error.message() + "\n";
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
    return text_of(launcher_misfits(sample_step(spec, line, counts).view(), {}));
}

// Of its first node, with four GPUs and rank 0's port 25000.
std::string on_node(const std::string& spec, const std::string& line, std::uint32_t gpus = 4) {
    NodeFacts node;
    node.gpus = gpus;
    node.cpus = 16;
    const Rendezvous rendezvous{.address = "n1", .port = 25000};
    return text_of(launcher_misfits_on(sample_step(spec, line, "1(x2)").view(), node, rendezvous));
}

const std::string alone = "each of the step's 2 nodes would train alone; ";
const std::string own = "the same on every node, as the command line is, but each needs its own; ";
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
        ": the step has 2 nodes, so the launchers would wait for each other in vain; ";
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
              "refused: distgpu: torchrun --rdzv_backend=static: each node would have the node "
              "rank 0; leave it out, or use --distgpu=torchrun\n");
    EXPECT_EQ(judged("torchrun,rdzv=c10d", "torchrun --rdzv_conf=is_host=1 train.py"),
              "refused: distgpu: torchrun --rdzv_conf=is_host=1: the same on every node, but only "
              "rank 0's serves the store; leave is_host out: distgpu gives each node its own\n");
    EXPECT_EQ(judged("torchrun", "torchrun --local_addr=n1 train.py"),
              "warned: distgpu: torchrun --local_addr=n1: the same on every node; leave it out: "
              "distgpu gives each node its own\n");
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
              "refused: distgpu: composer -n 2: --distgpu=composer counts 4 processes on each "
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
}  // namespace distgpu

// What `distgpu convert` leaves alone, and the edges of what it changes. Whole scripts are golden
// files: tests/convert.
#include "convert/convert_script.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

// The script's commands behind a usual head, converted.
std::string converted(const std::string& commands,
                      const std::string& directives = "-N2 --gres=gpu:4") {
    const std::string head = "#!/bin/bash\n#SBATCH " + directives + "\n";
    const std::string script = head + commands;
    const std::string result = changed(script, convert_script(script).changes);
    EXPECT_EQ(result.substr(0, head.size()), head);
    return result.substr(head.size());
}

std::string first_note(const std::string& commands) {
    const ScriptConversion conversion = convert_script("#!/bin/bash\n" + commands);
    return conversion.notes.empty() ? "" : conversion.notes.front().text;
}

TEST(ConvertScript, WhatStartsNoTrainingStays) {
    for (const char* commands :
         {"srun hostname\n", "python3 train.py\n", "srun python3 prepare.py\n", "echo torchrun\n",
          "export MASTER_PORT=1\npython3 a.py\n", "srun --distgpu=pytorch torchrun train.py\n",
          "cat <<EOF\nsrun torchrun a.py\nEOF\n", "# srun torchrun a.py\n"}) {
        EXPECT_EQ(converted(commands), commands);
    }
}

TEST(ConvertScript, OptionsThatTheModeSetsGo) {
    EXPECT_EQ(
        converted("srun torchrun --nnodes=2 --nproc-per-node=4 --max_restarts 3 a.py --nnodes 2\n"),
        "srun --distgpu=torchrun torchrun --max_restarts 3 a.py --nnodes 2\n");
    EXPECT_EQ(converted("srun -N2 torchrun --nproc_per_node=2 -m package.module\n"),
              "srun -N2 --distgpu=torchrun,nproc=2 torchrun -m package.module\n");
    EXPECT_EQ(
        converted(
            "srun python3 -u -m torch.distributed.launch --use_env --nproc_per_node $N a.py\n"),
        "srun --distgpu=torchrun python3 -u -m torch.distributed.run a.py\n");
    // Without --use_env it gives the script --local-rank.
    EXPECT_EQ(converted("srun python3 -m torch.distributed.launch --nproc_per_node 4 a.py\n"),
              "srun --distgpu=torchrun python3 -m torch.distributed.launch a.py\n");
}

TEST(ConvertScript, OneLauncherOnEachNode) {
    EXPECT_EQ(
        converted("torchrun --nnodes 2 a.py\n", "-N2 --ntasks-per-node=4 -c 8"),
        "srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 --cpus-per-task=$SLURM_CPUS_PER_TASK "
        "--distgpu=torchrun torchrun a.py\n");
    EXPECT_EQ(converted("torchrun a.py\n", "-N2 --ntasks-per-node=1"),
              "srun --distgpu=torchrun torchrun a.py\n");
}

TEST(ConvertScript, MpirunBecomesSrun) {
    EXPECT_EQ(converted("mpirun -np 8 -x A=1 python3 a.py\n", "-N2 --ntasks-per-node=2"),
              "A=1 srun --mpi=pmix --ntasks=8 --distgpu=ompi python3 a.py\n");
    EXPECT_EQ(converted("mpirun -np 4 ./horovod_a\n", "-N2 --ntasks-per-node=2"),
              "srun --mpi=pmix --distgpu=horovod ./horovod_a\n");
    EXPECT_EQ(converted("mpirun --mca btl ^openib python3 a.py\n"),
              "mpirun --mca btl ^openib python3 a.py\n");
    EXPECT_EQ(first_note("mpirun --mca btl ^openib python3 a.py\n"),
              "--mca of mpirun is not understood; the command stays as it is");
}

TEST(ConvertScript, VariablesStayWhereSomethingNeedsThem) {
    const std::string launch = "srun --distgpu=torchrun torchrun a.py";
    EXPECT_EQ(converted("MASTER_ADDR=x\nsrun torchrun --master_addr=$MASTER_ADDR a.py\n"),
              launch + "\n");
    EXPECT_EQ(converted("MASTER_ADDR=x\nsrun torchrun a.py --address ${MASTER_ADDR}\n"),
              "MASTER_ADDR=x\n" + launch + " --address ${MASTER_ADDR}\n");
    // Its program may read it.
    EXPECT_EQ(converted("export GPUS=4\nsrun torchrun --nproc_per_node=$GPUS a.py\n"),
              "export GPUS=4\n" + launch + "\n");
    // Nothing shows what B is for.
    EXPECT_EQ(converted("A=1 B=2\nsrun torchrun --rdzv_id=$A a.py\n"), "A=1 B=2\n" + launch + "\n");
    EXPECT_EQ(converted("A=1; B=2\nsrun torchrun --rdzv_id=$A a.py $B\n"),
              "A=1; B=2\n" + launch + " $B\n");
}

TEST(ConvertScript, NoCommandIsTakenOutOfABlock) {
    const std::string block = "if true; then\n  MASTER_PORT=1\nfi\n";
    EXPECT_EQ(converted(block + "srun torchrun --master_port=$MASTER_PORT a.py\n"),
              block + "srun --distgpu=torchrun torchrun a.py\n");
}

TEST(ConvertScript, TheTextBehindShellsKeepsItsQuotes) {
    EXPECT_EQ(converted("srun bash -c 'torchrun --node_rank $SLURM_NODEID a.py --dir $DIR'\n"),
              "srun --distgpu=torchrun bash -c 'torchrun a.py --dir $DIR'\n");
    EXPECT_EQ(converted("srun sh -c \"torchrun --node_rank \\$SLURM_NODEID a.py \\$A $B\"\n"),
              "srun --distgpu=torchrun sh -c \"torchrun a.py \\$A $B\"\n");
    const std::string two = "srun bash -c 'cd x; torchrun a.py'\n";
    EXPECT_EQ(converted(two), two);
    EXPECT_NE(first_note(two), "");
}

TEST(ConvertScript, LinesThatAreLeftStayJoined) {
    EXPECT_EQ(converted("srun torchrun \\\n  --nnodes 2 \\\n  a.py \\\n  --b\n"),
              "srun --distgpu=torchrun torchrun \\\n  a.py \\\n  --b\n");
    EXPECT_EQ(converted("srun \\\n  torchrun a.py \\\n  --nnodes\n"),
              "srun \\\n  --distgpu=torchrun torchrun a.py \\\n  --nnodes\n");
}

TEST(ConvertScript, ElasticTrainingAndLoopsAreNotUnderstood) {
    EXPECT_EQ(first_note("srun torchrun --nnodes=1:4 a.py\n"),
              "a range of nodes is for elastic training; the command stays as it is");
    EXPECT_NE(first_note("for n in $H; do ssh $n \"torchrun a.py\"; done\n"), "");
    EXPECT_EQ(first_note("deepspeed --hostfile h a.py\n"),
              "how many GPUs a node has is not known; the command stays as it is");
}

TEST(UnifiedDiff, ShowsWhereLinesChange) {
    const std::string text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    EXPECT_EQ(unified_diff("f", text, {{1, 1, {}}, {10, 1, {"a", "b"}}}),
              "--- f\n+++ f (converted)\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
              "@@ -8,5 +7,6 @@\n 8\n 9\n 10\n-11\n+a\n+b\n 12\n");
    EXPECT_EQ(unified_diff("f", text, {}), "");
}

}  // namespace
}  // namespace distgpu

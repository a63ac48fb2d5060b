// What `distgpu convert` leaves alone, and the edges of what it changes. Whole scripts are golden
// files: tests/convert.
#include "convert/convert_script.h"

#include "base/format.h"

#include <gtest/gtest.h>

#include <array>
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
            "srun python3 -u -m torch.distributed.launch --use_env --nproc_per_node 4 a.py\n"),
        "srun --distgpu=torchrun python3 -u -m torch.distributed.run a.py\n");
    // Without --use_env it gives the script --local-rank.
    EXPECT_EQ(converted("srun python3 -m torch.distributed.launch --nproc_per_node 4 a.py\n"),
              "srun --distgpu=torchrun python3 -m torch.distributed.launch a.py\n");
}

TEST(ConvertScript, OneLauncherOnEachNode) {
    EXPECT_EQ(converted("torchrun --nnodes 2 a.py\n", "-N2 --ntasks-per-node=4 -c 8"),
              "srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 --cpus-per-task=32 "
              "--distgpu=torchrun torchrun a.py\n");
    EXPECT_EQ(converted("torchrun a.py\n", "-N2 --ntasks-per-node=1"),
              "srun --distgpu=torchrun torchrun a.py\n");
}

TEST(ConvertScript, CpusThatSrunDoesNotInherit) {
    const auto note = [](const std::string& before, const std::string& srun = "srun") {
        return first_note("#SBATCH --cpus-per-task=10\n" + before + srun + " torchrun a.py\n");
    };
    const std::string told =
        "srun does not inherit --cpus-per-task on every release; add "
        "--cpus-per-task=$SLURM_CPUS_PER_TASK";
    EXPECT_EQ(note(""), told);
    EXPECT_EQ(note("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n"), "");
    EXPECT_EQ(note("export OMP_NUM_THREADS=1 SRUN_CPUS_PER_TASK=4\n"), "");
    EXPECT_EQ(note("SRUN_CPUS_PER_TASK=4\nexport SRUN_CPUS_PER_TASK\n"), "");
    EXPECT_EQ(note("declare -x SRUN_CPUS_PER_TASK=4\n"), "");
    EXPECT_EQ(note("if true; then export SRUN_CPUS_PER_TASK=4; fi\n"), "");
    EXPECT_EQ(note("", "SRUN_CPUS_PER_TASK=4 srun"), "");
    // Which srun does not see.
    EXPECT_EQ(note("SRUN_CPUS_PER_TASK=4\n"), told);
    EXPECT_EQ(note("SRUN_CPUS_PER_TASK=4 ./prepare\n"), told);
    EXPECT_EQ(note("export SRUN_CPUS_PER_TASK=4\nunset SRUN_CPUS_PER_TASK\n"), told);
    EXPECT_EQ(note("export SLURM_CPUS_PER_TASK=4\n"), told);
}

TEST(ConvertScript, MpirunBecomesSrun) {
    EXPECT_EQ(converted("mpirun -np 8 -x A=1 python3 a.py\n", "-N2 --ntasks-per-node=2"),
              "A=1 srun --mpi=pmix --ntasks=8 --distgpu=ompi python3 a.py\n");
    EXPECT_EQ(converted("mpirun -np 4 ./horovod_a\n", "-N2 --ntasks-per-node=2"),
              "srun --mpi=pmix --distgpu=horovod ./horovod_a\n");
    EXPECT_EQ(converted("mpirun --rankfile r python3 a.py\n"),
              "mpirun --rankfile r python3 a.py\n");
    EXPECT_EQ(first_note("mpirun --rankfile r python3 a.py\n"),
              "--rankfile of mpirun is not understood; the command stays as it is");
}

TEST(ConvertScript, WhatMpirunSetsStaysSet) {
    EXPECT_EQ(converted("mpirun -x A=1 -x B -x C=\"x y\" --mca btl ^openib -mca pml ob1 ./a\n"),
              "env A=1 C=\"x y\" OMPI_MCA_btl=^openib OMPI_MCA_pml=ob1 srun --mpi=pmix "
              "--distgpu=ompi ./a\n");
    EXPECT_EQ(converted("exec mpirun -x A=1 ./a\n"),
              "exec env A=1 srun --mpi=pmix --distgpu=ompi ./a\n");
}

TEST(ConvertScript, AsManyTasksAsMpirunWasTold) {
    struct Case {
        const char* of_mpirun;
        const char* directives;
        const char* of_srun;
    };
    static constexpr std::array cases{
        Case{"-np $SLURM_NTASKS", "-N2 --ntasks-per-node=4", ""},
        Case{"-np ${SLURM_NPROCS}", "-N2 --ntasks-per-node=4", ""},
        Case{"-np 8", "-N2 -n 8", ""},
        // Others that only begin like it.
        Case{"-np $SLURM_NTASKS_PER_NODE", "-N2 --ntasks-per-node=4",
             "--ntasks=$SLURM_NTASKS_PER_NODE "},
        Case{"-np $((SLURM_NTASKS / 2))", "-N2 --ntasks-per-node=4",
             "--ntasks=$((SLURM_NTASKS / 2)) "},
        Case{"-npernode 4", "-N2 --ntasks-per-node=1",
             "--ntasks=$((SLURM_NNODES * 4)) --ntasks-per-node=4 "},
        Case{"--map-by ppr:4:node", "-N2 --ntasks-per-node=4", ""},
        // The CPUs of the job's tasks are shared.
        Case{"-np 8", "-N2 --ntasks-per-node=1 -c 16", "--ntasks=8 --cpus-per-task=4 "},
        Case{"-np 8 -N 4", "-N2 --ntasks-per-node=1 -c 16",
             "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=4 "},
        Case{"--oversubscribe", "-N2 --ntasks-per-node=2 -c 16",
             "--cpus-per-task=$SLURM_CPUS_PER_TASK "},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(converted(formatted("mpirun {} ./a\n", each.of_mpirun), each.directives),
                  formatted("srun --mpi=pmix {}--distgpu=ompi ./a\n", each.of_srun));
    }
}

TEST(ConvertScript, DeepspeedStartsWhatItsLauncherStarted) {
    EXPECT_EQ(
        converted("deepspeed --hostfile h a.py\n", "-N2 --ntasks-per-node=4 --gres=gpu:4 -c8"),
        "srun --cpus-per-task=$SLURM_CPUS_PER_TASK --distgpu=deepspeed python3 a.py\n");
    EXPECT_EQ(converted("N=2\ndeepspeed --hostfile h --num_gpus $N a.py\n"),
              "srun --ntasks=$((SLURM_NNODES * 2)) --ntasks-per-node=2 --distgpu=deepspeed "
              "python3 a.py\n");
    for (const char* commands : {"deepspeed --hostfile h --include localhost:0,1 a.py\n",
                                 "deepspeed a.py\n", "deepspeed --hostfile h --num_gpus $N a.py\n",
                                 "deepspeed --hostfile h $OPTIONS a.py\n"}) {
        EXPECT_EQ(converted(commands), commands);
    }
}

TEST(ConvertScript, ANumberThatOnlyTheShellKnowsStays) {
    EXPECT_EQ(converted("srun torchrun --nnodes 2 --nproc_per_node $N a.py\n"),
              "srun --distgpu=torchrun torchrun --nproc_per_node $N a.py\n");
    EXPECT_EQ(converted("srun torchrun --nproc_per_node=${SLURM_GPUS_ON_NODE} a.py\n"),
              "srun --distgpu=torchrun torchrun a.py\n");
    EXPECT_EQ(converted("N=2\nsrun torchrun --nproc_per_node=$N a.py\n"),
              "srun --distgpu=torchrun,nproc=2 torchrun a.py\n");
    EXPECT_EQ(converted("N=2\nN=4\nsrun torchrun --nproc_per_node=$N a.py\n"),
              "N=2\nN=4\nsrun --distgpu=torchrun torchrun --nproc_per_node=$N a.py\n");
}

TEST(ConvertScript, WhatTheScriptStartsOnEachNodeStays) {
    for (const char* commands :
         {"srun -w $node torchrun --nnodes 2 a.py\n", "srun -N1 -r 1 torchrun a.py\n",
          "srun -N1 torchrun --nnodes=2 --node_rank=$i a.py\n",
          "torchrun --nnodes=2 --node_rank 0 a.py\n",
          "srun accelerate launch --num_machines 2 --machine_rank 0 a.py\n",
          "torchrun --nnodes=2 --node_rank=$SLURM_PROCID a.py\n",
          "torchrun a.py &\ntorchrun b.py &\nwait\n"}) {
        EXPECT_EQ(converted(commands), commands);
        EXPECT_NE(first_note(commands), "") << commands;
    }
    EXPECT_EQ(converted("srun torchrun --nnodes 2 a.py & wait\n"),
              "srun --distgpu=torchrun torchrun a.py & wait\n");
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
    // In arithmetic; by a step that stays; by a name of its own.
    EXPECT_EQ(converted("A=2\nB=$((A * 4))\nsrun torchrun --nnodes $A a.py $B\n"),
              "A=2\nB=$((A * 4))\n" + launch + " $B\n");
    EXPECT_EQ(converted("export MASTER_PORT=1\nsrun torchrun a.py\nsrun ./b.sh x\n"),
              "export MASTER_PORT=1\n" + launch + "\nsrun ./b.sh x\n");
    EXPECT_EQ(converted("MASTER_ADDR=x\nexport MASTER_ADDR\nsrun torchrun a.py\n"), launch + "\n");
    // What the mode does not set.
    EXPECT_EQ(converted("export MASTER_ADDR=x\nhorovodrun -np 2 python3 a.py\n"),
              "export MASTER_ADDR=x\nsrun --mpi=pmix --ntasks=2 --distgpu=horovod python3 a.py\n");
    // A comment needs nothing.
    EXPECT_EQ(converted("# MASTER_PORT is any\nMASTER_PORT=1\nsrun torchrun a.py\n"),
              "# MASTER_PORT is any\n" + launch + "\n");
    // Nothing shows what B is for.
    EXPECT_EQ(converted("A=1 B=2\nsrun torchrun --rdzv_id=$A a.py\n"), "A=1 B=2\n" + launch + "\n");
    EXPECT_EQ(converted("A=1; B=2\nsrun torchrun --rdzv_id=$A a.py $B\n"),
              "A=1; B=2\n" + launch + " $B\n");
}

TEST(ConvertScript, ExportsStayForWhateverMayReadThem) {
    const std::string exported = "export MASTER_PORT=1\n";
    for (const std::string other : {"timeout 60 srun python3 b.py\n",
                                    "if true; then srun python3 b.py; fi\n",
                                    "nohup srun python3 b.py\n",
                                    "env X=1 srun python3 b.py\n",
                                    "( srun python3 b.py )\n",
                                    "(srun python3 b.py)\n",
                                    "{ srun python3 b.py; }\n",
                                    "! srun python3 b.py\n",
                                    "command srun python3 b.py\n",
                                    "/usr/bin/time -v srun python3 b.py\n",
                                    "for i in 1 2; do srun python3 b.py; done\n",
                                    "while srun python3 b.py; do true; done\n",
                                    "parallel srun python3 ::: b.py\n",
                                    "coproc srun python3 b.py\n",
                                    "eval \"srun python3 b.py\"\n",
                                    "case $A in a) srun python3 b.py;; esac\n",
                                    "trap \"srun python3 b.py\" EXIT\n",
                                    "A=$(srun python3 b.py)\n",
                                    "A=`srun python3 b.py`\n",
                                    "cat <(srun python3 b.py)\n",
                                    "echo \"$(srun python3 b.py)\"\n",
                                    "$SRUN python3 b.py\n",
                                    "source ./common.sh\n",
                                    ". ./common.sh\n",
                                    "./submit_step\n",
                                    "ssh node02 python3 b.py\n",
                                    "python3 monitor.py &\n",
                                    "srun env python3 b.py\n",
                                    "srun ./b echo\n",
                                    "srun ./echo a\n",
                                    "srun --task-prolog=./b hostname\n",
                                    "./echo a\n",
                                    "export -p > variables\n",
                                    "set > variables\n",
                                    "echo \"$(echo \")\"; ./b)\"\n",
                                    "awk 'BEGIN { print ENVIRON[\"MASTER_PORT\"] }'\n",
                                    "scontrol update JobId=1 Comment=a\n",
                                    "sed 's/a/b/e' a.txt\n",
                                    "echo $(( $(./b) + 1 ))\n"}) {
        const std::string result = converted(exported + other + "srun torchrun a.py\n");
        EXPECT_TRUE(result.starts_with(exported + other)) << result;
        EXPECT_TRUE(result.ends_with("srun --distgpu=torchrun torchrun a.py\n")) << result;
    }
    EXPECT_EQ(first_note(exported + "timeout 60 ./b\nsrun torchrun a.py\n"),
              "MASTER_PORT stays, because what line 3 starts may read it");
}

TEST(ConvertScript, ExportsStayForWhatHidesThatItReadsThem) {
    const std::string exported = "export MASTER_PORT=1\n";
    for (const std::string other :
         {// Started in a text that the shell replaces.
          "cat <<EOF\n$(./b)\nEOF\n", "cat <<-EOF | tr a b\n\t`./b`\n\tEOF\n",
          ": <<A <<'B'\n$(./b)\nA\nB\n", "A=$(cat <<EOF\n$(./b)\nEOF\n)\n",
          "cat <<EOF; date\n$(./b)\nEOF\n", "cat <<EOF\nIt's $(./b)\nEOF\n",
          "echo $((./b); (./c))\n", "echo $((b) )\n", "((b) )\n", "((b) > c )\n",
          "echo '$(echo '\"$(b)\"\n", "echo '$( # '\"$(./b)\"'\n)'\n",
          "echo $(echo `echo \\`./b\\` \\``)\n",
          // The kernel shows them.
          "cat /proc/self/environ\n", "tr a b </proc/$$/environ\n", "srun cp /proc/1/environ a\n",
          "cd /proc/self\ncat environ\n", "cd /\ncat proc/self/environ\n", "cat //proc/self/*\n",
          "A=/proc/self/environ\ncat $A\n", "A=$(cat /proc/self/environ)\n",
          // So does the shell.
          "env\n", "printenv\n", "export\n", "export -p\n", "declare -x\n", "set\n", "compgen -e\n",
          "echo ${!MASTER_@}\n", "A=MASTER_$B\necho \"${!A}\"\n", "A=MASTER_$B\n[[ -v $A ]]\n",
          // A known name for something else, or an option that starts something.
          "hostname () { ./b; }\n", "hostname ( ) {\n  date\n}\n", "srun -n1 hostname : -n2 ./b\n",
          "srun --prol=./b hostname\n", "srun --multi hostname\n",
          "export SLURM_TASK_PROLOG=./b\nsrun hostname\n", "tar --to-command=./b -xf a\n",
          "tar --use-comp=./b -xf a\n", "tar xIf ./b a\n", "tar -x -I ./b -f a\n",
          "TAR_OPTIONS=--to-command=./b tar xf a\n", "rsync --rsh=./b a c:\n",
          "rsync -ae ./b a c:\n", "srun rsync -e ./b a c:\n", "sort --compress-prog=./b a\n",
          "A='BEGIN { system(\"./b\") }'\nawk \"$A\"\n", "awk -i ./b 1\n", "awk -E ./b\n",
          // What seems to be the rest of the script is none of it.
          "cat <<EOF\n# port $MASTER_PORT\nEOF\n", "echo \"\n#define PORT $MASTER_PORT\n\"\n"}) {
        const std::string result = converted(exported + other + "srun torchrun a.py\n");
        EXPECT_TRUE(result.starts_with(exported + other)) << result;
        EXPECT_TRUE(result.ends_with("srun --distgpu=torchrun torchrun a.py\n")) << result;
    }
    const std::string launch = "srun --distgpu=torchrun torchrun a.py";
    for (const std::string end : {" ${!A}\n", " <<EOF\n$(./b)\nEOF\n", "\necho $[1<<2]\n./b\n"}) {
        EXPECT_EQ(converted(exported + "srun torchrun a.py" + end), exported + launch + end);
    }
    for (const std::string all : {"set -a\n", "set -ea\n", "set -o allexport\n"}) {
        const std::string set = all + "MASTER_PORT=1\n./b\n";
        EXPECT_EQ(converted(set + "srun torchrun a.py\n"), set + launch + "\n");
    }
}

TEST(ConvertScript, EndsSoonWithSubstitutionsInSubstitutions) {
    constexpr std::size_t deep = 20'000;
    std::string set = "A=";
    for (std::size_t i = 0; i < deep; ++i) set += "$(echo ";
    set += std::string(deep, ')') + "\n";
    EXPECT_EQ(first_note("export MASTER_PORT=1\n" + set + "srun torchrun a.py\n"),
              "MASTER_PORT stays, because what line 3 starts may read it");
}

TEST(ConvertScript, ExportsStayForAStepWhoseModeDoesNotDecideThem) {
    const std::string set = "export RANK=0\nsrun --distgpu=jax ./b\n";
    EXPECT_EQ(converted(set + "srun torchrun a.py\n"),
              set + "srun --distgpu=torchrun torchrun a.py\n");
    EXPECT_EQ(first_note(set + "srun torchrun a.py\n"),
              "RANK stays; --distgpu=jax does not set it");
}

TEST(ConvertScript, ExportsGoWhereAllElseIsKnownToReadNothing) {
    for (const std::string other : {"cd x\n",
                                    "module load cuda\n",
                                    "mkdir -p \"$(dirname $A)\"\n",
                                    "date\n",
                                    "source venv/bin/activate\n",
                                    "conda activate a\n",
                                    "srun hostname\n",
                                    "srun -N1 -n1 mkdir -p x\n",
                                    "scontrol show hostnames | sed 's/$/ slots=2/' > hostfile\n",
                                    "awk '{ print $1 }' hosts > first\n",
                                    "if [ -d x ]; then\n  cd x\nfi\n",
                                    "nvidia-smi\n",
                                    "set -euo pipefail\n",
                                    "export LOGLEVEL=INFO\n",
                                    "cat > a <<'EOF'\n$(./b)\nEOF\n",
                                    "cat > a <<\\EOF\n`./b`\nEOF\n",
                                    "cat > a <<EOF\n$(hostname) $((1 + 2))\nEOF\n",
                                    "echo $(( (1 + 2) * (3 + 4) ))\n",
                                    "(( A = 1 + (2) ))\n",
                                    "cat /proc/cpuinfo\n",
                                    "A=$(grep -c ^processor /proc/cpuinfo)\n",
                                    "cp -r /data/proc/a b\n",
                                    "tar -xzf a.tgz -C IF\n",
                                    "tar --strip-components=1 -xf a\n",
                                    "rsync -a --exclude=e a b\n",
                                    "awk -F: '{ print $NF }' a\n",
                                    "sort -n a\n",
                                    "[ -d a ]\n"}) {
        EXPECT_EQ(converted("export MASTER_PORT=1\n" + other + "srun torchrun a.py\n"),
                  other + "srun --distgpu=torchrun torchrun a.py\n");
    }
}

TEST(ConvertScript, ACommentBehindACommandNeedsNoVariable) {
    const std::string exported = "nodes=4\nexport MASTER_PORT=$nodes\n";
    const std::string launch = "srun --distgpu=torchrun torchrun a.py\n";
    EXPECT_EQ(converted(exported + "cd x  # of the nodes\nsrun torchrun a.py\n"),
              "cd x  # of the nodes\n" + launch);
    EXPECT_EQ(converted(exported + "echo \"a # $nodes\"\nsrun torchrun a.py\n"),
              "nodes=4\necho \"a # $nodes\"\n" + launch);
}

TEST(ConvertScript, AValueThatDoesMoreThanPrintStays) {
    for (const std::string value :
         {"$(hostname | tee head.txt)", "$(./reserve_port.sh)", "$(./hostname)", "$(echo ')'; ./b)",
          "$(srun -o a hostname)", "$(srun mkdir a)", "`./reserve_port.sh`",
          "$(hostname > head.txt)", "$(echo $(./reserve_port.sh))"}) {
        const std::string set = "MASTER_PORT=" + value + "\n";
        EXPECT_EQ(converted(set + "srun torchrun --master_port=$MASTER_PORT a.py\n"),
                  set + "srun --distgpu=torchrun torchrun a.py\n");
    }
    EXPECT_EQ(first_note("export MASTER_PORT=$(./reserve_port.sh)\nsrun torchrun a.py\n"),
              "MASTER_PORT stays, because the command that computes it may do more than print; "
              "distgpu sets it in each task");
    EXPECT_EQ(
        converted(
            "MASTER_ADDR=$(srun -n1 hostname)\nsrun torchrun --master_addr=$MASTER_ADDR a.py\n"),
        "srun --distgpu=torchrun torchrun a.py\n");
    EXPECT_EQ(
        converted("MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
                  "srun torchrun --master_addr=$MASTER_ADDR a.py\n"),
        "srun --distgpu=torchrun torchrun a.py\n");
}

TEST(ConvertScript, NoCommandIsTakenOutOfABlock) {
    for (const std::string block :
         {"if true; then\n  MASTER_PORT=1\nfi\n", "f() {\n  MASTER_PORT=1\n}\n",
          "f(){\n  MASTER_PORT=1\n}\n", "function f {\n  MASTER_PORT=1\n}\n",
          "f()\n{\n  MASTER_PORT=1\n}\n", "(\n  MASTER_PORT=1\n)\n", "( true\n  MASTER_PORT=1 )\n",
          "case $1 in\n  a)\n    MASTER_PORT=1\n    ;;\nesac\n", "true &&\n  MASTER_PORT=1\n",
          "true || # no\n  MASTER_PORT=1\n"}) {
        EXPECT_EQ(converted(block + "srun torchrun --master_port=$MASTER_PORT a.py\n"),
                  block + "srun --distgpu=torchrun torchrun a.py\n");
    }
    const std::string closed = "f() { true; }\nif x; then y; fi\n(a; b)\n(c)\n";
    EXPECT_EQ(converted(closed + "MASTER_PORT=1\nsrun torchrun a.py\n"),
              closed + "srun --distgpu=torchrun torchrun a.py\n");
}

TEST(ConvertScript, TheTextBehindShellsKeepsItsQuotes) {
    EXPECT_EQ(converted("srun bash -c 'torchrun --node_rank $SLURM_NODEID a.py --dir $DIR'\n"),
              "srun --distgpu=torchrun bash -c 'torchrun a.py --dir $DIR'\n");
    EXPECT_EQ(converted("srun sh -c \"torchrun --node_rank \\$SLURM_NODEID a.py \\$A $B\"\n"),
              "srun --distgpu=torchrun sh -c \"torchrun a.py \\$A $B\"\n");
    EXPECT_EQ(converted("srun bash -lc 'cd x && torchrun a.py' >log 2>&1\n"),
              "srun --distgpu=torchrun bash -lc 'cd x && torchrun a.py' >log 2>&1\n");
    EXPECT_EQ(converted("srun bash -c \"export RANK=\\$SLURM_PROCID; export LOCAL_RANK=0; "
                        "python3 a.py\"\n"),
              "srun --distgpu=pytorch bash -c \"python3 a.py\"\n");
    EXPECT_EQ(converted("srun bash -c 'torchrun --master_addr '$M' a.py'\n"),
              "srun --distgpu=torchrun bash -c 'torchrun a.py'\n");
    const std::string half = "srun bash -c \"torchrun --rdzv_id \\\"a b\\\" a.py\"\n";
    EXPECT_EQ(converted(half), half);
    const std::string two = "srun bash -c './x; torchrun a.py'\n";
    EXPECT_EQ(converted(two), two);
    EXPECT_NE(first_note(two), "");
}

TEST(ConvertScript, WhatRedirectsTheStepStaysOutsideOfItsShell) {
    const std::string launch = "accelerate launch --num_machines 2 ";
    const std::string machine =
        "--machine_rank \\$NODE_RANK --main_process_ip \\$MASTER_ADDR --main_process_port "
        "\\$MASTER_PORT ";
    EXPECT_EQ(
        converted("srun " + launch + "a.py > log 2>&1\n"),
        "srun --distgpu=accelerate,per-node bash -c \"" + launch + machine + "a.py\" > log 2>&1\n");
    EXPECT_EQ(
        converted("srun " + launch + "a.py 'x y'\n"),
        "srun --distgpu=accelerate,per-node bash -c \"" + launch + machine + "a.py 'x y'\"\n");
    for (const std::string& stays :
         {"srun " + launch + "a.py '$A'\n", "srun " + launch + "a.py \"b\"\n",
          "(cd x; srun " + launch + "a.py)\n", "srun " + launch + "a.py > log --x\n",
          "srun " + launch + "a.py \\$A\n"}) {
        EXPECT_EQ(converted(stays), stays);
    }
}

TEST(ConvertScript, TheModeIsOfTheFrameworkNamed) {
    const auto mode = [](const std::string& commands) {
        const std::string text =
            converted("export MASTER_ADDR=x\n" + commands + "srun python3 a.py\n");
        return text.substr(text.find("--distgpu"));
    };
    EXPECT_EQ(mode("# with jax 0.4\n"), "--distgpu=jax python3 a.py\n");
    EXPECT_EQ(mode("cd train_jax2\n"), "--distgpu=jax python3 a.py\n");
    EXPECT_EQ(mode("cd /home/ajax/accelerated\n"), "--distgpu=pytorch python3 a.py\n");
}

TEST(ConvertScript, WhatHasDistgpuIsDone) {
    const std::string done = "srun torchrun --nnodes 2 a.py\n";
    EXPECT_EQ(converted(done, "-N2 --distgpu=torchrun"), done);
    EXPECT_EQ(first_note("#SBATCH --distgpu=torchrun\n" + done),
              "it has #SBATCH --distgpu already");
    EXPECT_EQ(first_note("srun --distgpu=torchrun torchrun a.py\n"), "");
}

TEST(ConvertScript, LinesThatAreLeftStayJoined) {
    EXPECT_EQ(converted("# see \\\nexport MASTER_ADDR=x\n\nsrun torchrun a.py\n"),
              "# see \\\n\nsrun --distgpu=torchrun torchrun a.py\n");
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

TEST(ConvertScript, WhatIsNotClosedEndsWithTheScript) {
    EXPECT_EQ(converted("srun torchrun a.py\nexport MASTER_ADDR=$(x\n"),
              "srun --distgpu=torchrun torchrun a.py\nexport MASTER_ADDR=$(x\n");
    EXPECT_EQ(converted("srun torchrun --nnodes 2 'a.py\n"),
              "srun --distgpu=torchrun torchrun 'a.py\n");
}

TEST(UnifiedDiff, ShowsWhereLinesChange) {
    const std::string text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    EXPECT_EQ(unified_diff("f", text, {{1, 1, {}}, {10, 1, {"a", "b"}}}),
              "--- f\n+++ f (converted)\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
              "@@ -8,5 +7,6 @@\n 8\n 9\n 10\n-11\n+a\n+b\n 12\n");
    EXPECT_EQ(unified_diff("f", text, {}), "");
    const std::string unended = "1\n2";
    EXPECT_EQ(unified_diff("f", unended, {{0, 1, {"a"}}}),
              "--- f\n+++ f (converted)\n@@ -1,2 +1,2 @@\n-1\n+a\n 2\n"
              "\\ No newline at end of file\n");
    EXPECT_EQ(changed(unended, {{0, 1, {"a"}}}), "a\n2");
    EXPECT_EQ(unified_diff("f", unended, {{1, 1, {"a"}}}),
              "--- f\n+++ f (converted)\n@@ -1,2 +1,2 @@\n 1\n-2\n"
              "\\ No newline at end of file\n+a\n");
    EXPECT_EQ(changed(unended, {{1, 1, {"a"}}}), "1\na\n");
}

}  // namespace
}  // namespace distgpu

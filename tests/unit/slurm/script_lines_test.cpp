// Batch scripts as sbatch sees them.
#include "slurm/script_lines.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

// What srun inherits was seen on Slurm 22.05: planned_steps.bats compares with real jobs.
std::string script(const std::string& directives, const std::string& command) {
    return "#!/bin/bash\n#SBATCH --distgpu=pytorch\n#SBATCH " + directives + "\n" + command + "\n";
}

ScriptLines read(const std::string& text) {
    auto lines = read_script_lines("job.sbatch", text);
    EXPECT_TRUE(lines) << (lines ? "" : lines.error().message());
    return lines ? *std::move(lines) : ScriptLines{};
}

// Of a script with one step that can be planned.
SrunLine step(const std::string& directives, const std::string& command) {
    const ScriptLines lines = read(script(directives, command));
    EXPECT_EQ(lines.steps.size(), 1U);
    const auto& srun = lines.steps.at(0).srun;
    EXPECT_TRUE(srun) << (srun ? "" : srun.error().message());
    return srun ? *srun : SrunLine{};
}

std::string refused(const std::string& text) {
    const auto lines = read_script_lines("job.sbatch", text);
    if (!lines) return lines.error().message();
    const auto& srun = lines->steps.at(0).srun;
    return srun ? "planned" : srun.error().message();
}

TEST(JobScript, DirectivesStandBeforeTheFirstCommand) {
    const ScriptLines lines = read(
        "#!/bin/bash\n#SBATCH -N2   # two\n##SBATCH -n3\n #SBATCH -n4\n\n# text\n#SBATCH "
        "--job-name=\"a b\" --gres=gpu:4 --distgpu=jax\nmodule load x\n#SBATCH -N5\nsrun a\n");
    ASSERT_EQ(lines.steps.size(), 1U);
    EXPECT_EQ(lines.steps[0].where, "job.sbatch:10");
    EXPECT_EQ(lines.steps[0].srun->spec, "jax");
    EXPECT_EQ(lines.steps[0].srun->shape.layout, LayoutText{.nodes = "2"});
    EXPECT_EQ(lines.steps[0].srun->shape.gpus_per_node, "gpu:4");
}

TEST(JobScript, StepsAreFoundBehindWhatMayStandBeforeThem) {
    for (const char* command :
         {"srun -N2 a", "exec srun -N2 a", "time srun -N2 a", "A=1 B='c d' srun -N2 a",
          "env A=1 srun -N2 a", "if srun -N2 a; then :; fi", "module load x && srun -N2 a",
          "for i in 1 2; do srun -N2 a; done", "! srun -N2 a", "srun -N2 a | tee log",
          "srun -N2 a & wait", "/opt/slurm/bin/srun -N2 a"}) {
        EXPECT_EQ(step("-N1", command).program, std::vector<std::string>{"a"}) << command;
        EXPECT_EQ(step("-N1", command).shape.layout.nodes, "2") << command;
    }
}

TEST(JobScript, AnSrunWithinAnotherCommandIsUnclear) {
    for (const char* command :
         {"head=$(srun -N1 hostname)", "echo `srun -N1 hostname`", "bash -c 'srun a'", "(srun a)",
          "singularity exec x srun a", "nohup srun a"}) {
        const ScriptLines lines = read(script("-N2", command));
        EXPECT_TRUE(lines.steps.empty()) << command;
        ASSERT_EQ(lines.unclear.size(), 1U) << command;
        EXPECT_EQ(lines.unclear[0].object, "job.sbatch:4") << command;
    }
}

TEST(JobScript, OtherWordsAreNotSrun) {
    EXPECT_EQ(refused(script("-N2",
                             "# srun a\necho srun_log my-srun srun.txt srun-x mysrun\ncat "
                             "<<E\nsrun a\nE")),
              "distgpu: job.sbatch: it does not start a step; start the program with srun");
}

TEST(ScriptLines, AStepHasWhatItsJobHas) {
    const SrunLine line =
        step("-N2 --ntasks-per-node=4 --gres=gpu:4 -m cyclic -c8 -G8", "srun python3 train.py");
    EXPECT_EQ(line.spec, "pytorch");
    EXPECT_EQ(line.shape.layout,
              (LayoutText{.nodes = "2", .ntasks = "8", .distribution = "cyclic"}));
    EXPECT_EQ(line.shape.gpus_per_node, "gpu:4");
    EXPECT_EQ(line.shape.cpus_per_task, "");
    EXPECT_EQ(line.shape.gpus, "8");
}

TEST(ScriptLines, ItsOwnOptionsWin) {
    EXPECT_EQ(step("-N4 --ntasks-per-node=2", "srun -N2 -n2 a").shape.layout,
              (LayoutText{.nodes = "2", .ntasks = "2"}));
    EXPECT_EQ(step("-N2 --gres=gpu:4", "srun --gres=gpu:2 a").shape.gpus_per_node, "gpu:2");
    EXPECT_EQ(step("-N2", "srun --distgpu=jax a").spec, "jax");
    EXPECT_EQ(step("-n8 --ntasks-per-node=4", "srun a").shape.layout,
              (LayoutText{.nodes = "2", .ntasks = "8"}));
    EXPECT_EQ(step("-N2", "srun a").shape.layout, LayoutText{.nodes = "2"});
    EXPECT_EQ(step("-w n[1-3]", "srun a").shape.layout, LayoutText{.nodelist = "n[1-3]"});
}

TEST(ScriptLines, NoNodeHasLessThanOneTask) {
    EXPECT_EQ(step("-N4 --ntasks-per-node=2", "srun -n3 a").shape.layout,
              (LayoutText{.nodes = "3", .ntasks = "3"}));
}

TEST(ScriptLines, InheritedTasksThatDoNotFitAreTold) {
    const auto told = [](const std::string& directives, const std::string& command) {
        const SrunLine line = step(directives, command);
        return line.left_out.empty() ? "" : line.left_out[0].message();
    };
    const std::string message =
        "distgpu: srun inherits --ntasks=8 from the job: not --ntasks-per-node times its 4 nodes; "
        "add --ntasks=N";
    EXPECT_EQ(told("-N4 --ntasks-per-node=2", "srun --ntasks-per-node=1 a"), message);
    EXPECT_NE(told("-N4 --ntasks-per-node=2", "srun -N1 a"), "");
    EXPECT_NE(told("-N2 --ntasks-per-node=2", "srun -w n1 a"), "");
    EXPECT_EQ(told("-N4 --ntasks-per-node=2", "srun -N2 -n4 a"), "");
    EXPECT_EQ(told("-N4 --ntasks-per-node=2", "srun --ntasks-per-node=1 -n4 a"), "");
    EXPECT_EQ(told("-N4", "srun --ntasks-per-node=2 a"), "");
}

TEST(ScriptLines, VariablesOfTheJob) {
    const std::string directives = "-N2 --ntasks-per-node=4 -c 8";
    EXPECT_EQ(step(directives, "srun -c $SLURM_CPUS_PER_TASK a").shape.cpus_per_task, "8");
    EXPECT_EQ(step(directives, "srun -N ${SLURM_NNODES} -n$SLURM_JOB_NUM_NODES a").shape.layout,
              (LayoutText{.nodes = "2", .ntasks = "2"}));
    EXPECT_EQ(
        step(directives, "srun -n \"$SLURM_NTASKS\" --ntasks-per-node=$SLURM_NTASKS_PER_NODE a")
            .shape.layout,
        (LayoutText{.nodes = "2", .ntasks = "8"}));
    EXPECT_EQ(
        refused(script("-N2", "srun -n $TASKS a")),
        "distgpu: job.sbatch:4: -n $TASKS: only the shell knows this value; write it out to see "
        "the plan");
    EXPECT_EQ(refused(script("-N2", "srun --cpus-per-task=$SLURM_CPUS_PER_TASK a")).substr(0, 23),
              "distgpu: job.sbatch:4: ");
    EXPECT_EQ(step("-N2", "srun --output=$HOME/log $PROGRAM a").left_out.at(0).object, "$PROGRAM");
}

TEST(ScriptLines, CpusThatSrunTakesFromItsVariable) {
    const auto cpus = [](const std::string& commands) {
        return step("-N2 -c 8", commands).shape.cpus_per_task;
    };
    EXPECT_EQ(cpus("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun a"), "8");
    EXPECT_EQ(cpus("SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK} srun a"), "8");
    EXPECT_EQ(cpus("env SRUN_CPUS_PER_TASK=4 srun a"), "4");
    EXPECT_EQ(cpus("export SRUN_CPUS_PER_TASK=4\nsrun -c 2 a"), "2");
    EXPECT_EQ(cpus("SRUN_CPUS_PER_TASK=4 ./prepare\nsrun a"), "");
    EXPECT_EQ(cpus("SRUN_CPUS_PER_TASK=4\nsrun a"), "");  // srun does not see it
    EXPECT_EQ(cpus("export SRUN_CPUS_PER_TASK=4\nunset SRUN_CPUS_PER_TASK\nsrun a"), "");
    const ScriptLines lines = read(script("-N2", "export SRUN_CPUS_PER_TASK=$(nproc)\nsrun a"));
    ASSERT_EQ(lines.unclear.size(), 1U);
    EXPECT_EQ(lines.unclear[0].message(),
              "distgpu: job.sbatch:5: SRUN_CPUS_PER_TASK=$(nproc): not in this plan: only the "
              "shell knows this value; write it out to see the plan");
    EXPECT_TRUE(lines.steps.at(0).srun);
}

TEST(ScriptLines, EachErrorHasItsLine) {
    EXPECT_EQ(refused("-N2\n"),
              "distgpu: job.sbatch: neither a mode nor a batch script, which begins with #!; see "
              "distgpu plan --help");
    EXPECT_EQ(
        refused("#!/bin/sh\n#SBATCH -N2\r\nsrun --distgpu=pytorch a\n"),
        "distgpu: job.sbatch:2: the line ends in \\r\\n, and sbatch refuses scripts with such "
        "lines; remove each \\r: sed -i 's/\\r$//' job.sbatch");
    EXPECT_EQ(refused(script("--nodes", "srun a")).substr(0, 32),
              "distgpu: job.sbatch:3: --nodes: ");
    EXPECT_EQ(refused("#!/bin/sh\nsrun a\n"),
              "distgpu: job.sbatch:2: srun: it has no --distgpu; add --distgpu=MODE before the "
              "program");
    const ScriptLines lines = read(script("-N2", "a=$(srun hostname)\nsrun a\nsrun b"));
    ASSERT_EQ(lines.unclear.size(), 1U);
    EXPECT_EQ(lines.unclear[0].message(),
              "distgpu: job.sbatch:4: cannot plan an srun inside another command; run distgpu plan "
              "-- srun ...");
    ASSERT_EQ(lines.steps.size(), 2U);
    EXPECT_EQ(lines.steps[1].where, "job.sbatch:6");
    EXPECT_EQ(lines.steps[1].text, "srun b");
}

std::string deaf_ranks_of(const std::string& lines) {
    const auto read = read_script_lines("job.sbatch", "#!/bin/bash\n" + lines);
    return read && read->deaf_ranks ? read->deaf_ranks->error.message() : "";
}

TEST(DeafRanks, AreThoseBelowAShellOrLauncherThatSlurmSignals) {
    const std::string job = "#SBATCH -N2 --signal=USR2@300\n";
    EXPECT_EQ(
        deaf_ranks_of(job + "srun --ntasks-per-node=1 --distgpu=torchrun torchrun train.py\n"),
        "distgpu: job.sbatch: --signal=USR2@300: on most sites it reaches only torchrun in line 3, "
        "and "
        "ends it, but no rank; write --signal=USR2@300, and add signal to --distgpu=");
    EXPECT_NE(deaf_ranks_of(job + "srun --distgpu=pytorch bash -c 'python3 train.py; date'\n"), "");
    EXPECT_NE(deaf_ranks_of(job + "srun --distgpu=torchrun python3 -m torch.distributed.run t\n"),
              "");
    EXPECT_EQ(deaf_ranks_of(job + "srun --distgpu=pytorch python3 train.py\n"), "");
    EXPECT_EQ(deaf_ranks_of(job + "srun --distgpu=torchrun,signal torchrun train.py\n"), "");
    EXPECT_EQ(deaf_ranks_of(job + "srun --distgpu=torchrun,signal=USR2 torchrun train.py\n"), "");
    EXPECT_NE(deaf_ranks_of(job + "srun --distgpu=torchrun,signal=off torchrun train.py\n"), "");
    EXPECT_EQ(deaf_ranks_of(job + "srun torchrun train.py\n"), "");
    EXPECT_EQ(deaf_ranks_of("srun --distgpu=torchrun torchrun train.py\n"), "");
}

TEST(DeafRanks, AreAllIfTheBatchScriptAloneIsSignalledAndHasNoTrap) {
    const std::string step = "srun --distgpu=torchrun,signal torchrun train.py\n";
    EXPECT_EQ(deaf_ranks_of("#SBATCH --signal=B:USR2@300\n" + step),
              "distgpu: job.sbatch: --signal=B:USR2@300: only the batch script gets it, and ends, "
              "because it has no trap; write --signal=USR2@300, and add signal to --distgpu=");
    EXPECT_EQ(deaf_ranks_of("#SBATCH --signal=B:USR2@300\ntrap 'echo save' USR2\n" + step), "");
}

}  // namespace
}  // namespace distgpu

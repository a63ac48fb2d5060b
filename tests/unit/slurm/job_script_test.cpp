// What is found in a batch script.
#include "slurm/job_script.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

// The words of the script's only step.
Words step(const std::string& command) {
    const JobScript script = read_job_script("#!/bin/bash\n" + command + "\n");
    EXPECT_EQ(script.steps.size(), 1U) << command;
    EXPECT_TRUE(script.unclear.empty()) << command;
    return script.steps.empty() ? Words{} : script.steps.front().words;
}

TEST(JobScript, DirectivesStandBeforeTheFirstCommand) {
    const JobScript script = read_job_script(
        "#!/bin/bash\n#SBATCH -N2   # two\n##SBATCH -n3\n #SBATCH -n4\n\n# text\n"
        "#SBATCH --job-name=\"a b\" --gres=gpu:4\nmodule load x\n#SBATCH -N5\nsrun a\n");
    ASSERT_EQ(script.directives.size(), 2U);
    EXPECT_EQ(script.directives[0].line, 2U);
    EXPECT_EQ(script.directives[0].words, (Words{"sbatch", "-N2"}));
    EXPECT_EQ(script.directives[1].line, 7U);
    EXPECT_EQ(script.directives[1].words, (Words{"sbatch", "--job-name=a b", "--gres=gpu:4"}));
    ASSERT_EQ(script.steps.size(), 1U);
    EXPECT_EQ(script.steps[0].line, 10U);
}

TEST(JobScript, StepsAreFoundBehindWhatMayStandBeforeThem) {
    const Words expected{"srun", "-N2", "a"};
    for (const char* command :
         {"srun -N2 a", "exec srun -N2 a", "time srun -N2 a", "A=1 B='c d' srun -N2 a",
          "env A=1 srun -N2 a", "if srun -N2 a; then :; fi", "module load x && srun -N2 a",
          "for i in 1 2; do srun -N2 a; done", "! srun -N2 a", "srun -N2 a | tee log",
          "srun -N2 a & wait"}) {
        EXPECT_EQ(step(command), expected) << command;
    }
    EXPECT_EQ(step("/opt/slurm/bin/srun a"), (Words{"/opt/slurm/bin/srun", "a"}));
}

TEST(JobScript, AnSrunWithinAnotherCommandIsUnclear) {
    for (const char* command :
         {"head=$(srun -N1 hostname)", "echo `srun -N1 hostname`", "bash -c 'srun a'", "(srun a)",
          "singularity exec x srun a", "nohup srun a"}) {
        const JobScript script = read_job_script(std::string("#!/bin/bash\n") + command);
        EXPECT_TRUE(script.steps.empty()) << command;
        EXPECT_EQ(script.unclear, std::vector<std::size_t>{2}) << command;
    }
}

TEST(JobScript, OtherWordsAreNotSrun) {
    const JobScript script = read_job_script(
        "#!/bin/bash\n# srun a\necho srun_log my-srun srun.txt srun-x mysrun\ncat <<E\nsrun "
        "a\nE\n");
    EXPECT_TRUE(script.steps.empty());
    EXPECT_TRUE(script.unclear.empty());
}

}  // namespace
}  // namespace distgpu

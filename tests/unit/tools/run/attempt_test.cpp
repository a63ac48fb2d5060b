#include "run/attempt.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

EnvironmentCopy job(const std::vector<std::pair<std::string, std::string>>& variables) {
    EnvironmentCopy environment;
    for (const auto& [name, value] : variables) environment.set(name, value);
    return environment;
}

const std::vector<std::pair<std::string, std::string>> four_nodes{
    {"SLURM_JOB_NODELIST", "n[1-4]"}, {"SLURM_NTASKS_PER_NODE", "2"}, {"SLURM_NTASKS", "8"}};

std::string words_of(Words words, std::optional<std::uint32_t> spares,
                     const std::vector<std::string>& left_out = {},
                     const EnvironmentCopy& environment = job(four_nodes)) {
    const auto training = read_training(std::move(words), environment, spares);
    if (!training) return training.error().message();
    std::string text;
    const auto nodes = attempt_nodes(*training, left_out);
    for (const std::string& word : attempt_words(*training, nodes, !left_out.empty()))
        text += word + ' ';
    return text;
}

TEST(AttemptWords, LeaveTheSparesOutBehindSrun) {
    EXPECT_EQ(words_of({"srun", "--distgpu=pytorch", "train.py"}, 1),
              "srun --nodes=3 --ntasks=6 --exclude=n4 --distgpu=pytorch train.py ");
    EXPECT_EQ(words_of({"srun", "train.py"}, 1, {"n2"}),
              "srun --nodes=3 --ntasks=6 --exclude=n2 --overlap train.py ");
    EXPECT_EQ(words_of({"srun", "train.py"}, 2, {"n1", "n3"}),
              "srun --nodes=2 --ntasks=4 --exclude=n[1,3] --overlap train.py ");
    EXPECT_EQ(words_of({"srun", "--exclusive", "train.py"}, 1, {"n2"}),
              "srun --nodes=3 --ntasks=6 --exclude=n2 --exclusive train.py ");
    EXPECT_EQ(words_of({"/opt/slurm/bin/srun", "train.py"}, 0),
              "/opt/slurm/bin/srun --nodes=4 --ntasks=8 train.py ");
    EXPECT_EQ(words_of({"srun", "train.py"}, std::nullopt), "srun --nodes=4 --ntasks=8 train.py ");
}

TEST(AttemptWords, KeepWhatTheUserWrote) {
    EXPECT_EQ(words_of({"srun", "-N3", "--ntasks-per-node=1", "train.py"}, std::nullopt),
              "srun --nodes=3 --ntasks=3 --exclude=n4 -N3 --ntasks-per-node=1 train.py ");
    EXPECT_EQ(words_of({"srun", "-n6", "train.py"}, 1),
              "srun --nodes=3 --exclude=n4 -n6 train.py ");
    // Behind the program they are the program's.
    EXPECT_EQ(words_of({"srun", "train.py", "--nodes=9"}, 1),
              "srun --nodes=3 --ntasks=6 --exclude=n4 train.py --nodes=9 ");
}

TEST(AttemptWords, TasksOfAJobWithoutTasksPerNode) {
    const auto tasks = [](const std::string& count) {
        return words_of({"srun", "train.py"}, 1, {},
                        job({{"SLURM_JOB_NODELIST", "n[1-4]"}, {"SLURM_NTASKS", count}}));
    };
    EXPECT_EQ(tasks("16"), "srun --nodes=3 --ntasks=12 --exclude=n4 train.py ");
    EXPECT_EQ(tasks("6"),
              "distgpu: --ntasks: not given, and the job's 6 tasks do not divide by its 4 nodes; "
              "write --ntasks-per-node=N");
    EXPECT_EQ(words_of({"srun", "train.py"}, 1, {}, job({{"SLURM_JOB_NODELIST", "n[1-4]"}})),
              "srun --nodes=3 --ntasks=3 --exclude=n4 train.py ");
}

TEST(AttemptWords, AreRefusedIfTheyContradict) {
    EXPECT_EQ(words_of({"srun", "--nodes=4", "train.py"}, 1),
              "distgpu: --nodes=4: the job has 4 nodes, and --spares 1 leaves 3; leave --nodes "
              "out, or give sbatch as many more nodes as there are spares");
    EXPECT_EQ(words_of({"srun", "--nodes=2", "train.py"}, 1),
              "distgpu: --nodes=2: the job has 4 nodes, and --spares 1 leaves 3; leave --nodes "
              "out, or give sbatch as many more nodes as there are spares");
    EXPECT_EQ(words_of({"srun", "-N5", "train.py"}, std::nullopt),
              "distgpu: --nodes=5: the job has 4 nodes, and --spares 0 leaves 4; leave --nodes "
              "out, or give sbatch as many more nodes as there are spares");
    EXPECT_EQ(words_of({"srun", "-N2-4", "train.py"}, std::nullopt),
              "distgpu: --nodes=2-4: distgpu run needs one number of nodes; write one, as in "
              "--nodes=2");
    EXPECT_EQ(words_of({"srun", "train.py"}, 4),
              "distgpu: --spares 4: the job has only 4 nodes; write fewer, or give sbatch more "
              "--nodes");
    EXPECT_EQ(words_of({"srun", "-w", "n1", "train.py"}, 1),
              "distgpu: --nodelist: distgpu run chooses the nodes of each attempt itself; leave it "
              "out; give it to sbatch for the whole job");
    EXPECT_EQ(words_of({"python3", "train.py"}, 1),
              "distgpu: python3: not srun; write distgpu run -- srun --distgpu=MODE train.py");
    EXPECT_EQ(words_of({}, 1),
              "distgpu: command: not srun; write distgpu run -- srun --distgpu=MODE train.py");
    EXPECT_EQ(words_of({"srun", "train.py"}, 1, {}, EnvironmentCopy()),
              "distgpu: SLURM_JOB_NODELIST: not the nodes of a job of Slurm; run it in a "
              "batch script, or in salloc's shell");
}

}  // namespace
}  // namespace distgpu

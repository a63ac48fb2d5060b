// What a batch script starts, and where it is found.
#include "slurm/batch_script.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

namespace distgpu {
namespace {

TEST(BatchScript, StartsNoStep) {
    for (const char* script : {
             "#!/bin/bash\n#SBATCH --distgpu=pytorch -N2\npython3 train.py\n",
             "python3 train.py",
             "",
             "python3 train.py # not srun",
             "  # srun would be right here\ntorchrun --nproc-per-node=4 train.py",
             "source venv/bin/activate\n. /opt/conda/etc/profile.d/conda.sh\npython3 train.py",
             "export MASTER_ADDR=$(scontrol show hostnames | head -n1)\npython3 train.py",
             "#!/bin/bash\r\n#SBATCH -N2\r\npython3 train.py\r\n",
             "\"$VENV/bin/python3\" train.py",
             "./train.py --data ./data",
             "python3 train.py --out srun_results \"$@\"",
             "true",
         }) {
        EXPECT_TRUE(starts_no_step(script, "")) << script;
    }
}

TEST(BatchScript, MayStartAStep) {
    for (const char* script : {
             "#!/bin/bash\nsrun python3 train.py\n",
             "  /usr/bin/srun python3 train.py",
             "LAUNCH=\"srun -N2\"\n$LAUNCH python3 train.py",
             "if true; then srun train.py;fi",
             "time (srun -N2 train.py)",
             "mpirun -np 8 ./a.out",
             "mpiexec.hydra -n 8 ./a.out",
             "distgpu exec pytorch -- python3 train.py",
             "subprocess.run([\"srun\", \"hostname\"])",
             "bash run_training",
             "bash run.sh",
             "./run.sh",
             "./train",
             "../bin/train --steps 4",
             "$CMD train.py",
             "\"$@\"",
             "exec \"$@\"",
             "exec $CMD",
             "eval \"$COMMAND\"",
             "make train",
             "sbatch next.sbatch",
         }) {
        EXPECT_FALSE(starts_no_step(script, "")) << script;
    }
}

// In its folder, and the folders of PATH.
TEST(BatchScript, MayStartAStepByOtherFiles) {
    const MadeUpFolder folder;
    const std::string bin = folder.path("bin");
    for (const auto& [name, text] : {std::pair{"steps", "run() {\n    srun \"$@\"\n}\n"},
                                     {"names", "DATA=/data # for srun\n"},
                                     {"submit.py", "subprocess.run([\"srun\", \"hostname\"])\n"},
                                     {"train.py", "# srun python3 train.py\nimport torch\n"},
                                     {"bin/launch", "#!/bin/bash\nexec srun python3 \"$@\"\n"},
                                     {"bin/plain", "#!/bin/bash\nexec python3 \"$@\"\n"},
                                     {"bin/binary", "\177ELF srun "}}) {
        folder.write_program(name, text);
    }
    folder.write("bin/data", "#!/bin/bash\nsrun true\n");  // no command
    const std::string path = "/none:" + bin;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    for (const char* script :
         {"source ./steps\nrun python3 train.py", ". steps; run python3 train.py",
          "launch train.py", "python3 submit.py", "source ./missing", "source $SETUP",
          "python3 -u submit.py --nodes 2"}) {
        EXPECT_FALSE(starts_no_step(script, path)) << script;
    }
    for (const char* script :
         {"source ./names\npython3 train.py", "plain train.py", "binary", "data", "none",
          "python3 train.py", "python3 train.py launch",
          "source $VENV/bin/activate\npython3 train.py", ". /etc/profile; python3 train.py"}) {
        EXPECT_TRUE(starts_no_step(script, path)) << script;
    }
    std::filesystem::current_path(before);
}

// The name and the text of what is found; empty: nothing.
std::string found(const std::vector<std::string>& arguments) {
    const auto script = find_batch_script(arguments);
    return script ? script->name + ": " + script->text : "";
}

TEST(BatchScript, IsTheFirstArgumentThatCanBeOne) {
    MadeUpFolder folder;
    folder.write("job", "#!/bin/sh\ntrue\n");
    folder.write("data", "1 2 3\n");
    const std::string job = folder.path("job");
    const std::string text = ": #!/bin/sh\ntrue\n";
    EXPECT_EQ(found({"sbatch", "-N2", job}), job + text);
    EXPECT_EQ(found({"sbatch", "--nodes", "2", "-o", folder.path("data"), job, "true"}),
              job + text);
    EXPECT_EQ(found({"sbatch", folder.path("none")}), "");
    EXPECT_EQ(found({"sbatch", folder.path()}), "");
    EXPECT_EQ(found({"sbatch", "/dev/tty"}), "");
}

TEST(BatchScript, IsWhatIsWrapped) {
    EXPECT_EQ(found({"sbatch", "-N2", "--wrap=python3 train.py"}), "--wrap: python3 train.py");
    EXPECT_EQ(found({"sbatch", "--wrap", "srun train"}), "--wrap: srun train");
    EXPECT_EQ(found({"sbatch", "--wr", "srun train"}), "--wrap: srun train");
    EXPECT_EQ(found({"sbatch", "--wrap"}), "");
}

TEST(BatchScript, OfSallocIsPython) {
    const auto program = [](const std::vector<std::string>& line) {
        const auto script = find_salloc_python(line);
        return script
                   ? script->name + (starts_no_step(script->text, "") ? "" : ", which starts steps")
                   : "none";
    };
    EXPECT_EQ(program({"salloc", "-N", "2", "python3", "train.py"}), "python3 train.py");
    EXPECT_EQ(program({"salloc", "-N2", "/opt/bin/python3.11", "-u", "train.py"}),
              "/opt/bin/python3.11 -u train.py");
    EXPECT_EQ(program({"salloc", "-N2", "srun", "python3", "train.py"}),
              "python3 train.py, which starts steps");
    EXPECT_EQ(program({"salloc", "-N2", "bash", "-c", "python3 train.py"}),
              "python3 train.py, which starts steps");
    EXPECT_EQ(program({"salloc", "-N2"}), "none");
    EXPECT_EQ(program({}), "none");
}

}  // namespace
}  // namespace distgpu

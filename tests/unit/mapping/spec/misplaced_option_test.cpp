// Words that are taken for modes and keys, and --distgpu in the wrong place.
#include "mapping/spec/misplaced_option.h"

#include "mapping/frameworks/framework.h"
#include "mapping/message_of.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

TEST(MisplacedOption, TakesTheNextWordForItsMode) {
    const auto refusal = [](const char* word) { return message_of(parse_spec("--distgpu", word)); };
    EXPECT_EQ(refusal("python3"),
              "distgpu: --distgpu=python3: a program, not a mode; write the mode before it, as in "
              "--distgpu=pytorch python3");
    EXPECT_EQ(refusal("-N2"),
              "distgpu: --distgpu=-N2: an option, not a mode; write the mode before it, as in "
              "--distgpu=pytorch -N2");
    for (const char* word : {"python", "python3.11", "./train", "train.py", "/usr/bin/python3",
                             "bash", "train.sbatch", "--nodes=2", "timeout"}) {
        EXPECT_TRUE(why_not_a_mode(word)) << word;
    }
    for (const char* word : {"pytroch", "ddp", "torch", "python-ddp", "pytorch2", "1", ""}) {
        EXPECT_FALSE(why_not_a_mode(word)) << word;
    }
}

std::string behind(const std::vector<std::string>& program) {
    const auto error = option_after_program(program);
    return error ? error->message() : "";
}

TEST(MisplacedOption, MayStandBehindTheProgram) {
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=pytorch"}),
              "distgpu: --distgpu=pytorch: it comes after the program, where srun does not read "
              "it; write it before python3");
    // What is not ours, or asks for nothing.
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=4"}), "");
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=off"}), "");
    EXPECT_EQ(behind({"python3", "train.py"}), "");
    EXPECT_EQ(behind({}), "");
}

std::string late(const std::string& script) {
    const auto error = directive_after_command(script);
    return error ? error->message() : "";
}

TEST(MisplacedOption, MayStandBelowTheFirstCommand) {
    EXPECT_EQ(late("#!/bin/bash\n#SBATCH -N2\n\ncd run\n#SBATCH -n4 --distgpu=pytorch,verbose\r\n"),
              "distgpu: line 5: --distgpu=pytorch,verbose: it comes after the first command, where "
              "sbatch does not read it; move the line up to the other #SBATCH lines");
    EXPECT_EQ(late("#!/bin/bash\n#SBATCH --distgpu=pytorch\ncd run\n"), "");
    EXPECT_EQ(late("#!/bin/bash\n# and\n\n#SBATCH --distgpu=pytorch\ncd run\n"), "");
    EXPECT_EQ(late("#!/bin/bash\ncd run\n##SBATCH --distgpu=pytorch\n# SBATCH --distgpu=pytorch"),
              "");
    EXPECT_EQ(late("#!/bin/bash\ncd run\n#SBATCH --distgpu=off\n#SBATCH -N2\n"), "");
    EXPECT_EQ(late(""), "");
}

TEST(OtherWords, MeanModesThatThereAre) {
    for (const char* word : {"ddp", "torch.distributed", "pl", "hf", "zero", "megatron-core",
                             "mosaic", "hvd", "openmpi", "keras", "flax"}) {
        const auto mode = suggested_mode(word);
        ASSERT_TRUE(mode) << word;
        EXPECT_NE(find_framework(*mode), nullptr) << word;
        // Else nobody would have to be told.
        EXPECT_EQ(find_framework(word), nullptr) << word;
    }
    EXPECT_EQ(suggested_mode("none"), "off");
    EXPECT_EQ(suggested_mode("pytorch"), std::nullopt);
    EXPECT_EQ(suggested_mode(""), std::nullopt);
}

TEST(OtherWords, MeanKeysThatThereAre) {
    const auto keys = spec_keys();
    for (const char* word : {"master-port", "main_process_ip", "NPROC_PER_NODE", "rdzv-backend",
                             "omp_num_threads", "gpu-bind", "cpu-bind", "ib", "debug", "test"}) {
        const auto ours = suggested_key(word);
        ASSERT_TRUE(ours) << word;
        EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const SpecKey& key) {
            return key.name == *ours;
        })) << word;
    }
    EXPECT_EQ(suggested_key("port"), std::nullopt);
}

}  // namespace
}  // namespace distgpu

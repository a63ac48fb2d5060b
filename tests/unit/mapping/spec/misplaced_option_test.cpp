// --distgpu in the wrong place.
#include "mapping/spec/misplaced_option.h"

#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

TEST(MisplacedOption, TakesTheNextWordForItsMode) {
    const auto refusal = [](const std::string& word) {
        const auto request = parse_spec("--distgpu", word);
        return request ? "" : request.error().message();
    };
    EXPECT_EQ(refusal("python3"),
              "distgpu: --distgpu=python3: a program, and no mode; write the mode before it, as in "
              "--distgpu=pytorch python3");
    EXPECT_EQ(refusal("-N2"),
              "distgpu: --distgpu=-N2: an option, and no mode; write the mode before it, as in "
              "--distgpu=pytorch -N2");
    for (const char* word : {"python", "python3.11", "./train", "train.py", "/usr/bin/python3",
                             "bash", "train.sbatch", "--nodes=2", "timeout"}) {
        EXPECT_TRUE(taken_for_mode(word)) << word;
    }
    for (const char* word : {"pytroch", "ddp", "torch", "python-ddp", "pytorch2", "1", ""}) {
        EXPECT_FALSE(taken_for_mode(word)) << word;
    }
}

std::string behind(const std::vector<std::string>& program) {
    const auto error = option_behind_program(program);
    return error ? error->message() : "";
}

TEST(MisplacedOption, MayStandBehindTheProgram) {
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=pytorch"}),
              "distgpu: --distgpu=pytorch: it stands behind the program, where srun does not read "
              "it; write it before python3");
    // What is not ours, or asks for nothing.
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=4"}), "");
    EXPECT_EQ(behind({"python3", "train.py", "--distgpu=off"}), "");
    EXPECT_EQ(behind({"python3", "train.py"}), "");
    EXPECT_EQ(behind({}), "");
}

std::string late(const std::string& script) {
    const auto error = late_directive(script);
    return error ? error->message() : "";
}

TEST(MisplacedOption, MayStandBelowTheFirstCommand) {
    EXPECT_EQ(
        late("#!/bin/bash\n#SBATCH -N2\n\ncd run\n#SBATCH -n4 --distgpu=pytorch,verbose\r\n"),
        "distgpu: line 5: --distgpu=pytorch,verbose: it stands below the first command, where "
        "sbatch does not read it; move the line up to the other #SBATCH lines");
    EXPECT_EQ(late("#!/bin/bash\n#SBATCH --distgpu=pytorch\ncd run\n"), "");
    EXPECT_EQ(late("#!/bin/bash\n# and\n\n#SBATCH --distgpu=pytorch\ncd run\n"), "");
    EXPECT_EQ(late("#!/bin/bash\ncd run\n##SBATCH --distgpu=pytorch\n# SBATCH --distgpu=pytorch"),
              "");
    EXPECT_EQ(late("#!/bin/bash\ncd run\n#SBATCH --distgpu=off\n#SBATCH -N2\n"), "");
    EXPECT_EQ(late(""), "");
}

}  // namespace
}  // namespace distgpu

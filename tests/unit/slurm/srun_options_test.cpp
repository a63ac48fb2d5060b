// srun's command lines, as 22.05's srun reads them.
#include "slurm/srun_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Arguments = std::vector<std::string>;

// Of `srun OPTIONS... ./train --epochs 3` and an unset SLURM_CPU_BIND.
bool chosen_by(Arguments options) {
    options.insert(options.begin(), "srun");
    options.insert(options.end(), {"./train", "--epochs", "3"});
    return chooses_cpus(srun_options(options, 3), "");
}

TEST(ChoosesCpus, ByTheOption) {
    const std::vector<Arguments> rows = {
        {"--cpu-bind=cores"},
        {"--cpu-bind", "cores"},
        {"--cpu-bind=none"},
        {"--cpu-bind=map_cpu:0,4"},
        {"--cpu-bind=verbose,cores"},
        {"--cpu-bind=v,q,none"},
        {"--cpu-bind", "verbose,mask_cpu:0x3,0xc"},
        {"-n", "4", "--cpu-bind=cores", "--distgpu=pytorch"},
        // The last of several holds for srun; one of them is a choice nevertheless.
        {"--cpu-bind=cores", "--cpu-bind=verbose"},
        {"--cpu-bind=verbose", "--cpu-bind=cores"},
    };
    for (const auto& options : rows) {
        EXPECT_TRUE(chosen_by(options)) << testing::PrintToString(options);
    }
}

// getopt_long(3) takes every unique beginning. The old spelling is an option of its own, hidden
// from the manual.
TEST(ChoosesCpus, ByTheOptionsOtherSpellings) {
    for (const char* option : {"--cpu-b", "--cpu-bi", "--cpu-bin", "--cpu_", "--cpu_bind"}) {
        EXPECT_TRUE(chosen_by({std::string(option) + "=cores"})) << option;
        EXPECT_TRUE(chosen_by({option, "none"})) << option;
    }
}

TEST(ChoosesCpus, NotByAReport) {
    for (const char* value : {"verbose", "v", "quiet", "q", "quiet,verbose", ""}) {
        EXPECT_FALSE(chosen_by({std::string("--cpu-bind=") + value})) << value;
        EXPECT_FALSE(chosen_by({"--cpu-bind", value})) << value;
    }
}

TEST(ChoosesCpus, NotByOtherOptions) {
    const std::vector<Arguments> rows = {
        {},
        {"-n", "4"},
        {"--cpu-freq=high"},
        {"--cpus-per-task=4"},
        {"--mem-bind=local"},
        {"--gpu-bind=closest"},
        {"--cpu-bindings=cores"},
        {"-cpu-bind=cores"},
        {"--job-name=--cpu-bind"},
    };
    for (const auto& options : rows) {
        EXPECT_FALSE(chosen_by(options)) << testing::PrintToString(options);
    }
}

TEST(ChoosesCpus, NotByTheProgramsOwnArguments) {
    const Arguments line{"srun", "-n4", "numactl", "--cpu-bind=cores", "--cpu-bind", "none"};
    EXPECT_FALSE(chooses_cpus(srun_options(line, 4), ""));
    EXPECT_FALSE(chooses_cpus(srun_options(line), ""));
    // The option's value is not the program's first argument.
    const Arguments cut{"srun", "--cpu-bind", "cores"};
    EXPECT_FALSE(chooses_cpus(srun_options(cut, 2), ""));
}

TEST(ChoosesCpus, InAnyComponentOfAHeterogeneousStep) {
    const Arguments line{"srun", "-n1", "a", ":", "-n1", "--cpu-bind=none", "b", "c"};
    EXPECT_TRUE(chooses_cpus(srun_options(line), ""));
    EXPECT_TRUE(chooses_cpus(srun_options(line, 2), ""));
    const Arguments other{"srun", "-n1", "a", ":", "-n1", "b", "--cpu-bind=none"};
    EXPECT_FALSE(chooses_cpus(srun_options(other), ""));
}

// A command line that /proc did not tell, or less of it than the program's arguments.
TEST(ChoosesCpus, NotByNothing) {
    EXPECT_FALSE(chooses_cpus(srun_options({}), ""));
    EXPECT_FALSE(chooses_cpus(srun_options({}, 3), ""));
    const Arguments line{"--cpu-bind=cores"};
    EXPECT_FALSE(chooses_cpus(srun_options(line, 3), ""));
}

TEST(ChoosesCpus, ByTheVariable) {
    for (const char* value : {"cores", "none", "quiet,mask_cpu:0x1", "verbose,rank"}) {
        EXPECT_TRUE(chooses_cpus({}, value)) << value;
    }
    for (const char* value : {"", "verbose", "quiet,v"}) {
        EXPECT_FALSE(chooses_cpus({}, value)) << value;
    }
}

TEST(ProgramsInFile, AreThoseOfMultiProg) {
    // SPANK has the name of the file, its text and the file's arguments.
    const Arguments line{"srun", "-n2", "--multi-prog", "file"};
    EXPECT_TRUE(srun_options(line, 2).has("multi-prog"));
    const std::vector<Arguments> programs = {{"python3", "train.py"}, {"torchrun", "a.py"}};
    EXPECT_EQ(programs_in("# tasks\n\n0-3  python3 train.py # all\n * torchrun a.py\n5\n"),
              programs);
    EXPECT_TRUE(programs_in("").empty());
}

struct SizeRow {
    const char* title;
    std::vector<std::string> arguments;
    ChosenSize size;
};

TEST(SrunOptions, TellWhatOfTheSizeTheUserChose) {
    const std::vector<SizeRow> rows = {
        {"nothing", {"srun", "--distgpu=pytorch", "-J", "n", "-l", "-u"}, {}},
        {"nodes", {"srun", "-N2"}, {.nodes = true}},
        {"nodes, apart", {"srun", "--nodes", "2"}, {.nodes = true}},
        {"which nodes", {"srun", "--nodelist=node02"}, {.nodes = true}},
        {"which nodes, by letter", {"srun", "-w", "node02"}, {.nodes = true}},
        {"the second node", {"srun", "--relative=1"}, {.nodes = true}},
        {"not that node", {"srun", "--exclude=node02"}, {.nodes = true}},
        {"alone on them", {"srun", "--exclusive"}, {}},
        {"another job", {"srun", "--jobid=7"}, {.nodes = true}},
        {"job's name", {"srun", "--job-name=n"}, {}},
        {"tasks", {"srun", "-n", "4"}, {.tasks = true}},
        {"tasks of a node", {"srun", "--ntasks-per-node=4"}, {.tasks = true}},
        {"the same in its other spelling", {"srun", "--tasks-per-node=4"}, {.tasks = true}},
        {"behind letters without a value",
         {"srun", "-luN2", "-Qn4"},
         {.nodes = true, .tasks = true}},
        {"in the value of a letter", {"srun", "-JN", "-on"}, {}},
        {"GPUs", {"srun", "--gres=gpu:4"}, {.gpus = true}},
        {"GPUs of a task", {"srun", "--gpus-per-task=1"}, {.gpus = true}},
        {"GPUs, by letter", {"srun", "-G4"}, {.gpus = true}},
        {"in the value of a name", {"srun", "--comment", "-n4", "-J", "--gpus"}, {}},
        {"by the program", {"srun", "program", "-N2", "--ntasks=4"}, {}},
    };
    for (const SizeRow& row : rows) {
        EXPECT_EQ(chosen_size(srun_options(row.arguments)), row.size) << row.title;
    }
}

TEST(SrunOptions, TellWhetherTheTasksGetSrunsOwnEnvironment) {
    const auto hands_on = [](std::vector<std::string> arguments, const char* variable = "") {
        arguments.insert(arguments.begin(), "srun");
        return hands_on_environment(srun_options(arguments), variable);
    };
    EXPECT_TRUE(hands_on({}));
    EXPECT_TRUE(hands_on({}, "ALL"));
    EXPECT_TRUE(hands_on({"--export=ALL"}, "ALL"));
    EXPECT_TRUE(hands_on({"--export", "ALL"}));
    EXPECT_FALSE(hands_on({"--export=NONE"}));
    EXPECT_FALSE(hands_on({"--exp", "NONE"}));
    EXPECT_FALSE(hands_on({"--export=ALL,MASTER_ADDR=node01"}));
    EXPECT_FALSE(hands_on({}, "NONE"));
    // srun reads the variable before the option.
    EXPECT_TRUE(hands_on({"--export=ALL"}, "NONE"));
    EXPECT_TRUE(hands_on({"sh", "--export=NONE"}));
}

TEST(SrunOptions, TellWhetherTheTasksGetAnotherValue) {
    const auto sets = [](std::vector<std::string> arguments, const char* variable = "") {
        arguments.insert(arguments.begin(), "srun");
        return export_sets(srun_options(arguments), variable, "MASTER_ADDR");
    };
    EXPECT_TRUE(sets({"--export=ALL,MASTER_ADDR=node01"}));
    EXPECT_TRUE(sets({"--export", "MASTER_ADDR=node01"}));
    EXPECT_TRUE(sets({"--expo=A=1,MASTER_ADDR="}));
    EXPECT_TRUE(sets({}, "A=1,MASTER_ADDR=node01"));
    EXPECT_FALSE(sets({"--export=ALL,PET_MASTER_ADDR=node01"}));
    EXPECT_FALSE(sets({"--export=MASTER_ADDR"}));
    EXPECT_FALSE(sets({"--exclusive", "--export=NONE"}, "ALL"));
    EXPECT_FALSE(sets({"sh", "--export=MASTER_ADDR=n"}));
}

// Of `srun OPTIONS... ./train -G 3`.
std::optional<std::uint32_t> gpus_asked_by(Arguments options) {
    options.insert(options.begin(), "srun");
    options.insert(options.end(), {"./train", "-G", "3"});
    return asked_gpus(srun_options(options, 3));
}

TEST(AskedGpus, OfAllNodesTogether) {
    for (const Arguments& options : {Arguments{"--gpus=6"},
                                     {"--gpus", "6"},
                                     {"-G6"},
                                     {"-G", "6"},
                                     {"--gpus=h100:6"},
                                     {"--gpus=2", "-n4", "--gpus=6"}}) {
        EXPECT_EQ(gpus_asked_by(options), 6U) << testing::PrintToString(options);
    }
    for (const Arguments& options : {Arguments{},
                                     {"--gpus-per-node=6"},
                                     {"--gres=gpu:6"},
                                     {"--gpus=a:2,b:4"},
                                     {"--gpu-bind=none"}}) {
        EXPECT_EQ(gpus_asked_by(options), std::nullopt) << testing::PrintToString(options);
    }
    const Arguments cut{"srun", "-G"};
    EXPECT_EQ(asked_gpus(srun_options(cut)), std::nullopt);
}

}  // namespace
}  // namespace distgpu

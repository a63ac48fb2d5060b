// Lines of srun and sbatch, as getopt_long(3) reads them with Slurm's own tables.
#include "slurm/slurm_options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using Kind = SlurmOption::Kind;

SlurmLine srun_line(Words words) {
    words.insert(words.begin(), "srun");
    return parse_slurm_line(words, SlurmCommand::srun);
}

Pairs pairs(const SlurmLine& line) {
    Pairs pairs;
    for (const SlurmOption& option : line.options.list) {
        EXPECT_EQ(option.kind, Kind::known) << option.word;
        pairs.emplace_back(option.name, option.value);
    }
    return pairs;
}

TEST(SlurmOptions, AreWrittenInManyWays) {
    for (const Words& words : {Words{"--nodes=2", "--label", "a"},
                               {"--nodes", "2", "--label", "a"},
                               {"-N2", "-l", "a"},
                               {"-N", "2", "--lab", "a"}}) {
        EXPECT_EQ(pairs(srun_line(words)), (Pairs{{"nodes", "2"}, {"label", ""}}))
            << testing::PrintToString(words);
    }
    EXPECT_EQ(pairs(srun_line({"-luN2", "-QKn", "4", "a"})), (Pairs{{"label", ""},
                                                                    {"unbuffered", ""},
                                                                    {"nodes", "2"},
                                                                    {"quiet", ""},
                                                                    {"kill-on-bad-exit", "n"}}));
}

TEST(SlurmOptions, TheProgramIsTheFirstWordBehindThem) {
    EXPECT_EQ(srun_line({"-N2", "a", "-n4"}).program, 2U);
    EXPECT_EQ(srun_line({"-N", "2", "a"}).program, 3U);
    EXPECT_EQ(srun_line({"-N2", "--", "-a"}).program, 3U);
    EXPECT_EQ(srun_line({"--nice", "a"}).program, 2U);
    EXPECT_EQ(srun_line({"--exclusive=user", "-K0", "a"}).program, 3U);
    EXPECT_EQ(srun_line({"-N2"}).program, 2U);
    EXPECT_EQ(srun_line({}).program, 1U);
    EXPECT_EQ(parse_slurm_line({}, SlurmCommand::srun).program, 0U);
}

TEST(SlurmOptions, AValueIsNoOption) {
    const SlurmLine line = srun_line({"--comment", "-n4", "-J", "--distgpu=pytorch", "--accel-bind",
                                      "gn", "--wait", "--exclude", "a"});
    EXPECT_EQ(pairs(line), (Pairs{{"comment", "-n4"},
                                  {"job-name", "--distgpu=pytorch"},
                                  {"accel-bind", "gn"},
                                  {"wait", "--exclude"}}));
    EXPECT_FALSE(line.options.has("ntasks"));
    EXPECT_FALSE(line.options.has("distgpu"));
}

// Other names of an option, and what is shared by other options' names.
TEST(SlurmOptions, NamesMayBeShort) {
    for (const char* word :
         {"--cpu-b", "--cpu-bi", "--cpu-bin", "--cpu-bind", "--cpu_", "--cpu_bind"}) {
        EXPECT_EQ(pairs(srun_line({word, "none", "a"})), (Pairs{{"cpu-bind", "none"}})) << word;
    }
    EXPECT_EQ(pairs(srun_line({"--tasks-per-n=4"})), (Pairs{{"ntasks-per-node", "4"}}));
    EXPECT_EQ(pairs(srun_line({"--pack-group=0"})), (Pairs{{"het-group", "0"}}));
    EXPECT_EQ(pairs(srun_line({"--conta=/image"})), (Pairs{{"container", "/image"}}));
    EXPECT_EQ(pairs(srun_line({"--container-image=a"})), (Pairs{{"container-image", "a"}}));
    for (const char* word : {"--cpu=4", "--cont=a", "--ntasks-per=2", "--no=2", "--=2"}) {
        EXPECT_EQ(srun_line({word, "a"}).options.list.front().kind, Kind::unknown) << word;
    }
}

TEST(SlurmOptions, TheLastOneCounts) {
    const SlurmOptions options = srun_line({"-N2", "-n4", "--nodes=3", "a"}).options;
    EXPECT_EQ(options.value("nodes"), "3");
    EXPECT_EQ(options.value("ntasks"), "4");
    EXPECT_EQ(options.value("gpus"), std::nullopt);
    EXPECT_TRUE(options.has("nodes"));
}

TEST(SlurmOptions, AreThoseOfTheCommand) {
    const Words wait{"sbatch", "-W", "--wait-all-nodes", "1", "job.sbatch"};
    const SlurmLine line = parse_slurm_line(wait, SlurmCommand::sbatch);
    EXPECT_EQ(pairs(line), (Pairs{{"wait", ""}, {"wait-all-nodes", "1"}}));
    EXPECT_EQ(line.program, 4U);
    EXPECT_EQ(pairs(srun_line({"-W", "60", "a"})), (Pairs{{"wait", "60"}}));
    const Words bind{"sbatch", "--cpu-bind=none"};
    EXPECT_EQ(parse_slurm_line(bind, SlurmCommand::sbatch).options.list.front().kind,
              Kind::unknown);
}

TEST(SlurmOptions, OfOtherPluginsAreToldAsUnknown) {
    const SlurmLine clear = srun_line({"--uenv=pytorch", "-N2", "a"});
    EXPECT_EQ(clear.options.list.front(),
              (SlurmOption{"uenv", "pytorch", "--uenv=pytorch", Kind::unknown}));
    EXPECT_EQ(clear.options.value("nodes"), "2");
    EXPECT_EQ(clear.program, 3U);
    EXPECT_TRUE(clear.has_certain_program());
    // Whether the next word is its value, only the plugin knows.
    const SlurmLine unclear = srun_line({"--uenv", "pytorch", "-N2", "a"});
    EXPECT_EQ(unclear.options.list.front(),
              (SlurmOption{"uenv", "pytorch", "--uenv", Kind::unknown}));
    EXPECT_EQ(unclear.options.value("nodes"), "2");
    EXPECT_FALSE(unclear.has_certain_program());
    EXPECT_EQ(srun_line({"--fast", "-N2", "a"}).options.value("nodes"), "2");
}

TEST(SlurmOptions, OneMayLackItsValue) {
    const SlurmLine line = srun_line({"-n4", "-N"});
    EXPECT_EQ(line.options.list.back(), (SlurmOption{"nodes", "", "-N", Kind::lacks_value}));
    EXPECT_FALSE(line.options.has("nodes"));
    EXPECT_EQ(line.program, 3U);
}

TEST(SlurmOptions, MisspeltOnesAreNearToOthers) {
    EXPECT_EQ(nearest_slurm_option("nods", SlurmCommand::srun), "nodes");
    EXPECT_EQ(nearest_slurm_option("segments", SlurmCommand::sbatch), "segment");
    for (const char* of_a_plugin : {"image", "auto-resume", "uenv", "view", "volume", "ssh"}) {
        EXPECT_EQ(nearest_slurm_option(of_a_plugin, SlurmCommand::sbatch), std::nullopt);
    }
}

}  // namespace
}  // namespace distgpu

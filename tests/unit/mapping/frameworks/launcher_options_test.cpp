// What stands between a launcher and its script.
#include "mapping/frameworks/launcher_options.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace distgpu {
namespace {

constexpr std::array options{
    LauncherOption{"--nnodes", OptionMeaning::nodes, "-n"},
    LauncherOption{"--node-rank", OptionMeaning::own_rank},
    LauncherOption{"--standalone", OptionMeaning::one_node},
    LauncherOption{"--no-ssh", OptionMeaning::others},
};
constexpr std::string_view flags = "--standalone --no-ssh --debug -v";

// "NAME=VALUE" of each, "?" for a value that a shell knows; "..." where there may be more.
std::string read(const std::vector<std::string>& words,
                 LauncherOptions launcher = {.options = options, .flags = flags}) {
    const GivenOptions given = read_options(launcher, words);
    std::string text;
    for (const GivenOption& option : given.options) {
        text += std::string(option.option->name) + "=" + option.value.value_or("?") + " ";
    }
    return text + (given.complete ? "" : "...");
}

TEST(LauncherOptions, AreReadInEverySpelling) {
    EXPECT_EQ(read({"--nnodes=2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"--nnodes", "2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"-n", "2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"-n2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"--node_rank=1", "--node-rank", "2"}), "--node-rank=1 --node-rank=2 ");
    EXPECT_EQ(read({"--standalone", "--no_ssh", "train.py"}), "--standalone= --no-ssh= ");
}

TEST(LauncherOptions, EndWithTheScript) {
    EXPECT_EQ(read({"train.py", "--nnodes=2"}), "");
    EXPECT_EQ(read({"--debug", "train", "--nnodes=2"}), "");
    EXPECT_EQ(read({"--other", "value", "--nnodes=2", "train"}), "--nnodes=2 ");
    // One that is not known may have no value.
    EXPECT_EQ(read({"--other", "train.py", "--nnodes=2"}), "");
    EXPECT_EQ(read({"train.py", "--nnodes=2"},
                   {.options = options, .flags = flags, .behind_the_script = true}),
              "--nnodes=2 ");
}

TEST(LauncherOptions, AreAbbreviatedWhereOnlyOneIsMeant) {
    EXPECT_EQ(read({"--nn=2", "--stand", "train.py"}), "--nnodes=2 --standalone= ");
    EXPECT_EQ(read({"--no=2", "train.py"}), "");
    EXPECT_EQ(read({"--nn=2"}, {.options = options, .flags = flags, .abbreviated = false}), "");
}

TEST(LauncherOptions, OfAShellAreNotKnown) {
    EXPECT_EQ(read({"--nnodes=$SLURM_NNODES", "--node-rank", "`id`", "a"}),
              "--nnodes=? --node-rank=? ");
    EXPECT_EQ(read({"--nnodes=2", "$OPTIONS", "--node-rank=1"}), "--nnodes=2 ...");
    EXPECT_EQ(read({"--nnodes=2", "$HOME/train.py", "--node-rank=1"}), "--nnodes=2 ");
    const GivenOptions open =
        read_options({.options = options, .flags = flags}, std::vector<std::string>{"$OPTIONS"});
    EXPECT_FALSE(open.lacks("--nnodes"));
}

}  // namespace
}  // namespace distgpu

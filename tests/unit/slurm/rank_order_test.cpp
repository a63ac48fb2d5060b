// Where the order of a step's nodes comes from: lists that a user wrote, and scontrol's answer.
#include "slurm/rank_order.h"

#include "base/environment.h"
#include "base/io/files.h"
#include "made_up_folder.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>

namespace distgpu {
namespace {

using Source = RankOrder::Source;

constexpr const char* two_leaves =
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1,3]\n"
    "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[2,4]\n"
    "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s1,s2\n";

StepLayout layout(const char* nodes, const char* tasks) {
    return *StepLayout::distribute(*HostList::parse(nodes), *parse_tasks_per_node(tasks), {});
}

class ReadOrderList : public ::testing::Test {
  protected:
    // Of a file with this text.
    std::string list_of(const std::string& text) const {
        folder_.write("ring", text);
        const auto list = read_order_list({Source::file, folder_.path("ring")}, EnvironmentCopy());
        return list ? list->to_string() : list.error().message();
    }

    MadeUpFolder folder_;
};

TEST_F(ReadOrderList, TakesANodeOrARangeALine) {
    EXPECT_EQ(list_of("n4\nn[2-3]\n\nn1\n"), "n[4,2-3,1]");
    EXPECT_EQ(list_of("n2\r\nn1\r\n"), "n[2,1]");
    EXPECT_EQ(list_of("n2,n1"), "n[2,1]");
    EXPECT_EQ(list_of("# rack 1\nn2\n#n7\nn1\n"), "n[2,1]");
}

// It would block, never end, or take the memory of the submit host.
TEST_F(ReadOrderList, RefusesWhatIsNoList) {
    const auto refusal_of = [](const std::string& path) {
        const auto list = read_order_list({Source::file, path}, EnvironmentCopy());
        return list ? list->to_string() : list.error().problem;
    };
    ASSERT_EQ(mkfifo(folder_.path("fifo").c_str(), S_IRUSR | S_IWUSR), 0);
    for (const std::string& path :
         {folder_.path("fifo"), folder_.path(), std::string("/dev/zero")}) {
        EXPECT_EQ(refusal_of(path), "not a regular file") << path;
    }
    folder_.write("huge", "n1\n");
    std::filesystem::resize_file(folder_.path("huge"), std::uintmax_t{1} << 30U);
    EXPECT_EQ(refusal_of(folder_.path("huge")), "larger than 4 MiB");
    EXPECT_EQ(message_of(read_order_list({Source::file, "/no/ring"}, EnvironmentCopy())),
              "distgpu: order=/no/ring: No such file or directory; give a file with one node or "
              "range of nodes per line");
    const std::string ring = "distgpu: order=" + folder_.path("ring") + ": host list ";
    EXPECT_EQ(list_of(std::string("n1\0n2\n", 6)),
              ring +
                  "'n1?n2,' at character 3: byte 0x00 cannot be part of a host name; use letters, "
                  "digits and the characters . - _ :");
    for (const char* text : {"n1 slots=8\n", "", "n[1\n"}) {
        EXPECT_TRUE(list_of(text).starts_with(ring)) << list_of(text);
    }
}

TEST_F(ReadOrderList, TakesAVariableAndNothingForTheOthers) {
    const EnvironmentCopy environment(EnvironmentCopy::Variables{{"RING", "n[2-3],n1"}});
    EXPECT_EQ(read_order_list({Source::variable, "RING"}, environment)->to_string(), "n[2-3,1]");
    EXPECT_EQ(message_of(read_order_list({Source::variable, "RINGS"}, environment)),
              "distgpu: order=$RINGS: the variable is not set; export RINGS with a list of the "
              "step's nodes");
    EXPECT_TRUE(read_order_list({}, EnvironmentCopy())->empty());
    EXPECT_TRUE(read_order_list({Source::switches}, EnvironmentCopy())->empty());
}

// A folder with an scontrol of the test's, which notes that it was asked.
class ApplyOrder : public ::testing::Test {
  protected:
    void answer(const std::string& text, int status = 0) const {
        folder_.write("answer", text);
        folder_.write("scontrol", "#!/bin/sh\necho \"$*\" >>" + folder_.path("asked") +
                                      "\n/bin/cat " + folder_.path("answer") +
                                      "\necho no slurmctld >&2\nexit " + std::to_string(status) +
                                      '\n');
        std::filesystem::permissions(folder_.path("scontrol"), std::filesystem::perms::owner_all);
    }

    // "0 2 1 3: order: ..."; of an error its message.
    std::string ordered(const RankOrder& order, const char* list, const StepLayout& step) const {
        const HostList names = *list == '\0' ? HostList{} : *HostList::parse(list);
        const EnvironmentCopy environment({{"PATH", folder_.path("")}});
        const auto result = apply_order(order, names, step, environment);
        if (!result) return result.error().message();
        std::string nodes;
        for (const NodeIndex node : result->layout.order()) {
            nodes += (nodes.empty() ? "" : " ") + std::to_string(node.value);
        }
        return nodes + ": " + result->text;
    }

    MadeUpFolder folder_;
};

TEST_F(ApplyOrder, AsksForTheSwitches) {
    answer(two_leaves);
    EXPECT_EQ(ordered({Source::switches}, "", layout("n[1-4]", "2(x4)")),
              "0 2 1 3: order: switch, ring crosses switches 2 times (by name: 4)");
    EXPECT_EQ(*read_file(folder_.path("asked"), ""), "show topology\n");
    // Nobody for one node.
    EXPECT_EQ(ordered({Source::switches}, "", layout("n7", "2")),
              "0: order: switch, ring crosses switches 0 times (by name: 0)");
    EXPECT_EQ(*read_file(folder_.path("asked"), ""), "show topology\n");
}

TEST_F(ApplyOrder, SaysThatSlurmKnowsNoSwitches) {
    const std::string remedy = "; name the nodes in a file (order=./FILE), or leave order out";
    answer("No topology information available\n");
    EXPECT_EQ(ordered({Source::switches}, "", layout("n[1-2]", "1(x2)")),
              "distgpu: order=switch: Slurm knows no switches above the step's nodes" + remedy);
    answer(two_leaves, 1);
    EXPECT_EQ(ordered({Source::switches}, "", layout("n[1-2]", "1(x2)")),
              "distgpu: order=switch: scontrol show topology: no slurmctld" + remedy);
}

TEST_F(ApplyOrder, TakesTheListAsItStandsAndNamesTheKeyInItsErrors) {
    EXPECT_EQ(ordered({Source::file, "./ring"}, "n[2,1]", layout("n[1-2]", "2,1")),
              "1 0: order: ./ring");
    EXPECT_EQ(ordered({Source::variable, "RING"}, "n[1-2,9]", layout("n[1-2]", "1(x2)")),
              "distgpu: order=$RING: names n9, which is not a node of the step; name each node of "
              "the step once: n[1-2]");
    const StepLayout cyclic = *StepLayout::distribute(
        *HostList::parse("n[1-2]"), *parse_tasks_per_node("3,2"), {Distribution::Kind::cyclic, 0});
    EXPECT_EQ(ordered({Source::file, "./ring"}, "n[2,1]", cyclic),
              "distgpu: order=./ring: the tasks are not in blocks, and the nodes have 2 to 3 of "
              "them; use srun -m block, or the same --ntasks-per-node on all nodes");
}

}  // namespace
}  // namespace distgpu

// Where the order of a step's nodes comes from: lists that a user wrote, and scontrol's answer.
#include "slurm/rank_order.h"

#include "base/environment_copy.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <vector>

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

std::vector<std::uint32_t> numbers(const StepLayout& ordered) {
    std::vector<std::uint32_t> nodes;
    for (const NodeIndex node : ordered.order()) nodes.push_back(node.value);
    return nodes;
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

TEST_F(ReadOrderList, RefusesWhatIsNoList) {
    const std::string ring = "distgpu: order=" + folder_.path("ring") + ": ";
    EXPECT_EQ(list_of("n1 slots=8\n").substr(0, ring.size()), ring);
    EXPECT_NE(list_of("n1 slots=8\n").find("slots=8"), std::string::npos);
    EXPECT_EQ(list_of("").substr(0, ring.size()), ring);
    const auto none = read_order_list({Source::file, "/no/ring"}, EnvironmentCopy());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "distgpu: order=/no/ring: No such file or directory; give a file with a node or a "
              "range of nodes a line");
}

// It would block, never end, or take the memory of the submit host.
TEST_F(ReadOrderList, RefusesWhatIsNoFileOfThatSize) {
    const auto refusal_of = [](const std::string& path) {
        const auto list = read_order_list({Source::file, path}, EnvironmentCopy());
        return list ? list->to_string() : list.error().problem;
    };
    ASSERT_EQ(mkfifo(folder_.path("fifo").c_str(), S_IRUSR | S_IWUSR), 0);
    folder_.write("huge", "n1\n");
    std::filesystem::resize_file(folder_.path("huge"), std::uintmax_t{1} << 30U);
    EXPECT_EQ(refusal_of(folder_.path("fifo")), "not a regular file");
    EXPECT_EQ(refusal_of(folder_.path("")), "not a regular file");
    EXPECT_EQ(refusal_of("/dev/zero"), "not a regular file");
    EXPECT_EQ(refusal_of(folder_.path("huge")), "larger than 4 MiB");
}

TEST_F(ReadOrderList, RefusesBytesThatNoHostNameHas) {
    const std::string ring = "distgpu: order=" + folder_.path("ring") + ": host list ";
    EXPECT_EQ(list_of(std::string("n1\0n2\n", 6)),
              ring +
                  "'n1?n2,' at character 3: byte 0x00 cannot be part of a host name; use letters, "
                  "digits and the characters . - _ :");
    EXPECT_EQ(list_of("n[1\n").substr(0, ring.size()), ring);
}

TEST_F(ReadOrderList, TakesAVariable) {
    const EnvironmentCopy environment(EnvironmentCopy::Variables{{"RING", "n[2-3],n1"}});
    EXPECT_EQ(read_order_list({Source::variable, "RING"}, environment)->to_string(), "n[2-3,1]");
    const auto none = read_order_list({Source::variable, "RINGS"}, environment);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "distgpu: order=$RINGS: the variable is not set; export RINGS with a list of the "
              "step's nodes");
}

TEST_F(ReadOrderList, ReadsNothingForTheOthers) {
    EXPECT_TRUE(read_order_list({}, EnvironmentCopy())->empty());
    EXPECT_TRUE(read_order_list({Source::switches}, EnvironmentCopy())->empty());
}

// A folder with an scontrol of the test's, which notes that it was asked.
class PutInOrder : public ::testing::Test {
  protected:
    void answer(const std::string& text, int status = 0) const {
        folder_.write("answer", text);
        folder_.write("scontrol", "#!/bin/sh\necho \"$*\" >>" + folder_.path("asked") +
                                      "\n/bin/cat " + folder_.path("answer") +
                                      "\necho no slurmctld >&2\nexit " + std::to_string(status) +
                                      '\n');
        std::filesystem::permissions(folder_.path("scontrol"), std::filesystem::perms::owner_all);
    }

    Result<OrderedLayout> ordered(const RankOrder& order, const char* list,
                                  const StepLayout& step) const {
        const HostList names = *list == '\0' ? HostList{} : *HostList::parse(list);
        return put_in_order(
            order, names, step,
            EnvironmentCopy(EnvironmentCopy::Variables{{"PATH", folder_.path("")}}));
    }

    MadeUpFolder folder_;
};

TEST_F(PutInOrder, AsksForTheSwitches) {
    answer(two_leaves);
    const auto result = ordered({Source::switches}, "", layout("n[1-4]", "2(x4)"));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(numbers(result->layout), (std::vector<std::uint32_t>{0, 2, 1, 3}));
    EXPECT_EQ(result->text, "order: switch, ring crosses switches 2 times (by name: 4)");
    std::ifstream asked(folder_.path("asked"));
    EXPECT_EQ(std::string(std::istreambuf_iterator(asked), {}), "show topology\n");
}

TEST_F(PutInOrder, AsksNobodyForOneNode) {
    const auto result = ordered({Source::switches}, "", layout("n7", "2"));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->text, "order: switch, ring crosses switches 0 times (by name: 0)");
}

TEST_F(PutInOrder, SaysThatSlurmKnowsNoSwitches) {
    const std::string remedy = "; name the nodes in a file (order=./FILE), or leave order out";
    answer("No topology information available\n");
    const auto none = ordered({Source::switches}, "", layout("n[1-2]", "1(x2)"));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "distgpu: order=switch: Slurm knows no switches above the step's nodes" + remedy);
    answer(two_leaves, 1);
    const auto failed = ordered({Source::switches}, "", layout("n[1-2]", "1(x2)"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(),
              "distgpu: order=switch: scontrol show topology: no slurmctld" + remedy);
}

TEST_F(PutInOrder, TakesTheListAsItStands) {
    const auto result = ordered({Source::file, "./ring"}, "n[2,1]", layout("n[1-2]", "2,1"));
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(numbers(result->layout), (std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(result->text, "order: ./ring");
}

TEST_F(PutInOrder, NamesTheKeyInItsErrors) {
    const auto foreign = ordered({Source::variable, "RING"}, "n[1-2,9]", layout("n[1-2]", "1(x2)"));
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().message(),
              "distgpu: order=$RING: names n9, which is not a node of the step; name each node of "
              "the step once: n[1-2]");
    const StepLayout cyclic = *StepLayout::distribute(
        *HostList::parse("n[1-2]"), *parse_tasks_per_node("3,2"), {Distribution::Kind::cyclic, 0});
    const auto uneven = ordered({Source::file, "./ring"}, "n[2,1]", cyclic);
    ASSERT_FALSE(uneven);
    EXPECT_EQ(uneven.error().message(),
              "distgpu: order=./ring: the tasks are dealt to the nodes in turns, and those have 2 "
              "to 3; use srun -m block, or the same --ntasks-per-node on all nodes");
}

}  // namespace
}  // namespace distgpu

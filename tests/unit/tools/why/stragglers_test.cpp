// For which ranks the others wait most of the time.
#include "why/stragglers.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

// What a rank does at each moment: (w)ait in a collective, (c)ompute, (l)oad a batch, or unknown.
Doing at_moments(const std::string& moments) {
    Doing doing;
    for (const char moment : moments) {
        doing.stacks.push_back(moment == 'w'   ? waiting()
                               : moment == 'c' ? astray("compute")
                               : moment == 'l' ? astray()
                                               : Stack());
    }
    return doing;
}

NodeSample look_of(const std::string& node, std::uint32_t first,
                   const std::vector<std::string>& ranks) {
    std::vector<Doing> doings;
    for (const std::string& moments : ranks) doings.push_back(at_moments(moments));
    std::vector<double> times;
    for (std::size_t i = 0; i < ranks.front().size(); ++i) times.push_back(static_cast<double>(i));
    return made_up_look(node, first, doings, times);
}

std::vector<Straggler> stragglers_in(const NodeSample& look) {
    return stragglers_of(find_ranks({&look, 1}, 0).seen);
}

std::vector<Straggler> stragglers_of(const std::vector<std::string>& ranks) {
    return stragglers_in(look_of("n1", 0, ranks));
}

TEST(Stragglers, HaveTheShareOfMomentsAtWhichTheOthersWaited) {
    // The others wait at four of ten moments, at two of which it computes and at two it loads.
    EXPECT_THAT(stragglers_of({"wwwwwwcccc", "wwwwccwwww", "wwllclwwww"}), IsEmpty());
    EXPECT_THAT(stragglers_of({"wwwwcccccc", "wwwwwwwwcc", "llclccccww"}),
                ElementsAre(Straggler{2, "n1", "load_batch (data.py:41)", 0.4}));
}

TEST(Stragglers, AreLateAtMoreThanThreeOfTenMoments) {
    const std::string waits = "wwwwwwwwww";
    EXPECT_THAT(stragglers_of({"cccwwwwwww", waits, waits, waits}), IsEmpty());
    EXPECT_THAT(stragglers_of({"ccccwwwwww", waits, waits, waits}), SizeIs(1));
    // Also one of two, or two of four.
    EXPECT_THAT(stragglers_of({"cccccccccc", waits}),
                ElementsAre(Straggler{0, "n1", "compute (data.py:41)", 1.0}));
    EXPECT_THAT(stragglers_of({"cccccccccc", waits, "cccccccccc", waits}), SizeIs(2));
    // Of fewer than ten moments nothing is told.
    EXPECT_THAT(stragglers_of({"ccccccccc", "wwwwwwwww", "wwwwwwwww"}), IsEmpty());
    EXPECT_THAT(stragglers_of(std::vector<std::string>{"cccccccccc"}), IsEmpty());
}

TEST(Stragglers, AreThoseForWhichAtLeastHalfOfTheRanksWaited) {
    EXPECT_THAT(stragglers_of({"cccccccccc", "cccccccccc", "cccccccccc", "wwwwwwwwww"}), IsEmpty());
    EXPECT_THAT(
        stragglers_of({"cccccccccc", "cccccccccc", "wwwwwwwwww", "wwwwwwwwww", "wwwwwwwwww"}),
        SizeIs(2));
    // One of which the stack is unknown neither waits nor makes others wait.
    EXPECT_THAT(stragglers_of({"??????????", "wwwwwwwwww", "wwwwwwwwww"}), IsEmpty());
    EXPECT_THAT(stragglers_of({"cccccccccc", "wwwwwwwwww", "??????????", "??????????"}), IsEmpty());
}

// Where each rank is late in turn, none is slower than the others.
TEST(Stragglers, AreLateMoreThanTwiceAsOftenAsMost) {
    EXPECT_THAT(stragglers_of({"ccccwwwwwwww", "wwwwccccwwww", "wwwwwwwwcccc"}), IsEmpty());
    EXPECT_THAT(stragglers_of({"ccccwwwwwwww", "wwwwccwwwwww", "wwwwwwccwwww"}), IsEmpty());
    EXPECT_THAT(stragglers_of({"ccccwwwwwwww", "wwwwcwwwwwww", "wwwwwcwwwwww"}),
                ElementsAre(Field(&Straggler::rank, 0U)));
}

TEST(Stragglers, AreUpToEightTheWorstFirst) {
    std::vector<std::string> ranks(30, std::string(12, 'w'));
    for (std::size_t i = 0; i < 9; ++i) ranks[i].replace(0, 4, "cccc");
    ranks[8].replace(4, 2, "cc");
    const auto stragglers = stragglers_of(ranks);
    ASSERT_THAT(stragglers, SizeIs(8));
    EXPECT_EQ(stragglers[0].rank, 8U);
    EXPECT_EQ(stragglers[0].share, 0.5);
    EXPECT_EQ(stragglers[1].rank, 0U);
    EXPECT_EQ(stragglers[7].rank, 6U);
}

// A node may have sampled once more.
TEST(Stragglers, OfSeveralNodesGoByTheNumberOfTheMoment) {
    const std::vector<NodeSample> looks{look_of("n1", 0, {"wwwwwwwwwwcc", "wwwwwwwwwwcc"}),
                                        look_of("n2", 2, {"ccccwwwwww"})};
    EXPECT_THAT(stragglers_of(find_ranks(looks, 3).seen),
                ElementsAre(Straggler{2, "n2", "compute (data.py:41)", 0.4}));
}

// A request, and the machine code at the last moment, tell of a wait too.
TEST(Stragglers, AreNotRanksThatWaitInMachineCode) {
    NodeSample look = look_of("n1", 0, {"cccccccccc", "wwwwwwwwww", "wwwwwwwwww"});
    for (Moment& moment : look.processes[0].moments) moment.has_request = true;
    EXPECT_THAT(stragglers_in(look), IsEmpty());
    look = look_of("n1", 0, {"cccccccccc", "wwwwwwwwww", "wwwwwwwwww"});
    look.processes[0].native =
        add_stack(look, {{"compute", "/home/u/data.py", 41}, {"MPI_Recv"}, {"opal_progress"}});
    EXPECT_THAT(stragglers_in(look), IsEmpty());
    look.processes[0].moments[9].stack = add_stack(look, astray("store"));
    EXPECT_THAT(stragglers_in(look), SizeIs(1));
}

}  // namespace
}  // namespace distgpu

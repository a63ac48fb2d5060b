// Which rank of a step hangs, and where: each kind of hang, and several at once.
#include "why/diagnosis.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Diagnosis::Kind;

const Doing waits{.stack = waiting()};
const Doing sleeps{.stack = astray()};
const Doing computes{.stack = astray("compute"), .states = "RR", .cpu = 2.9};
const Doing moves{.stack = waiting(), .wakings = 5, .before = astray()};
const Doing stopped{.stack = astray("stop"), .states = "TT"};
const Doing in_kernel{.stack = astray("read"), .states = "DD", .channel = "nfs_wait"};
const Doing unseen{};

std::vector<Doing> times(std::size_t count, const Doing& doing) {
    return {count, doing};
}

std::vector<Doing> but_one(std::size_t count, const Doing& doing, std::size_t place,
                           const Doing& odd) {
    std::vector<Doing> all = times(count, doing);
    all.at(place) = odd;
    return all;
}

// Of two nodes as many ranks each.
Diagnosis of(const std::vector<Doing>& ranks) {
    const auto half = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
    const auto count = static_cast<std::uint32_t>(ranks.size());
    return diagnose({made_up_look("n1", 0, {ranks.begin(), half}),
                     made_up_look("n2", count / 2, {half, ranks.end()})},
                    {}, count);
}

void expect(const Diagnosis& diagnosis, Kind kind, const std::vector<std::string>& findings) {
    EXPECT_EQ(name_of(diagnosis.kind), name_of(kind));
    EXPECT_EQ(diagnosis.findings, findings);
}

const std::string elsewhere =
    "rank 5 on n2 is in load_batch (data.py:41), asleep, unchanged for 3.0 s; 7 ranks wait in "
    "all_reduce (train.py:88)";

TEST(Diagnosis, ElsewhereWhileTheOthersWait) {
    expect(of(but_one(8, waits, 5, sleeps)), Kind::elsewhere, {elsewhere});
    expect(
        of(but_one(8, waits, 0, computes)), Kind::elsewhere,
        {"rank 0 on n1 is in compute (data.py:41), running, unchanged for 3.0 s; 7 ranks wait in "
         "all_reduce (train.py:88)"});
    Doing busy = computes;
    busy.before = astray("epoch");
    expect(of(but_one(8, waits, 0, busy)), Kind::elsewhere,
           {"rank 0 on n1 is in compute (data.py:41), running, and moves; 7 ranks wait in "
            "all_reduce (train.py:88)"});
}

TEST(Diagnosis, ElsewhereWhileTheOthersAreInNoCollective) {
    expect(of(but_one(8, sleeps, 5, computes)), Kind::elsewhere,
           {"rank 5 on n2 is in compute (data.py:41), running, unchanged for 3.0 s; 7 ranks are in "
            "load_batch (data.py:41)"});
}

TEST(Diagnosis, ElsewhereInTheOnlyCollective) {
    expect(
        of(but_one(8, sleeps, 5, waits)), Kind::elsewhere,
        {"rank 5 on n2 is in all_reduce (train.py:88), asleep, unchanged for 3.0 s; 7 ranks are in "
         "load_batch (data.py:41)"});
}

TEST(Diagnosis, OtherCollective) {
    expect(of(but_one(8, waits, 5, {.stack = waiting("broadcast")})), Kind::other_collective,
           {"rank 5 on n2 is in broadcast (train.py:88), but 7 ranks are in all_reduce "
            "(train.py:88): they wait for each other in different collectives"});
    // One that goes on there is behind the others, or ahead of them.
    Doing arrives{.stack = waiting("broadcast"), .wakings = 5};
    expect(
        of(but_one(8, waits, 5, arrives)), Kind::elsewhere,
        {"rank 5 on n2 is in broadcast (train.py:88), awake at times, and moves; 7 ranks wait in "
         "all_reduce (train.py:88)"});
}

TEST(Diagnosis, Stopped) {
    expect(of(but_one(8, waits, 5, stopped)), Kind::stopped,
           {"rank 5 on n2 is stopped, by a signal such as SIGSTOP or by a debugger, in stop "
            "(data.py:41)"});
    expect(of(times(2, {.states = "tT"})), Kind::stopped,
           {"ranks 0-1 on n1, n2 are stopped, by a signal such as SIGSTOP or by a debugger"});
}

TEST(Diagnosis, InTheKernel) {
    expect(
        of(but_one(8, waits, 5, in_kernel)), Kind::in_kernel,
        {"rank 5 on n2 waits in the kernel (nfs_wait), in read (data.py:41), unchanged for 3.0 s"});
    // Of FUSE a process waits as if asleep.
    Doing fuse = in_kernel;
    fuse.states = "SS";
    fuse.channel = "request_wait_answer";
    expect(
        of(but_one(8, waits, 5, fuse)), Kind::in_kernel,
        {"rank 5 on n2 waits in the kernel (request_wait_answer), in read (data.py:41), unchanged "
         "for 3.0 s"});
    // Once is no hang: any read from a disk.
    Doing once = in_kernel;
    once.states = "SD";
    once.channel = "";
    EXPECT_EQ(of(but_one(8, waits, 5, once)).kind, Kind::elsewhere);
}

TEST(Diagnosis, Ended) {
    NodeLook second = made_up_look("n2", 4, times(4, waits));
    second.processes.erase(second.processes.begin() + 1);
    const std::vector<NodeLook> looks{made_up_look("n1", 0, times(4, waits)), second};
    expect(diagnose(looks, {}, 8), Kind::ended,
           {"rank 5 on n2 has ended, while 7 ranks still run"});
}

TEST(Diagnosis, EndedWithAllOfTheirNode) {
    const NodeLook left{.node = "n2", .times = {0, 3}};
    const NodeLook first = made_up_look("n1", 0, {waits});
    expect(diagnose({first, left}, {}, 3), Kind::ended,
           {"ranks 1-2 on n2 have ended, while 1 rank still runs"});
    // Also where nobody may read the stacks.
    NodeLook unread = made_up_look("n2", 1, {unseen, {.states = "SZ"}});
    unread.problem = "distgpu: py-spy: not found";
    EXPECT_EQ(diagnose({first, unread}, {}, 3).findings[0],
              "rank 2 on n2 has ended, while 2 ranks still run");
}

// WORLD_SIZE is the user's.
TEST(Diagnosis, CountsThoseThatItSaw) {
    NodeLook look = made_up_look("n1", 0, {waits});
    look.processes[0].rank = 0;
    look.processes[0].world_size = 4'294'967'295U;
    expect(diagnose({look}, {}, 1), Kind::ended,
           {"ranks 1-65536 have ended, while 1 rank still runs"});
}

TEST(Diagnosis, TakesNoRankForEndedThatCouldNotBeSeen) {
    const NodeLook first = made_up_look("n1", 0, times(4, waits));
    const std::vector<std::string> findings{
        "all 4 ranks that could be seen are in all_reduce (train.py:88), unchanged for 3.0 s; look "
        "at the nodes that could not be seen"};
    expect(diagnose({first}, {"n2"}, 8), Kind::unmoved, findings);
    const NodeLook failed{.node = "n2", .problem = "distgpu: scontrol: did not end in time"};
    const Diagnosis diagnosis = diagnose({first, failed}, {}, 8);
    expect(diagnosis, Kind::unmoved, findings);
    EXPECT_THAT(diagnosis.notes, ElementsAre(failed.problem));
    EXPECT_THAT(diagnosis.missing, ElementsAre(4, 5, 6, 7));
}

TEST(Diagnosis, OfAComponentSaysNothingOfTheOthers) {
    NodeLook look = made_up_look("n2", 2, {waits, waits});
    for (ProcessLook& process : look.processes) {
        process.rank = process.task;
        process.world_size = 4;
    }
    EXPECT_THAT(diagnose({look}, {}, 2).missing, ElementsAre(0, 1));
    const Diagnosis component = diagnose({look}, {}, 2, true);
    EXPECT_THAT(component.missing, IsEmpty());
    EXPECT_EQ(component.expected, 2U);
    expect(component, Kind::unmoved,
           {"all 2 ranks that could be seen are in all_reduce (train.py:88), unchanged for 3.0 s; "
            "look at the nodes that could not be seen"});
    EXPECT_THAT(component.notes,
                ElementsAre("this is one component of a heterogeneous step; look at the others "
                            "too"));
}

TEST(Diagnosis, Unmoved) {
    expect(of(times(8, waits)), Kind::unmoved,
           {"all 8 ranks are in all_reduce (train.py:88), unchanged for 3.0 s: none is missing "
            "there, so look at the network between the nodes (distgpu check)"});
    expect(of(times(8, sleeps)), Kind::unmoved,
           {"all 8 ranks are in load_batch (data.py:41), unchanged for 3.0 s; --repeat 60s tells "
            "whether that lasts"});
    // Whether they spin there or sleep is the same.
    Doing spins = waits;
    spins.cpu = 3;
    EXPECT_EQ(of(but_one(8, waits, 3, spins)).findings, of(times(8, waits)).findings);
}

TEST(Diagnosis, OfASingleRank) {
    expect(diagnose({made_up_look("n1", 0, {sleeps})}, {}, 1), Kind::unmoved,
           {"the only rank is in load_batch (data.py:41), unchanged for 3.0 s; --repeat 60s tells "
            "whether that lasts"});
    expect(diagnose({made_up_look("n1", 0, {moves})}, {}, 1), Kind::moving,
           {"nothing hangs: 1 of 1 rank went on in 3.0 s"});
}

TEST(Diagnosis, Moving) {
    expect(of(times(8, moves)), Kind::moving, {"nothing hangs: 8 of 8 ranks went on in 3.0 s"});
}

TEST(Diagnosis, MovingWhereHalfOfThemDo) {
    std::vector<Doing> ranks = times(8, moves);
    std::fill(ranks.begin(), ranks.begin() + 4, waits);
    expect(of(ranks), Kind::moving, {"nothing hangs: 4 of 8 ranks went on in 3.0 s"});
    ranks[4] = waits;
    expect(of(ranks), Kind::moving,
           {"all 8 ranks are in all_reduce (train.py:88), and 3 of them went on in 3.0 s; --repeat "
            "60s tells whether that lasts"});
}

// A thread that is woken goes on; one that looks all the time whether it may does not.
TEST(Diagnosis, MovesWhatWasWokenNowAndThen) {
    Doing woken = waits;
    woken.wakings = 149;
    EXPECT_EQ(of(times(2, woken)).kind, Kind::moving);
    woken.wakings = 150;
    EXPECT_EQ(of(times(2, woken)).kind, Kind::unmoved);
}

TEST(Diagnosis, Unknown) {
    expect(of(times(8, unseen)), Kind::unknown,
           {"nobody can tell where 8 ranks are; the table shows what the kernel tells of them"});
    expect(of(but_one(8, unseen, 2, waits)), Kind::unknown,
           {"nobody can tell where 7 ranks are; the table shows what the kernel tells of them"});
}

TEST(Diagnosis, NamesARankOfWhichNobodyKnowsWhereItIs) {
    expect(of(but_one(8, waits, 5, unseen)), Kind::elsewhere,
           {"rank 5 on n2 is where nobody can tell, asleep, unchanged for 3.0 s; 7 ranks wait in "
            "all_reduce (train.py:88)"});
}

TEST(Diagnosis, TellsSeveralTheWorstFirst) {
    std::vector<Doing> ranks = times(8, waits);
    ranks[1] = sleeps;
    ranks[2] = in_kernel;
    ranks[3] = stopped;
    NodeLook second = made_up_look("n2", 4, {ranks.begin() + 4, ranks.end()});
    second.processes.pop_back();
    const Diagnosis diagnosis =
        diagnose({made_up_look("n1", 0, {ranks.begin(), ranks.begin() + 4}), second}, {}, 8);
    expect(
        diagnosis, Kind::ended,
        {"rank 7 on n2 has ended, while 7 ranks still run",
         "rank 3 on n1 is stopped, by a signal such as SIGSTOP or by a debugger, in stop "
         "(data.py:41)",
         "rank 2 on n1 waits in the kernel (nfs_wait), in read (data.py:41), unchanged for 3.0 s",
         "rank 1 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s; 4 ranks wait "
         "in all_reduce (train.py:88)"});
}

// Where others move, one that is stopped is still told of, and nothing is said to be well.
TEST(Diagnosis, SaysNothingGoodBesideAFinding) {
    EXPECT_THAT(of(but_one(8, moves, 5, stopped)).findings, testing::SizeIs(1));
    EXPECT_THAT(of(but_one(8, unseen, 5, stopped)).findings, testing::SizeIs(1));
}

// Of two ranks the one that waits is not the odd one, whatever the other's function is called.
TEST(Diagnosis, OfATieIsTheOneThatDoesNotWait) {
    for (const std::string function : {"Load", "_load", "aaa", "load", "zzz"}) {
        expect(of({waits, {.stack = astray(function)}}), Kind::elsewhere,
               {"rank 1 on n2 is in " + function +
                " (data.py:41), asleep, unchanged for 3.0 s; 1 rank waits in all_reduce "
                "(train.py:88)"});
    }
    EXPECT_EQ(of({sleeps, unseen}).findings[0],
              "rank 1 on n2 is where nobody can tell, asleep, unchanged for 3.0 s; 1 rank is in "
              "load_batch (data.py:41)");
}

TEST(Diagnosis, OfNoRanks) {
    expect(diagnose({}, {}, 0), Kind::unknown, {});
    expect(diagnose({}, {}, 4), Kind::unknown, {});
    const Diagnosis silent = diagnose({}, {"n1", "n2"}, 4);
    expect(silent, Kind::unknown, {});
    EXPECT_THAT(silent.silent, ElementsAre("n1", "n2"));
    EXPECT_THAT(silent.groups, IsEmpty());
    EXPECT_EQ(silent.nodes, 2U);
    EXPECT_EQ(silent.expected, 4U);
}

TEST(Diagnosis, NamesTheWorkerThatARankWaitsFor) {
    const Stack reads{{"_worker_loop", "/venv/lib/python3.11/site-packages/torch/worker.py", 1},
                      {"__getitem__", "/home/u/data.py", 7}};
    const Stack idle{{"_worker_loop", "/venv/lib/python3.11/site-packages/torch/worker.py", 1}};
    const auto with_worker = [](const Doing& doing) {
        NodeLook look = made_up_look("n1", 0, {sleeps, waits, waits});
        ProcessLook& worker = add_process(look, 200, doing);
        worker.task = 0;
        worker.parent = 100;
        return diagnose({look}, {}, 3).findings.at(0);
    };
    const std::string rest = "; 2 ranks wait in all_reduce (train.py:88)";
    const std::string rank =
        "rank 0 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s";
    EXPECT_EQ(with_worker({.stack = reads}),
              rank +
                  ", and waits for its worker process 200, which is in __getitem__ (data.py:7), "
                  "asleep" +
                  rest);
    EXPECT_EQ(with_worker({.stack = idle}), rank + rest);
    EXPECT_EQ(with_worker({.stack = reads, .before = idle}), rank + rest);
    EXPECT_EQ(with_worker(unseen), rank + rest);
}

TEST(Diagnosis, GroupsAreTheSmallestFirst) {
    std::vector<Doing> ranks = times(16, waits);
    ranks[1] = ranks[9] = computes;
    ranks[4] = sleeps;
    const Diagnosis diagnosis = of(ranks);
    ASSERT_EQ(diagnosis.groups.size(), 3U);
    EXPECT_THAT(diagnosis.groups[0].ranks, ElementsAre(4));
    EXPECT_THAT(diagnosis.groups[0].nodes, ElementsAre("n1"));
    EXPECT_THAT(diagnosis.groups[1].ranks, ElementsAre(1, 9));
    EXPECT_THAT(diagnosis.groups[1].nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(diagnosis.groups[1].activity, Activity::running);
    EXPECT_EQ(diagnosis.groups[2].ranks.size(), 13U);
    EXPECT_EQ(diagnosis.groups[2].stack, waiting());
    EXPECT_EQ(diagnosis.seconds, 3.0);
    EXPECT_THAT(
        diagnosis.findings,
        ElementsAre("rank 4 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 "
                    "s; 13 ranks wait in all_reduce (train.py:88)",
                    "ranks 1,9 on n1, n2 are in compute (data.py:41), running, unchanged for "
                    "3.0 s; 13 ranks wait in all_reduce (train.py:88)"));
}

// Of many nodes a line would be long.
TEST(Diagnosis, NamesUpToFourNodes) {
    std::vector<NodeLook> looks;
    for (std::uint32_t node = 0; node < 11; ++node) {
        looks.push_back(
            made_up_look("n" + std::to_string(node), node, {node < 5 ? sleeps : waits}));
    }
    EXPECT_EQ(diagnose(looks, {}, 11).findings[0].substr(0, 14), "ranks 0-4 are ");
    looks.erase(looks.begin());
    EXPECT_EQ(diagnose(looks, {"n0"}, 11).findings[0].substr(0, 32),
              "ranks 1-4 on n1, n2, n3, n4 are ");
}

TEST(Diagnosis, TellsOnceWhyNothingCouldBeSeen) {
    std::vector<NodeLook> looks{made_up_look("n1", 0, {waits}), made_up_look("n2", 1, {waits})};
    looks[0].problem = looks[1].problem = "distgpu: stacks: forbidden";
    EXPECT_THAT(diagnose(looks, {}, 2).notes, ElementsAre("distgpu: stacks: forbidden"));
}

TEST(Diagnosis, TakesTheLastStackThatIsKnown) {
    NodeLook look = made_up_look("n1", 0, {waits});
    look.processes[0].moments[1].stack = std::nullopt;
    EXPECT_EQ(diagnose({look}, {}, 1).groups[0].site.text, "all_reduce (train.py:88)");
}

}  // namespace
}  // namespace distgpu

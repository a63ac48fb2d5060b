// Which rank of a step hangs, and where: each kind of hang, several at once, and what was seen of
// the odd ranks.
#include "why/diagnosis.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Kind = Diagnosis::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Doing waits{.stack = waiting()};
const Doing sleeps{.stack = astray()};
const Doing computes{.stack = astray("compute"), .states = "RR", .cpu = 2.9};
const Doing moves{.stack = waiting(), .wakeups = 5, .before = astray()};
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

// Of eight ranks number 5, or another one where the text says so, is odd.
TEST(Diagnosis, IsTheOneFindingThatMatters) {
    const Doing busy{
        .stack = astray("compute"), .states = "RR", .cpu = 2.9, .before = astray("epoch")};
    const Doing arrives{.stack = waiting("broadcast"), .wakeups = 5};
    const Doing fuse{.stack = astray("read"), .channel = "request_wait_answer"};
    const std::string in_collective = "all_reduce (train.py:88)";
    const std::string in_load = "load_batch (data.py:41)";
    const std::string others_wait = "; 7 ranks wait in " + in_collective;
    const std::string unchanged = ", unchanged for 3.0 s";
    const std::string lasts = "; run with --repeat 60s to see whether that lasts";
    std::vector<Doing> half = times(8, moves);
    std::fill(half.begin(), half.begin() + 4, waits);
    std::vector<Doing> less = half;
    less[4] = waits;
    const auto alone = [](const Doing& doing) {
        return diagnose({made_up_look("n1", 0, {doing})}, {}, 1);
    };
    struct Case {
        Diagnosis diagnosis;
        Kind kind;
        std::string finding;
    };
    const std::vector<Case> cases{
        {of(but_one(8, waits, 5, sleeps)), Kind::elsewhere,
         "rank 5 on n2 is in " + in_load + ", asleep" + unchanged + others_wait},
        {of(but_one(8, waits, 0, computes)), Kind::elsewhere,
         "rank 0 on n1 is in compute (data.py:41), running" + unchanged + others_wait},
        // On a CPU that it shares.
        {of(but_one(8, waits, 0, {.stack = astray("compute"), .states = "RR", .cpu = 0.9})),
         Kind::elsewhere,
         "rank 0 on n1 is in compute (data.py:41), running" + unchanged + others_wait},
        {of(but_one(8, waits, 0, busy)), Kind::elsewhere,
         "rank 0 on n1 is in compute (data.py:41), running, and moves" + others_wait},
        {of(but_one(8, waits, 5, unseen)), Kind::elsewhere,
         "rank 5 on n2 is at an unknown place, asleep" + unchanged + others_wait},
        {of(but_one(8, sleeps, 5, computes)), Kind::elsewhere,
         "rank 5 on n2 is in compute (data.py:41), running" + unchanged + "; 7 ranks are in " +
             in_load},
        {of(but_one(8, sleeps, 5, waits)), Kind::elsewhere,
         "rank 5 on n2 is in " + in_collective + ", asleep" + unchanged + "; 7 ranks are in " +
             in_load},
        {of(but_one(8, waits, 5, {.stack = waiting("broadcast")})), Kind::other_collective,
         "rank 5 on n2 is in broadcast (train.py:88), but 7 ranks are in " + in_collective +
             ": they wait for each other in different collectives"},
        // One that goes on there is behind the others, or ahead of them.
        {of(but_one(8, waits, 5, arrives)), Kind::elsewhere,
         "rank 5 on n2 is in broadcast (train.py:88), awake at times, and moves" + others_wait},
        {of(but_one(8, waits, 5, stopped)), Kind::stopped,
         "rank 5 on n2 is stopped, by a signal such as SIGSTOP or by a debugger, in stop "
         "(data.py:41)"},
        {of(times(2, {.states = "tT"})), Kind::stopped,
         "ranks 0-1 on n1, n2 are stopped, by a signal such as SIGSTOP or by a debugger"},
        {of(but_one(8, waits, 5, in_kernel)), Kind::in_kernel,
         "rank 5 on n2 waits in the kernel (nfs_wait), in read (data.py:41)" + unchanged},
        // Of FUSE a process waits as if asleep.
        {of(but_one(8, waits, 5, fuse)), Kind::in_kernel,
         "rank 5 on n2 waits in the kernel (request_wait_answer), in read (data.py:41)" +
             unchanged},
        {of(times(8, waits)), Kind::unmoved,
         "all 8 ranks are in " + in_collective + unchanged +
             ": none is missing there, so look at the network between the nodes (distgpu check)"},
        {of(times(8, sleeps)), Kind::unmoved, "all 8 ranks are in " + in_load + unchanged + lasts},
        {alone(sleeps), Kind::unmoved, "the only rank is in " + in_load + unchanged + lasts},
        {alone(moves), Kind::moving, "nothing hangs: 1 of 1 rank made progress in 3.0 s"},
        {of(times(8, moves)), Kind::moving, "nothing hangs: 8 of 8 ranks made progress in 3.0 s"},
        {of(half), Kind::moving, "nothing hangs: 4 of 8 ranks made progress in 3.0 s"},
        {of(less), Kind::moving,
         "all 8 ranks are in " + in_collective + ", and 3 of them made progress in 3.0 s" + lasts},
        {of(times(8, unseen)), Kind::unknown,
         "cannot tell where 8 ranks are; the table shows what the kernel reports about them"},
        {of(but_one(8, unseen, 2, waits)), Kind::unknown,
         "cannot tell where 7 ranks are; the table shows what the kernel reports about them"}};
    for (const Case& each : cases) expect(each.diagnosis, each.kind, {each.finding});
}

TEST(Diagnosis, TakesOneLookInTheKernelForNoHang) {
    Doing once = in_kernel;  // as any read from a disk
    once.states = "SD";
    once.channel = "";
    EXPECT_EQ(of(but_one(8, waits, 5, once)).kind, Kind::elsewhere);
    // Whether ranks that wait spin or sleep is the same.
    Doing spins = waits;
    spins.cpu = 3;
    EXPECT_EQ(of(but_one(8, waits, 3, spins)).findings, of(times(8, waits)).findings);
}

TEST(Diagnosis, EndedIsWhoseNodeWasLookedAt) {
    const NodeSample first = made_up_look("n1", 0, times(4, waits));
    NodeSample without = made_up_look("n2", 4, times(4, waits));
    without.processes.erase(without.processes.begin() + 1);
    // Also where nobody may read the stacks.
    NodeSample unread = made_up_look("n2", 4, {unseen, {.states = "SZ"}});
    unread.problem = "distgpu: py-spy: not found";
    struct Case {
        std::vector<NodeSample> looks;
        std::uint32_t tasks;
        std::string finding;
    };
    const std::vector<Case> cases{
        {{first, without}, 8, "rank 5 on n2 has ended, while 7 ranks still run"},
        {{made_up_look("n1", 0, {waits}), {.node = "n2", .times = {0, 3}}},
         3,
         "ranks 1-2 on n2 have ended, while 1 rank still runs"},
        {{first, unread}, 6, "rank 5 on n2 has ended, while 5 ranks still run"}};
    for (const Case& each : cases) {
        const Diagnosis diagnosis = diagnose(each.looks, {}, each.tasks);
        EXPECT_EQ(diagnosis.kind, Kind::ended);
        EXPECT_EQ(diagnosis.findings.at(0), each.finding);
    }
    const std::vector<std::string> findings{
        "all 4 ranks that could be seen are in all_reduce (train.py:88), unchanged for 3.0 s; look "
        "at the nodes that could not be seen"};
    expect(diagnose({first}, {"n2"}, 8), Kind::unmoved, findings);
    const NodeSample failed{.node = "n2", .problem = "distgpu: scontrol: did not end in time"};
    const Diagnosis diagnosis = diagnose({first, failed}, {}, 8);
    expect(diagnosis, Kind::unmoved, findings);
    EXPECT_THAT(diagnosis.notes, ElementsAre(failed.problem));
    EXPECT_THAT(diagnosis.missing, ElementsAre(4, 5, 6, 7));
}

TEST(Diagnosis, OfAComponentSaysNothingOfTheOthers) {
    NodeSample look = made_up_look("n2", 2, {waits, waits});
    for (ProcessSample& process : look.processes) {
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

// A thread that is woken goes on; one that looks all the time whether it may does not.
TEST(Diagnosis, MovesWhatWasWokenNowAndThen) {
    Doing woken = waits;
    woken.wakeups = 149;
    EXPECT_EQ(of(times(2, woken)).kind, Kind::moving);
    woken.wakeups = 150;
    EXPECT_EQ(of(times(2, woken)).kind, Kind::unmoved);
}

TEST(Diagnosis, TellsSeveralTheWorstFirst) {
    std::vector<Doing> ranks = times(8, waits);
    ranks[1] = sleeps;
    ranks[2] = in_kernel;
    ranks[3] = stopped;
    NodeSample second = made_up_look("n2", 4, {ranks.begin() + 4, ranks.end()});
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
              "rank 1 on n2 is at an unknown place, asleep, unchanged for 3.0 s; 1 rank is in "
              "load_batch (data.py:41)");
}

TEST(Diagnosis, OfNoRanks) {
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
        NodeSample look = made_up_look("n1", 0, {sleeps, waits, waits});
        ProcessSample& worker = add_process(look, 200, doing);
        worker.task = 0;
        worker.parent = 100;
        return diagnose({look}, {}, 3).findings.at(0);
    };
    const std::string rank =
        "rank 0 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s";
    const std::string rest = "; 2 ranks wait in all_reduce (train.py:88)";
    EXPECT_EQ(with_worker({.stack = reads}),
              rank +
                  ", and waits for its worker process 200, which is in __getitem__ (data.py:7), "
                  "asleep" +
                  rest);
    for (const Doing& other : {Doing{.stack = idle}, {.stack = reads, .before = idle}, unseen}) {
        EXPECT_EQ(with_worker(other), rank + rest);
    }
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
    EXPECT_EQ(diagnosis.findings.at(1),
              "ranks 1,9 on n1, n2 are in compute (data.py:41), running, unchanged for 3.0 s; 13 "
              "ranks wait in all_reduce (train.py:88)");
    // Of a moment without a stack the last one counts that is known.
    NodeSample look = made_up_look("n1", 0, {waits});
    look.processes[0].moments[1].stack = std::nullopt;
    EXPECT_EQ(diagnose({look}, {}, 1).groups[0].site.text, "all_reduce (train.py:88)");
}

// Of many nodes a line would be long; and why nothing could be seen is told once.
TEST(Diagnosis, NamesUpToFourNodes) {
    std::vector<NodeSample> looks;
    for (std::uint32_t node = 0; node < 11; ++node) {
        looks.push_back(
            made_up_look("n" + std::to_string(node), node, {node < 5 ? sleeps : waits}));
        looks.back().problem = "distgpu: stacks: forbidden";
    }
    const Diagnosis diagnosis = diagnose(looks, {}, 11);
    EXPECT_EQ(diagnosis.findings[0].substr(0, 14), "ranks 0-4 are ");
    EXPECT_THAT(diagnosis.notes, ElementsAre("distgpu: stacks: forbidden"));
    looks.erase(looks.begin());
    EXPECT_EQ(diagnose(looks, {"n0"}, 11).findings[0].substr(0, 32),
              "ranks 1-4 on n1, n2, n3, n4 are ");
}

// torchrun, a rank of it and a worker of that rank.
NodeSample launched() {
    NodeSample look = made_up_look("n1", 0, {{.stack = waiting(), .cpu = 1.5, .wakeups = 4}});
    look.processes[0].rank = 0;
    look.processes[0].parent = 70;
    look.processes[0].command = "python3 train.py";
    ProcessSample& launcher = add_process(look, 70, {});
    launcher.command = "torchrun train.py";
    ProcessSample& worker = add_process(look, 200, {.states = "SD"});
    worker.parent = 100;
    return look;
}

TEST(RankDetails, HaveTheProcessesAboveAndBelow) {
    const NodeSample look = launched();
    const RankDetails details = rank_details({0, &look, &look.processes[0], {}});
    EXPECT_EQ(details.pid, 100);
    EXPECT_DOUBLE_EQ(details.cpu, 0.5);
    EXPECT_EQ(details.wakeups, 4U);
    EXPECT_THAT(details.launchers, ElementsAre("70 torchrun train.py"));
    EXPECT_THAT(details.children, ElementsAre("200 python3 (D)"));
    EXPECT_EQ(to_text(details),
              "  rank 0 on n1: process 100 python3 train.py\n"
              "    state S, 0.50 s of CPU a second, woke 4 times\n"
              "    started by 70 torchrun train.py\n"
              "    has started 200 python3 (D)\n");
}

TEST(RankDetails, AreShortAndSteerNoTerminal) {
    NodeSample look = launched();
    look.processes[1].parent = 70;
    look.processes[0].command = "python3 \x1b[2J";
    look.processes[1].command = "torchrun\n\x1b]0;x\a";
    for (int i = 0; i < 6; ++i) {
        look.processes[0].connections.push_back({"10.0.0.1:" + std::to_string(i), 0, 0});
    }
    look.processes[0].connections[0].unsent = 7;
    const RankDetails details = rank_details({0, &look, &look.processes[0], {}});
    EXPECT_EQ(details.launchers.size(), 16U);
    EXPECT_EQ(to_text(details).find('\x1b'), std::string::npos);
    EXPECT_THAT(to_text(details),
                HasSubstr("    connected to 10.0.0.1:0 (7 bytes unsent), 10.0.0.1:1, 10.0.0.1:2, "
                          "10.0.0.1:3, and 2 more\n"));
}

TEST(EndedProcesses, AreThoseThatNobodyHasWaitedFor) {
    NodeSample look = launched();
    look.processes[0].moments.back().state = 'Z';
    for (const auto& [code, how] : std::vector<std::pair<int, std::string>>{
             {9, "was killed by signal 9 (SIGKILL)"},
             {139, "was killed by signal 11 (SIGSEGV)"},  // with a core
             {12, "was killed by signal 12"},
             {0, "ended with status 0"},
             {256, "ended with status 1"}}) {
        look.processes[0].exit_code = code;
        EXPECT_THAT(ended_processes({look}), ElementsAre(EndedProcess{"n1", 100, "python3", how}));
    }
    look.processes[0].exit_code.reset();
    EXPECT_THAT(ended_processes({look}), IsEmpty());
    // They are told where ranks are missing.
    look.processes[0].moments.back().state = 'S';
    look.processes[2].exit_code = 9;
    EXPECT_THAT(diagnose({look}, {}, 1).ended, IsEmpty());
    look.processes[0].world_size = 5;
    EXPECT_EQ(diagnose({look}, {}, 1).ended.size(), 1U);
}

}  // namespace
}  // namespace distgpu

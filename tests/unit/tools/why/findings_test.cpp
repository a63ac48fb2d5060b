// Which ranks are accused of a hang, and which never are.
#include "why/findings.h"

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
using testing::IsEmpty;

Stack receiving(const std::string& function = "recv", std::uint32_t line = 41) {
    Stack stack = astray("stage", line);
    stack.push_back({function, torch_file, 2300});
    return stack;
}

const Doing waits{.stacks = {waiting()}};
const Doing gathers{.stacks = {waiting("all_gather")}};
const Doing receives{.stacks = {receiving()}};
const Doing sleeps{.stacks = {astray()}};
const Doing computes{.stacks = {astray("compute")}, .states = "R", .work = used_cpu(2.9)};
const Doing polls{.stacks = {astray("poll", 7), astray("poll", 8)}, .work = woke(300)};
const Doing spins{.stacks = {astray("spin")},
                  .states = "R",
                  .variables = {"7"},
                  .work = used_cpu(2.9),
                  .holds_gil = true};
const Doing moves{.stacks = {astray(), waiting()}, .work = woke(5)};
const Doing stopped{.stacks = {astray("stop")}, .states = "T"};
const Doing in_kernel{.stacks = {astray("read")}, .states = "D", .channel = "nfs_wait"};
const Doing unseen{};
const Doing runs_unseen{.work = woke(9)};

const std::string in_collective = "all_reduce (train.py:88)";
const std::string in_load = "load_batch (data.py:41)";
const std::string unchanged = ", unchanged for 3.0 s";
const std::string no_progress = ", polling, without progress for 3.0 s";

std::vector<Doing> but_one(std::size_t count, const Doing& doing, std::size_t place,
                           const Doing& odd) {
    std::vector<Doing> all(count, doing);
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

Diagnosis alone(const Doing& doing) {
    return diagnose({made_up_look("n1", 0, {doing})}, {}, 1);
}

struct Case {
    Diagnosis diagnosis;
    Kind kind;
    std::vector<std::uint32_t> accused;
    std::vector<std::string> findings;
};

void expect(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
        EXPECT_EQ(name_of(each.diagnosis.kind), name_of(each.kind));
        EXPECT_EQ(each.diagnosis.accused, each.accused);
        EXPECT_EQ(each.diagnosis.findings, each.findings);
    }
}

TEST(Findings, AccuseTheRankThatDoesNotWait) {
    const std::string others_wait = "; 7 ranks wait in " + in_collective;
    expect(
        {{of(but_one(8, waits, 5, sleeps)),
          Kind::elsewhere,
          {5},
          {"rank 5 on n2 is in " + in_load + ", asleep" + unchanged + others_wait}},
         {of(but_one(8, waits, 0, spins)),
          Kind::elsewhere,
          {0},
          {"rank 0 on n1 is in spin (data.py:41)" + no_progress + others_wait}},
         {of(but_one(8, waits, 0, polls)),
          Kind::elsewhere,
          {0},
          {"rank 0 on n1 is in poll (data.py:8)" + no_progress + others_wait}},
         {of(but_one(8, waits, 5, unseen)),
          Kind::elsewhere,
          {5},
          {"rank 5 on n2 is at an unknown place, asleep" + unchanged + others_wait}},
         {of(but_one(8, waits, 5, stopped)),
          Kind::stopped,
          {5},
          {"rank 5 on n2 is stopped, by a signal such as SIGSTOP or by a debugger, in stop "
           "(data.py:41)"}},
         {of({{.states = "t"}, {.states = "T"}}),
          Kind::stopped,
          {0, 1},
          {"ranks 0-1 on n1, n2 are stopped, by a signal such as SIGSTOP or by a debugger"}},
         {of(but_one(8, waits, 5, in_kernel)),
          Kind::in_kernel,
          {5},
          {"rank 5 on n2 waits in the kernel (nfs_wait), in read (data.py:41)" + unchanged}},
         // Of FUSE a process waits as if asleep.
         {of(but_one(8, waits, 5, {.stacks = {astray("read")}, .channel = "request_wait_answer"})),
          Kind::in_kernel,
          {5},
          {"rank 5 on n2 waits in the kernel (request_wait_answer), in read (data.py:41)" +
           unchanged}}});
    // One moment in the kernel is any read from a disk.
    Doing once = in_kernel;
    once.states = "SSSD";
    once.channel = "";
    EXPECT_EQ(of(but_one(8, waits, 5, once)).kind, Kind::elsewhere);
    // Whether ranks that wait spin or sleep is the same.
    Doing spinning = waits;
    spinning.work = used_cpu(3);
    EXPECT_EQ(of(but_one(8, waits, 3, spinning)).findings, of({8, waits}).findings);
}

// Wherever they wait: for the one that is still all of them may wait.
TEST(Findings, NeverAccuseRanksThatWaitWhileAnotherIsStill) {
    const std::vector<std::vector<Doing>> steps{
        {waits, {.stacks = {waiting("broadcast")}}, sleeps},                         // three
        {receives, {.stacks = {receiving("send")}}, sleeps, receives, receives},     // pipeline
        {waits, waits, sleeps, gathers, gathers, gathers, gathers},                  // two groups
        {receives, receives, sleeps},                                                // messages
        {receives, waits, sleeps, {.stacks = {astray(), {}}, .has_request = true}},  // a request
        {receives, gathers, sleeps, polls}};
    for (const std::vector<Doing>& ranks : steps) {
        const Diagnosis diagnosis = of(ranks);
        EXPECT_EQ(diagnosis.kind, Kind::elsewhere);
        EXPECT_THAT(diagnosis.accused, ElementsAre(2));
        EXPECT_EQ(diagnosis.findings.size(), 1U);
    }
}

TEST(Findings, NeverAccuseRanksThatWaitForOneThatIsStoppedOrHasEnded) {
    for (const Doing& odd : {stopped, in_kernel}) {
        const Diagnosis diagnosis = of({waits, gathers, gathers, odd});
        EXPECT_THAT(diagnosis.accused, ElementsAre(3));
        EXPECT_EQ(diagnosis.findings.size(), 1U);
    }
    NodeSample look = made_up_look("n1", 0, {waits, gathers, gathers, waits});
    look.processes.pop_back();
    const Diagnosis ended = diagnose({look}, {}, 4);
    EXPECT_EQ(ended.kind, Kind::ended);
    EXPECT_THAT(ended.accused, ElementsAre(3));
    EXPECT_EQ(ended.findings.size(), 1U);
}

TEST(Findings, AccuseAllThatAreStillWhileOthersWait) {
    const Doing writes{.stacks = {astray("write")}};
    expect({{of({waits, sleeps, writes, waits}),
             Kind::elsewhere,
             {1, 2},
             {"rank 1 on n1 is in " + in_load + ", asleep" + unchanged + "; 2 ranks wait in " +
                  in_collective,
              "rank 2 on n2 is in write (data.py:41), asleep" + unchanged + "; 2 ranks wait in " +
                  in_collective}}});
}

// None is known to wait, so most of them may.
TEST(Findings, AccuseTheFewestWhereNoneIsKnownToWait) {
    const std::string seven = "; 7 ranks are in " + in_load;
    expect({{of(but_one(8, sleeps, 5, {.stacks = {astray("write")}})),
             Kind::elsewhere,
             {5},
             {"rank 5 on n2 is in write (data.py:41), asleep" + unchanged + seven}},
            {of({sleeps, unseen}),
             Kind::elsewhere,
             {1},
             {"rank 1 on n2 is at an unknown place, asleep" + unchanged + "; 1 rank is in " +
              in_load}}});
    // Of two the one that does not poll, whatever its function is called.
    for (const std::string function : {"Load", "aaa", "zzz"}) {
        const Diagnosis diagnosis = of({polls, {.stacks = {astray(function)}}});
        EXPECT_THAT(diagnosis.accused, ElementsAre(1)) << function;
        EXPECT_EQ(diagnosis.findings[0], "rank 1 on n2 is in " + function +
                                             " (data.py:41), asleep" + unchanged +
                                             "; 1 rank is in poll (data.py:8)");
    }
    EXPECT_THAT(of(but_one(8, polls, 5, sleeps)).accused, ElementsAre(5));
}

TEST(Findings, AccuseRanksThatPollOnlyIfNoneIsStill) {
    EXPECT_THAT(of({waits, polls, sleeps, waits}).accused, ElementsAre(2));
    EXPECT_THAT(of({waits, polls, waits, waits}).accused, ElementsAre(1));
    EXPECT_THAT(of({waits, polls, stopped, waits}).accused, ElementsAre(1, 2));
    EXPECT_THAT(of(but_one(8, polls, 5, {.stacks = {astray("spin")}, .work = woke(9)})).accused,
                ElementsAre(5));
}

TEST(Findings, OfOnePlaceAccuseNobodyAndTellWhereToLook) {
    const std::string lasts = "; run with --repeat 60s to see whether that lasts";
    Doing later = polls;
    std::swap(later.stacks[0], later.stacks[1]);
    expect(
        {{of({8, waits}),
          Kind::unmoved,
          {},
          {"all 8 ranks are in " + in_collective + unchanged +
           ": none is missing there, so look at the network between the nodes (distgpu "
           "check)"}},
         {of({8, sleeps}),
          Kind::unmoved,
          {},
          {"all 8 ranks are in " + in_load + unchanged + lasts}},
         {alone(sleeps), Kind::unmoved, {}, {"the only rank is in " + in_load + unchanged + lasts}},
         {of({4, receives}),
          Kind::unmoved,
          {},
          {"all 4 ranks are in recv (data.py:41)" + unchanged + lasts}},
         // At whatever line of the loop they are.
         {of({polls, polls, later, polls}),
          Kind::unmoved,
          {},
          {"all 4 ranks are in poll (data.py:8)" + no_progress +
           ": none of them has what they wait for, so look outside of the step"}}});
}

// A lock file tells for whom they wait.
TEST(Findings, OfOnePlaceTellWhoHoldsTheLock) {
    NodeSample look = made_up_look("n1", 0, {polls, polls});
    look.processes[1].lock = "process 812 (python3) on n1 has locked /tmp/x.lock";
    expect({{diagnose({look}, {}, 2),
             Kind::unmoved,
             {},
             {"all 2 ranks are in poll (data.py:8)" + no_progress +
              "; process 812 (python3) on n1 has locked /tmp/x.lock"}}});
}

TEST(Findings, OfTwoCollectivesAccuseTheFewestRanks) {
    expect({{of(but_one(8, waits, 5, gathers)),
             Kind::other_collective,
             {5},
             {"rank 5 on n2 is in all_gather (train.py:88), but 7 ranks are in " + in_collective +
              ": they wait for each other in different collectives"}}});
}

TEST(Findings, OfAStepThatMovesSayWhoMovesAndForWhomTheOthersWait) {
    const std::string nothing_hangs = "nothing hangs: ";
    expect(
        {{of({8, moves}), Kind::moving, {}, {"nothing hangs: 8 of 8 ranks made progress in 3.0 s"}},
         {alone(moves), Kind::moving, {}, {"nothing hangs: 1 of 1 rank made progress in 3.0 s"}},
         {of({computes, waits, waits, waits}),
          Kind::moving,
          {},
          {"nothing hangs: 1 of 4 ranks made progress in 3.0 s; rank 0 on n1 is in compute "
           "(data.py:41), running; 3 ranks wait in " +
           in_collective}},
         {of({computes, computes, waits, waits}),
          Kind::moving,
          {},
          {"nothing hangs: 2 of 4 ranks made progress in 3.0 s"}},
         {of({computes, sleeps, sleeps, sleeps}),
          Kind::moving,
          {},
          {"nothing hangs: 1 of 4 ranks made progress in 3.0 s"}}});
    // One that is stopped is told of, and then nothing is said to be well.
    const Diagnosis diagnosis = of(but_one(8, moves, 5, stopped));
    EXPECT_EQ(diagnosis.kind, Kind::stopped);
    EXPECT_EQ(diagnosis.findings.size(), 1U);
}

// Ranks in messages may wait for each other in turn, in a loop at any of its lines.
TEST(Findings, OfWaitsThatAreNoCollectivesAccuseNobody) {
    const Doing sends{.stacks = {receiving("send", 50)}};
    const Doing receives_later{.stacks = {receiving("recv", 43)}, .work = woke(5)};
    expect({{of({receives, receives, sends, waits}),
             Kind::unmoved,
             {},
             {"all 4 ranks wait for each other, 1 in all_reduce (train.py:88), 2 in recv "
              "(data.py:41), 1 in send (data.py:50)" +
              unchanged}}});
    EXPECT_THAT(of({receives, receives, receives_later, receives_later}).accused, IsEmpty());
    EXPECT_THAT(of({receives, receives, receives_later, receives_later}).findings[0],
                testing::StartsWith("all 4 ranks are in recv"));
}

TEST(Findings, OfOneThatPollsTellWhoHoldsTheLock) {
    NodeSample look = made_up_look("n1", 0, {waits, polls});
    look.processes[1].lock = "no process on n1 has locked /tmp/x.lock";
    expect({{diagnose({look}, {}, 2),
             Kind::elsewhere,
             {1},
             {"rank 1 on n1 is in poll (data.py:8)" + no_progress +
              "; no process on n1 has locked /tmp/x.lock; 1 rank waits in " + in_collective}}});
}

TEST(Findings, OfRanksThatRunUnseenSayNothing) {
    expect({{of({8, unseen}),
             Kind::unknown,
             {},
             {"cannot tell where 8 ranks are; the table shows what the kernel reports about them"}},
            {of({8, runs_unseen}),
             Kind::unknown,
             {},
             {"cannot tell where 8 ranks are; the table shows what the kernel reports about "
              "them"}}});
    // It may be the one that goes on.
    const Diagnosis one = of(but_one(8, waits, 5, runs_unseen));
    EXPECT_EQ(one.kind, Kind::unknown);
    EXPECT_THAT(one.accused, IsEmpty());
    EXPECT_THAT(one.findings[0], testing::StartsWith("cannot tell where 1 rank is;"));
    const Diagnosis beside = of({waits, runs_unseen, stopped, waits});
    EXPECT_EQ(beside.kind, Kind::stopped);
    EXPECT_THAT(beside.accused, ElementsAre(2));
    EXPECT_EQ(beside.findings.size(), 1U);
}

TEST(Findings, TellOfSeveralTheWorstFirst) {
    std::vector<Doing> ranks(8, waits);
    ranks[1] = sleeps;
    ranks[2] = in_kernel;
    ranks[3] = stopped;
    NodeSample second = made_up_look("n2", 4, {ranks.begin() + 4, ranks.end()});
    second.processes.pop_back();
    expect({{diagnose({made_up_look("n1", 0, {ranks.begin(), ranks.begin() + 4}), second}, {}, 8),
             Kind::ended,
             {1, 2, 3, 7},
             {"rank 7 on n2 has ended, while 7 ranks still run",
              "rank 3 on n1 is stopped, by a signal such as SIGSTOP or by a debugger, in stop "
              "(data.py:41)",
              "rank 2 on n1 waits in the kernel (nfs_wait), in read (data.py:41)" + unchanged,
              "rank 1 on n1 is in " + in_load + ", asleep" + unchanged + "; 4 ranks wait in " +
                  in_collective}}});
}

TEST(Findings, SayEndedOnlyWithProof) {
    const NodeSample first = made_up_look("n1", 0, {4, waits});
    NodeSample without = made_up_look("n2", 4, {4, waits});
    without.processes.erase(without.processes.begin() + 1);
    NodeSample zombie = made_up_look("n2", 4, {waits, {.states = "SZ"}});
    NodeSample torchrun = made_up_look("n1", 0, {{}});  // one task, with one rank of two
    torchrun.processes[0].is_python = false;
    add_process(torchrun, 200, waits).rank = 0;
    torchrun.processes[1].world_size = 2;
    torchrun.processes[1].task = 0;
    NodeSample unreaped = torchrun;
    add_process(unreaped, 201, {.states = "Z"}).exit_code = 9;
    struct Ended {
        std::vector<NodeSample> looks;
        std::uint32_t tasks;
        std::string finding;
    };
    const std::vector<Ended> cases{
        {{first, without}, 8, "rank 5 on n2 has ended, while 7 ranks still run"},
        {{made_up_look("n1", 0, {waits}), {.node = "n2", .times = {0, 3}}},
         3,
         "ranks 1-2 on n2 have ended, while 1 rank still runs"},
        {{first, zombie}, 6, "rank 5 on n2 has ended, while 5 ranks still run"},
        {{unreaped}, 1, "rank 1 has ended, while 1 rank still runs"}};
    for (const Ended& each : cases) {
        const Diagnosis diagnosis = diagnose(each.looks, {}, each.tasks);
        EXPECT_EQ(diagnosis.kind, Kind::ended);
        EXPECT_EQ(diagnosis.findings.at(0), each.finding);
        EXPECT_EQ(diagnosis.accused, diagnosis.missing);
    }
    const std::string others_unseen =
        "all 4 ranks that could be seen are in all_reduce (train.py:88), unchanged for 3.0 s; look "
        "at the nodes that could not be seen";
    const NodeSample failed{.node = "n2", .problem = "distgpu: scontrol: did not end in time"};
    expect({{diagnose({first}, {"n2"}, 8), Kind::unmoved, {}, {others_unseen}},
            {diagnose({first, failed}, {}, 8), Kind::unmoved, {}, {others_unseen}}});
    EXPECT_THAT(diagnose({first, failed}, {}, 8).notes, ElementsAre(failed.problem));
    EXPECT_THAT(diagnose({first, failed}, {}, 8).missing, ElementsAre(4, 5, 6, 7));
    const Diagnosis hidden = diagnose({torchrun}, {}, 1);
    EXPECT_NE(hidden.kind, Kind::ended);
    EXPECT_THAT(hidden.accused, IsEmpty());
    EXPECT_THAT(hidden.notes,
                ElementsAre("no process of rank 1 was seen, although no task has ended"));
}

// Four tasks that each began a training of one.
TEST(Findings, TellThatTasksShareARank) {
    NodeSample look = made_up_look("n1", 0, {4, sleeps});
    for (ProcessSample& process : look.processes) {
        process.rank = 0;
        process.world_size = 1;
    }
    expect({{diagnose({look}, {}, 4),
             Kind::shared_rank,
             {},
             {"tasks 0-3 all have RANK=0, so they do not work together; the numbers below are the "
              "tasks' (SLURM_PROCID)"}}});
}

TEST(Findings, OfAComponentSayNothingOfTheOthers) {
    NodeSample look = made_up_look("n2", 2, {waits, waits});
    for (ProcessSample& process : look.processes) {
        process.rank = process.task;
        process.world_size = 4;
    }
    EXPECT_THAT(diagnose({look}, {}, 2).missing, ElementsAre(0, 1));
    const Diagnosis component = diagnose({look}, {}, 2, true);
    EXPECT_THAT(component.missing, IsEmpty());
    EXPECT_EQ(component.expected, 2U);
    expect(
        {{component,
          Kind::unmoved,
          {},
          {"all 2 ranks that could be seen are in all_reduce (train.py:88), unchanged for 3.0 s; "
           "look at the nodes that could not be seen"}}});
    EXPECT_THAT(component.notes,
                ElementsAre("this is one component of a heterogeneous step; look at the others "
                            "too"));
}

TEST(Findings, OfNoRanksAreNone) {
    expect({{diagnose({}, {}, 4), Kind::unknown, {}, {}},
            {diagnose({}, {"n1", "n2"}, 4), Kind::unknown, {}, {}}});
}

// Of many nodes a line would be long.
TEST(Findings, NameUpToFourNodes) {
    std::vector<NodeSample> looks;
    for (std::uint32_t node = 0; node < 11; ++node) {
        looks.push_back(
            made_up_look("n" + std::to_string(node), node, {node < 5 ? sleeps : waits}));
    }
    EXPECT_EQ(diagnose(looks, {}, 11).findings[0].substr(0, 14), "ranks 0-4 are ");
    looks.erase(looks.begin());
    EXPECT_EQ(diagnose(looks, {"n0"}, 11).findings[0].substr(0, 32),
              "ranks 1-4 on n1, n2, n3, n4 are ");
}

// Where the tools may not read stacks.
// Where the tools may not read stacks.
TEST(Findings, OfRanksWithoutStacksGoByTheKernel) {
    const Doing futex{.channel = "futex_wait_queue", .call = "futex"};
    const Doing reads{.channel = "pipe_read", .call = "read"};
    const Doing pipe{.channel = "pipe_read"};
    expect({{of({futex, futex, reads, futex}),
             Kind::elsewhere,
             {2},
             {"rank 2 on n2 is in the kernel's read, asleep" + unchanged +
              "; 3 ranks are in the kernel's futex"}},
            {of({{.channel = "do_epoll_wait"}, pipe, pipe, pipe}),
             Kind::elsewhere,
             {0},
             {"rank 0 on n1 is in the kernel's do_epoll_wait, asleep" + unchanged +
              "; 3 ranks are in the kernel's pipe_read"}},
            {of({4, futex}),
             Kind::unmoved,
             {},
             {"all 4 ranks are in the kernel's futex" + unchanged +
              "; run with --repeat 60s to see whether that lasts"}}});
}

}  // namespace
}  // namespace distgpu

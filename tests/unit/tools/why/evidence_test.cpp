// What a process did during a sample, and for what it waits.
#include "why/evidence.h"

#include "tools/why/made_up_looks.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

// Of three seconds and four moments. `change`: what a Doing cannot say.
Evidence evidence_of(const Doing& doing, const std::function<void(ProcessSample&)>& change = {}) {
    NodeSample sample = made_up_look("n1", 0, {doing});
    if (change) change(sample.processes[0]);
    return evidence_of(sample, sample.processes[0]);
}

Progress progress_of(const Doing& doing, const std::function<void(ProcessSample&)>& change = {}) {
    return evidence_of(doing, change).progress;
}

// The user's function `serve`, and what it called.
Stack serving(const Stack& called = {}, std::uint32_t line = 41) {
    Stack stack = astray("serve", line);
    stack.insert(stack.end(), called.begin(), called.end());
    return stack;
}

const Stack receiving = serving({{"recv", torch_file, 2300}});
const Stack meeting{{"<module>", "/home/u/train.py", 9}, {"init_process_group", torch_file, 1700}};
const Stack in_backward{{"<module>", "/home/u/train.py", 90},
                        {"backward", packages + "torch/_tensor.py", 520}};
const Stack in_mpi = serving({{"PyMPI_Recv"}, {"MPI_Recv"}, {"opal_progress"}});
const Stack on_gpu = serving({{"item"}, {"cudaStreamSynchronize"}});

TEST(Activity, IsByAllMoments) {
    struct Case {
        const char* title;
        Doing doing;
        Activity activity;
    };
    const std::vector<Case> cases{
        {"did nothing but what the tools made it do", {}, Activity::asleep},
        {"woke once", {.work = woke(1)}, Activity::awake},
        {"half of a CPU", {.work = used_cpu(1.5)}, Activity::asleep},
        {"more than half of a CPU", {.work = used_cpu(1.51)}, Activity::running},
        {"other threads' CPU does not count", {.work = {.ticks = 900}}, Activity::asleep},
        {"ready for a CPU at all moments", {.states = "R"}, Activity::running},
        {"not at the last one", {.states = "RRRS"}, Activity::asleep},
        {"stopped, by a signal or a debugger", {.states = "TtTT"}, Activity::stopped},
        {"continued meanwhile", {.states = "TTTS"}, Activity::asleep},
        {"uninterruptible", {.states = "D", .work = woke(9)}, Activity::in_kernel},
        {"not at the first one", {.states = "SDDD"}, Activity::asleep},
        {"FUSE", {.channel = "request_wait_answer"}, Activity::in_kernel},
        {"NFS", {.channel = "rpc_wait_bit_killable"}, Activity::in_kernel},
        {"the page cache", {.channel = "folio_wait_bit_common"}, Activity::in_kernel},
        {"another channel", {.channel = "futex_wait_queue"}, Activity::asleep}};
    for (const Case& each : cases) {
        EXPECT_EQ(name_of(evidence_of(each.doing).activity), name_of(each.activity)) << each.title;
    }
}

// A process that began, or was seen, only later; and one that was never seen.
TEST(Activity, IsOfTheMomentsAtWhichItWasSeen) {
    const auto began_late = [](ProcessSample& process) {
        process.moments[0] = process.moments[1] = {};
    };
    const Evidence late = evidence_of({.states = "??DD"}, began_late);
    EXPECT_EQ(late.activity, Activity::in_kernel);
    // What it had done before is not what it did.
    EXPECT_EQ(late.wakeups, 0U);
    // Of one second, not of three.
    const auto works = [&](ProcessSample& process) {
        began_late(process);
        process.moments[3].before.main_ticks += 51;
        process.moments[3].before.ticks += 51;
    };
    EXPECT_EQ(evidence_of({}, works).activity, Activity::running);
    EXPECT_DOUBLE_EQ(evidence_of({}, works).cpu, 0.51);
    const Evidence never = evidence_of({.states = "?", .work = used_cpu(3)});
    EXPECT_EQ(never.activity, Activity::asleep);
    EXPECT_EQ(never.progress, Progress::none);
}

// The first of them that applies counts, also for one that waits for other ranks.
TEST(Progress, IsByDataFilesAndChildren) {
    const auto with = [](std::uint64_t Work::*count, std::uint64_t amount) {
        Doing doing{.stacks = {waiting()}};
        doing.work.*count = amount;
        return doing;
    };
    const auto chats = [](ProcessSample& process) { process.chatter = 1000; };
    EXPECT_EQ(progress_of(with(&Work::peer_bytes, 0)), Progress::none);
    EXPECT_EQ(progress_of(with(&Work::peer_bytes, 1)), Progress::messages);
    EXPECT_EQ(progress_of(with(&Work::peer_bytes, 3000), chats), Progress::none);
    EXPECT_EQ(progress_of(with(&Work::peer_bytes, 3001), chats), Progress::messages);
    EXPECT_EQ(progress_of(with(&Work::file_bytes, 3 * 65'536)), Progress::none);
    EXPECT_EQ(progress_of(with(&Work::file_bytes, 3 * 65'536 + 1)), Progress::files);
    EXPECT_EQ(progress_of(with(&Work::child_ticks, 15)), Progress::none);
    EXPECT_EQ(progress_of(with(&Work::child_ticks, 16)), Progress::children);
    Doing all = with(&Work::peer_bytes, 1);
    all.work.file_bytes = 1'000'000;
    EXPECT_EQ(progress_of(all), Progress::messages);
}

TEST(Progress, IsThatOfAChildThatRunsMostOfTheTime) {
    const auto runs = [](std::size_t moments) {
        return [moments](ProcessSample& process) {
            for (std::size_t i = 0; i < moments; ++i) process.moments[i].has_running_child = true;
        };
    };
    EXPECT_EQ(progress_of({.stacks = {astray()}}, runs(2)), Progress::none);
    EXPECT_EQ(progress_of({.stacks = {astray()}}, runs(3)), Progress::children);
}

TEST(Progress, IsToComputeOutsideOfAWait) {
    const Work enough = used_cpu(0.61);
    struct Case {
        const char* title;
        Doing doing;
        Progress progress;
    };
    const std::vector<Case> cases{
        {"a fifth of a CPU", {.stacks = {astray()}, .work = used_cpu(0.6)}, Progress::none},
        {"more than a fifth", {.stacks = {astray()}, .work = enough}, Progress::computing},
        {"little of a shared CPU", {.stacks = {astray()}, .states = "R"}, Progress::computing},
        {"gradients", {.stacks = {in_backward}, .work = enough}, Progress::computing},
        {"a collective", {.stacks = {waiting()}, .work = used_cpu(3)}, Progress::none},
        {"a message", {.stacks = {receiving}, .work = used_cpu(3)}, Progress::none},
        {"a spinning MPI",
         {.stacks = {serving()}, .work = used_cpu(3), .native = in_mpi},
         Progress::none},
        {"a spinning GPU",
         {.stacks = {serving()}, .work = used_cpu(3), .native = on_gpu},
         Progress::none},
        {"other threads", {.stacks = {astray()}, .work = {.ticks = 300}}, Progress::none}};
    for (const Case& each : cases) {
        EXPECT_EQ(name_of(progress_of(each.doing)), name_of(each.progress)) << each.title;
    }
}

// `while not ready: pass`
TEST(Progress, IsNotToSpin) {
    Doing spins{.stacks = {astray(), astray("load_batch", 42)},
                .states = "R",
                .variables = {"7"},
                .work = used_cpu(3),
                .holds_gil = true};
    const Evidence spinning = evidence_of(spins);
    EXPECT_EQ(spinning.progress, Progress::none);
    EXPECT_EQ(spinning.activity, Activity::running);
    EXPECT_TRUE(spinning.is_polling);
    const auto computes = [&](auto&& change) {
        Doing other = spins;
        change(other);
        return progress_of(other) == Progress::computing;
    };
    EXPECT_TRUE(computes([](Doing& doing) { doing.variables = {"7", "8", "7"}; }));
    EXPECT_TRUE(computes([](Doing& doing) { doing.variables = {}; }));
    EXPECT_TRUE(computes([](Doing& doing) { doing.stacks[0] = astray("other"); }));
    // The same function, called and on its own.
    EXPECT_TRUE(computes([](Doing& doing) { doing.stacks[0] = serving({{"f", "/home/u/a.py"}}); }));
    // A thread without the GIL may run machine code, unless its innermost frame is Python's.
    EXPECT_TRUE(computes([](Doing& doing) { doing.holds_gil = false; }));
    EXPECT_TRUE(computes([](Doing& doing) {
        doing.native = astray();
        doing.native.push_back({"cblas_sgemm"});
    }));
    EXPECT_FALSE(computes([](Doing& doing) {
        doing.holds_gil = false;
        doing.native = astray();
    }));
}

TEST(Progress, IsToBeInOtherFunctionsOfTheUser) {
    const std::vector<Stack> diverging{astray("read"), astray("write")};
    EXPECT_EQ(progress_of({.stacks = diverging}), Progress::functions);
    // Also between two moments in the middle.
    EXPECT_EQ(progress_of({.stacks = {astray("read"), astray("write"), astray("read")}}),
              Progress::functions);
    // A loop in one function: another line, a function that it calls, a package's function.
    const std::vector<Stack> loop{serving({{"look", "/home/u/data.py", 7}}), serving({}, 42),
                                  serving({{"sleep", "/usr/lib/python3.11/time.py", 3}})};
    EXPECT_EQ(progress_of({.stacks = loop, .work = woke(30)}), Progress::none);
    EXPECT_TRUE(evidence_of({.stacks = loop, .work = woke(30)}).is_polling);
}

TEST(Progress, IsThatVariablesChanged) {
    const auto with = [](const Stack& stack) {
        return Doing{.stacks = {stack}, .variables = {"6", "7"}};
    };
    EXPECT_EQ(progress_of(with(astray())), Progress::variables);
    // The steps of a training that is always found in its collective.
    EXPECT_EQ(progress_of(with(waiting())), Progress::variables);
    Doing same = with(astray());
    same.variables = {"7"};
    EXPECT_EQ(progress_of(same), Progress::none);
    // What another thread counts while it sleeps is left out at these moments.
    same.variables = {"7", "", "7"};
    EXPECT_EQ(progress_of(same), Progress::none);
    same.variables = {"7", "", "8"};
    EXPECT_EQ(progress_of(same), Progress::variables);
    // A loop that sleeps, that has a request, or that asks for a rendezvous may count its turns.
    Doing sleeps = with(astray());
    sleeps.channel = "hrtimer_nanosleep";
    EXPECT_EQ(progress_of(sleeps), Progress::none);
    sleeps.channel = "";
    for (const char* const call : {"clock_nanosleep", "sleep"}) {
        sleeps.call = call;
        EXPECT_EQ(progress_of(sleeps), Progress::none) << call;
    }
    Doing requests = with(astray());
    requests.has_request = true;
    EXPECT_EQ(progress_of(requests), Progress::none);
    EXPECT_EQ(progress_of(with(meeting)), Progress::none);
    EXPECT_EQ(progress_of(with(receiving)), Progress::none);
    // One that slept for at most half of the moments did something else too.
    const auto wakes = [](ProcessSample& process) {
        process.moments[0].system_call = process.moments[2].system_call = "futex";
    };
    EXPECT_EQ(progress_of(sleeps, wakes), Progress::variables);
}

TEST(Progress, IsUnknownOfOneThatRanWithoutAStack) {
    EXPECT_EQ(progress_of({}), Progress::none);
    EXPECT_EQ(progress_of({.work = woke(1)}), Progress::unknown);
    EXPECT_EQ(progress_of({.work = used_cpu(3)}), Progress::unknown);
    EXPECT_EQ(progress_of({.states = "T"}), Progress::none);
    EXPECT_FALSE(evidence_of({.work = woke(1)}).has_progress());
    EXPECT_FALSE(evidence_of({.work = woke(1)}).is_polling);
    EXPECT_TRUE(evidence_of({.work = {.peer_bytes = 1}}).has_progress());
}

TEST(Wait, IsByTheCodeThatTheUserCalled) {
    struct Case {
        const char* title;
        Doing doing;
        WaitsFor what;
    };
    const std::vector<Case> cases{
        {"a collective", {.stacks = {waiting()}}, WaitsFor::ranks},
        {"a message", {.stacks = {receiving}}, WaitsFor::ranks},
        {"gradients", {.stacks = {in_backward}}, WaitsFor::backward},
        {"a worker",
         {.stacks = {serving({{"_try_get_data", packages + "torch/utils/data/dataloader.py", 1}})}},
         WaitsFor::process},
        {"MPI", {.stacks = {serving()}, .work = used_cpu(3), .native = in_mpi}, WaitsFor::ranks},
        {"a GPU", {.stacks = {serving()}, .work = used_cpu(3), .native = on_gpu}, WaitsFor::gpu},
        {"a loop that looks at a request",
         {.stacks = {serving(), serving({}, 42)}, .work = used_cpu(3), .has_request = true},
         WaitsFor::ranks},
        {"nothing", {.stacks = {astray()}}, WaitsFor::nothing},
        {"unknown", {.has_request = true}, WaitsFor::nothing}};
    for (const Case& each : cases) {
        const Evidence evidence = evidence_of(each.doing);
        EXPECT_EQ(evidence.waits_for, each.what) << each.title;
        EXPECT_EQ(evidence.progress, Progress::none) << each.title;
        EXPECT_FALSE(evidence.is_polling) << each.title;
    }
    // The machine code is known only where it is that of the last stack.
    const auto no_last = [](ProcessSample& process) { process.moments[3].stack = std::nullopt; };
    EXPECT_EQ(evidence_of({.stacks = {serving()}, .native = in_mpi}, no_last).waits_for,
              WaitsFor::nothing);
    const auto no_request = [](ProcessSample& process) { process.moments[1].has_request = false; };
    EXPECT_EQ(evidence_of({.stacks = {serving()}, .has_request = true}, no_request).waits_for,
              WaitsFor::nothing);
}

// It came from somewhere else.
TEST(Wait, ThatBeganDuringTheSampleIsProgress) {
    for (const std::vector<Stack>& stacks :
         {std::vector{serving(), serving(), serving(), receiving},
          std::vector{serving(), receiving, receiving, receiving}}) {
        const Evidence evidence = evidence_of({.stacks = stacks});
        EXPECT_EQ(evidence.waits_for, WaitsFor::ranks);
        EXPECT_EQ(evidence.progress, Progress::functions);
    }
    // In a collective that the user's machine code calls, the stack tells nothing of before.
    const Evidence native = evidence_of({.stacks = {serving()}, .native = in_mpi});
    EXPECT_EQ(native.progress, Progress::none);
}

// It waits, looks, and waits again.
TEST(Wait, AgainAndAgainIsPolling) {
    const Evidence evidence = evidence_of(
        {.stacks = {receiving, serving({}, 42), receiving, serving({}, 42)}, .work = woke(300)});
    EXPECT_EQ(evidence.waits_for, WaitsFor::nothing);
    EXPECT_EQ(evidence.progress, Progress::none);
    EXPECT_TRUE(evidence.is_polling);
    // It is where it always was.
    EXPECT_EQ(evidence.stack, serving({}, 42));
    EXPECT_EQ(evidence.site.text, "serve (data.py:42)");
    EXPECT_TRUE(
        evidence_of({.stacks = {receiving, serving(), receiving}, .work = woke(300)}).is_polling);
    // One that only sleeps does not ask.
    EXPECT_FALSE(evidence_of({.stacks = {serving()}}).is_polling);
    EXPECT_FALSE(evidence_of({.stacks = {serving()}, .states = "D", .work = woke(9)}).is_polling);
}

TEST(Evidence, HasTheLastKnownPlaceAndWhatTheProcessUsed) {
    const auto no_last = [](ProcessSample& process) { process.moments[3].stack = std::nullopt; };
    const Doing doing{.stacks = {astray(), waiting()},
                      .work = {.main_switches = 4, .main_ticks = 30, .ticks = 150}};
    const Evidence evidence = evidence_of(doing, no_last);
    EXPECT_EQ(evidence.stack, waiting());
    EXPECT_EQ(evidence.site, (CallSite{"all_reduce (train.py:88)", true}));
    EXPECT_EQ(evidence.wakeups, 4U);
    EXPECT_DOUBLE_EQ(evidence.cpu, 0.5);
    EXPECT_EQ(evidence_of({.stacks = {serving()}, .native = in_mpi}).site,
              (CallSite{"MPI_Recv (data.py:41)", true}));
}

}  // namespace
}  // namespace distgpu

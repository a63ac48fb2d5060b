// Stacks as eu-stack and gdb print them, and where a rank is by a stack.
#include "inspect/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const std::string& backtrace) {
    std::vector<std::string> names;
    for (const Frame& frame : parse_backtrace(backtrace)) {
        EXPECT_EQ(frame, Frame{frame.function});
        names.push_back(frame.function);
    }
    return names;
}

// `eu-stack -1` of elfutils 0.188.
TEST(ParseBacktrace, ReadsEuStack) {
    EXPECT_THAT(names("PID 5531 - process\n"
                      "TID 5531:\n"
                      "#0  0x00007f5f8c8f1dd0 pause\n"
                      "#1  0x0000556c7098b8d5 int Mat::step<int, long>(std::vector<int, "
                      "std::allocator<int> >, long)\n"
                      "#2  0x0000556c7098b74c Mat::operator()()\n"
                      "#3  0x0000556c7098b1f1 main::{lambda()#1}::operator()() const\n"
                      "#4  0x0000556c7098b91c std::function<void ()>::operator()() const\n"
                      "#5  0x0000556c7098b1d2 run(std::function<void ()>)\n"
                      "#6  0x0000556c7098b1f2\n"
                      "#10 0x00007f5f8c84524a __libc_start_call_main\n"
                      "#11 0x00007f5f8c845305 __libc_start_main@@GLIBC_2.34\n"),
                ElementsAre("__libc_start_main", "__libc_start_call_main", "run",
                            "std::function<void ()>::operator()", "main::{lambda()#1}::operator()",
                            "Mat::operator()", "Mat::step<int, long>", "pause"));
}

// gdb 13.
TEST(ParseBacktrace, ReadsGdb) {
    EXPECT_THAT(
        names("[Thread debugging using libthread_db enabled]\n"
              "0x00007f5f8c8f1dd0 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
              "#0  0x00007f5f8c8f1dd0 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
              "#1  <signal handler called>\n"
              "#2  0x0000556c7098b8d5 in Mat::step<int, long> (this=0x7ffe7d25129f, "
              "v=std::vector of length 1, capacity 1 = {...}, u=2) at n.cpp:4\n"
              "#3  0x0000556c7098b74c in Mat::operator() (this=0x7ffe7d25129f) at n.cpp:5\n"
              "#4  0x000056549461b8d5 in ?? ()\n"
              "#5  0x0000556c7098b91c in std::function<void ()>::operator()() const (this=0x1) at "
              "/usr/include/c++/12/bits/std_function.h:591\n"
              "#6  main (argc=1, argv=0x7ffe) at n.cpp:7\n"
              "#10 0x00007f099e44524a in __libc_start_call_main (main=main@entry=0x56549461b1f4) "
              "at ../sysdeps/nptl/libc_start_call_main.h:58\n"
              "[Inferior 1 (process 5531) detached]\n"),
        ElementsAre("__libc_start_call_main", "main", "std::function<void ()>::operator()",
                    "Mat::operator()", "Mat::step<int, long>", "<signal handler called>",
                    "__libc_pause"));
}

TEST(ParseBacktrace, IsEmptyOfOtherText) {
    EXPECT_THAT(names(""), IsEmpty());
    EXPECT_THAT(names("No stack.\n# \n#\n#1\n#1 \n#1  0x\n#2  in \n"), IsEmpty());
}

TEST(ParseBacktrace, BoundsWhatAProgramNames) {
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "#1  0x01 " + std::string(1000, 'f') + "\n";
    const auto all = names(deep);
    EXPECT_EQ(all, std::vector(200, std::string(300, 'f')));
    EXPECT_THAT(names("#1  0x01 a\x1b[2J\n"), ElementsAre("a?[2J"));
}

TEST(CallSite, IsWhatOwnCodeCalled) {
    const std::string packages = "/venv/lib/python3.11/site-packages/";
    const std::string c10d = packages + "torch/distributed/distributed_c10d.py";
    const std::string jax = packages + "jax/experimental/multihost_utils.py";
    const std::string optimizer = packages + "horovod/torch/optimizer.py";
    const std::string mpi_ops = packages + "horovod/torch/mpi_ops.py";
    const Frame module{"<module>", "/home/u/train.py", 90};
    const Frame train{"train", "/home/u/train.py", 88};
    const Frame own{"load_batch", "/home/u/data.py", 41};
    struct Case {
        const char* title;
        Stack stack;
        CallSite site;
    };
    const std::vector<Case> cases{
        {"torch's collective",
         {module,
          train,
          {"wrapper", packages + "torch/c10d_logger.py", 83},
          {"all_reduce", c10d, 4}},
         {"all_reduce (train.py:88)", true}},
        {"torch's backward",
         {module, {"_engine_run_backward", packages + "torch/autograd/graph.py", 829}},
         {"_engine_run_backward (train.py:90)", false}},
        {"the outermost collective is the one that the user called",
         {module, train, {"allreduce", mpi_ops, 265}, {"synchronize", mpi_ops, 1285}},
         {"allreduce (train.py:88)", true}},
        {"Horovod's optimizer",
         {module,
          {"_DistributedOptimizer.step", optimizer, 364},
          {"_DistributedOptimizer.synchronize", optimizer, 325}},
         {"_DistributedOptimizer.synchronize (train.py:90)", true}},
        {"JAX's collective",
         {module, {"process_allgather", jax, 153}, {"_handle_array_process_allgather", jax, 99}},
         {"process_allgather (train.py:90)", true}},
        {"MPI's function",
         {{"__libc_start_main"}, {"main"}, {"PMPI_Allreduce"}, {"opal_progress"}},
         {"PMPI_Allreduce (main)", true}},
        {"MPI's without a caller", {{"MPI_Barrier"}, {"opal_progress"}}, {"MPI_Barrier", true}},
        {"own code", {module, own}, {"load_batch (data.py:41)", false}},
        {"what own code called",
         {module, own, {"read", "/usr/lib/python3.11/codecs.py", 322}},
         {"read (data.py:41)", false}},
        {"a frozen module", {module, {"open", "<frozen io>", 3}}, {"open (train.py:90)", false}},
        {"without own code the innermost", {{"main"}, {"work"}, {"poll"}}, {"poll", false}},
        {"the same of a package",
         {{"_worker_loop", packages + "torch/utils/data/_utils/worker.py", 257}},
         {"_worker_loop (worker.py:257)", false}},
        {"a collective without own code",
         {{"run", packages + "accelerate/launcher.py", 7}, {"barrier", c10d, 9}},
         {"barrier (launcher.py:7)", true}},
        {"a user's own function may have the name of one",
         {module, {"broadcast", "/home/u/radio.py", 5}},
         {"broadcast (radio.py:5)", false}},
        {"nothing", {}, {}}};
    for (const Case& each : cases) EXPECT_EQ(call_site_of(each.stack), each.site) << each.title;
}

const std::string packages = "/venv/lib/python3.11/site-packages/";
const Frame train{"train", "/home/u/train.py", 88};

Stack called(const std::vector<Frame>& frames) {
    Stack stack{train};
    stack.insert(stack.end(), frames.begin(), frames.end());
    return stack;
}

TEST(OwnCode, IsInTheUsersPythonFiles) {
    EXPECT_TRUE(is_own_code(train));
    for (const Frame& other : std::vector<Frame>{{"main"},
                                                 {"f", packages + "torch/a.py", 1},
                                                 {"f", "/usr/lib/python3/dist-packages/a.py", 1},
                                                 {"f", "/usr/lib/python3.11/threading.py", 1},
                                                 {"f", "<frozen runpy>", 1},
                                                 {"f", "/build/Python/ceval.c", 1},
                                                 {"f", "/home/u/kernel.cpp", 1},
                                                 {"f", "/home/u/train.py"}}) {
        EXPECT_FALSE(is_own_code(other)) << other.file;
    }
    EXPECT_TRUE(has_own_code(called({{"poll"}})));
    EXPECT_FALSE(has_own_code({{"main"}, {"poll"}}));
}

TEST(WaitsFor, IsByWhatOwnCodeCalled) {
    const std::string c10d = packages + "torch/distributed/distributed_c10d.py";
    struct Case {
        const char* title;
        Stack stack;
        WaitsFor what;
    };
    const std::vector<Case> cases{
        {"a collective", called({{"all_reduce", c10d, 4}}), WaitsFor::ranks},
        {"a message", called({{"recv", c10d, 4}}), WaitsFor::ranks},
        {"mpi4py", called({{"Comm.recv", packages + "mpi4py/util/pkl5.py", 3}}), WaitsFor::ranks},
        {"a rendezvous", called({{"rendezvous", packages + "torch/distributed/rendezvous.py", 3}}),
         WaitsFor::ranks},
        {"another library's recv", called({{"recv", packages + "zmq/socket.py", 3}}),
         WaitsFor::nothing},
        {"MPI", {{"main"}, {"PMPI_Recv"}, {"poll"}}, WaitsFor::ranks},
        {"gloo", {{"main"}, {"gloo::transport::tcp::Buffer::waitRecv"}}, WaitsFor::ranks},
        {"gradients", called({{"backward", packages + "torch/_tensor.py", 3}}), WaitsFor::backward},
        {"a kernel", {{"main"}, {"cudaStreamSynchronize"}}, WaitsFor::gpu},
        {"all kernels", called({{"synchronize", packages + "torch/cuda/__init__.py", 9}}),
         WaitsFor::gpu},
        {"Horovod", called({{"synchronize", packages + "horovod/torch/mpi_ops.py", 9}}),
         WaitsFor::ranks},
        {"a DataLoader's worker",
         called({{"_try_get_data", packages + "torch/utils/data/dataloader.py", 3}}),
         WaitsFor::process},
        {"a child", called({{"Popen.communicate", "/usr/lib/python3.11/subprocess.py", 3}}),
         WaitsFor::process},
        {"a thread", called({{"join", "/usr/lib/python3.11/threading.py", 3}}), WaitsFor::nothing},
        {"own functions",
         {{"all_reduce", "/home/u/train.py", 7}, {"wait", "/home/u/train.py", 9}},
         WaitsFor::nothing},
        {"own code that a package called back",
         {{"all_reduce", c10d, 4}, {"hook", "/home/u/train.py", 9}},
         WaitsFor::nothing},
        {"nothing", {}, WaitsFor::nothing}};
    for (const Case& each : cases) EXPECT_EQ(waits_for(each.stack), each.what) << each.title;
}

TEST(WaitsFor, SeesMachineCodeThatPythonCalled) {
    const auto native = [](const std::string& function) {
        return called({{"_wrapped"}, {function}, {"poll"}});
    };
    const auto what = [&](const std::string& function) {
        const Stack stack = native(function);
        return waits_for(called({}), &stack);
    };
    for (const char* const function :
         {"c10d::ProcessGroupGloo::AsyncWork::wait", "MPI_Wait", "ncclGroupEnd",
          "horovod::common::Wait", "xla::cpu::GlooCommunicator::AllReduce"}) {
        EXPECT_EQ(what(function), WaitsFor::ranks) << function;
    }
    EXPECT_EQ(what("cuEventSynchronize"), WaitsFor::gpu);
    EXPECT_EQ(what("cblas_sgemm"), WaitsFor::nothing);
    // DDP's exchange is a part of the gradients.
    const Stack stack = native("c10d::Reducer::finalize_backward");
    EXPECT_EQ(waits_for(called({{"backward", packages + "torch/_tensor.py", 3}}), &stack),
              WaitsFor::backward);
}

TEST(CallSite, IsTheMachineCodeThatOwnCodeCalled) {
    const Stack work = called({{"c10d::Work::wait"}, {"pthread_cond_wait"}});
    EXPECT_EQ(call_site_of(called({}), &work), (CallSite{"c10d::Work::wait (train.py:88)", true}));
    const Stack store = called({{"c10d::TCPStore::wait"}});
    EXPECT_EQ(call_site_of(called({}), &store),
              (CallSite{"c10d::TCPStore::wait (train.py:88)", false}));
    const Stack compute = called({{"cblas_sgemm"}});
    EXPECT_EQ(call_site_of(called({}), &compute), (CallSite{"train (train.py:88)", false}));
    // What Python's stack tells comes first.
    EXPECT_EQ(call_site_of(called({{"read", packages + "h5py/a.py", 3}}), &work).text,
              "read (train.py:88)");
}

TEST(CallSite, IsNotADecoratorNorARendezvous) {
    const std::string c10d = packages + "torch/distributed/distributed_c10d.py";
    EXPECT_EQ(call_site_of(called({{"_exception_logger.<locals>.wrapper",
                                    packages + "torch/distributed/c10d_logger.py", 8},
                                   {"recv", c10d, 4}}))
                  .text,
              "recv (train.py:88)");
    EXPECT_FALSE(call_site_of(called({{"synchronize", packages + "torch/cuda/__init__.py", 9}}))
                     .is_collective);
    EXPECT_EQ(call_site_of(called({{"init_process_group", c10d, 4}})),
              (CallSite{"init_process_group (train.py:88)", false}));
}

TEST(CommonStack, EndsWhereTheStacksDiffer) {
    const Frame module{"<module>", "/home/u/train.py", 90};
    const Frame poll{"poll", "/home/u/train.py", 7};
    const Frame poll_later{"poll", "/home/u/train.py", 8};
    const Frame sleep{"sleep", "/home/u/train.py", 20};
    const auto common = [](const std::vector<Stack>& stacks) {
        std::vector<const Stack*> pointers;
        for (const Stack& stack : stacks) pointers.push_back(&stack);
        return common_stack(pointers);
    };
    EXPECT_EQ(common({}), Stack());
    EXPECT_EQ(common({{module, poll, sleep}}), (Stack{module, poll, sleep}));
    EXPECT_EQ(common({{module, poll, sleep}, {module, poll}}), (Stack{module, poll}));
    // At another line it is the same function, of which the last line counts.
    EXPECT_EQ(common({{module, poll, sleep}, {module, poll_later, sleep}}),
              (Stack{module, poll_later}));
    EXPECT_EQ(common({{module, poll}, {module, sleep}}), Stack{module});
    EXPECT_EQ(common({{poll}, {{"poll", "/home/u/other.py", 7}}}), Stack());
}

TEST(RunsOtherCode, IsOfDivergingFunctionsOfTheUser) {
    const Frame other{"other", "/home/u/train.py", 9};
    const Frame next{"train", "/home/u/train.py", 89};
    const Frame sleep{"sleep", "/usr/lib/python3.11/time.py", 9};
    EXPECT_TRUE(runs_other_code({train}, {other}));
    EXPECT_TRUE(runs_other_code({train, other}, {train, train}));
    EXPECT_TRUE(runs_other_code({train}, {{"train", "/home/u/other.py", 88}}));
    // A loop in one function, whatever it calls meanwhile.
    EXPECT_FALSE(runs_other_code({train}, {next}));
    EXPECT_FALSE(runs_other_code({train}, {next, other}));
    EXPECT_FALSE(runs_other_code({train, other}, {train}));
    EXPECT_FALSE(runs_other_code({train, sleep}, {train, {"poll"}}));
    EXPECT_FALSE(runs_other_code({}, {train}));
}

TEST(RunsOtherCode, OfMachineCodeIsByItsFunctionsUpToAWait) {
    EXPECT_TRUE(runs_other_code({{"main"}, {"read"}, {"poll"}}, {{"main"}, {"solve"}, {"poll"}}));
    // The innermost may be a system call, or what MPI does while it waits.
    EXPECT_FALSE(runs_other_code({{"main"}, {"read"}}, {{"main"}, {"poll"}}));
    EXPECT_FALSE(runs_other_code({{"main"}, {"MPI_Recv"}, {"progress"}, {"poll"}},
                                 {{"main"}, {"MPI_Recv"}, {"test"}, {"epoll_wait"}}));
}

}  // namespace
}  // namespace distgpu

// Where a rank is, in a programmer's words: what stack.h makes of stacks of real frameworks.
#include "inspect/stack.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

const std::string packages = "/venv/lib/python3.11/site-packages/";
const Frame module_frame{"<module>", "/home/u/train.py", 90};
const Frame train{"train", "/home/u/train.py", 88};

CallSite collective(const std::string& text) {
    return {text, true};
}

CallSite elsewhere(const std::string& text) {
    return {text, false};
}

TEST(CallSite, OfTorchIsTheCollectiveThatOwnCodeCalled) {
    EXPECT_EQ(
        call_site_of({module_frame,
                      train,
                      {"_exception_logger.<locals>.wrapper",
                       packages + "torch/distributed/c10d_logger.py", 83},
                      {"all_reduce", packages + "torch/distributed/distributed_c10d.py", 4181}}),
        collective("all_reduce (train.py:88)"));
    EXPECT_EQ(call_site_of({module_frame,
                            {"_engine_run_backward", packages + "torch/autograd/graph.py", 829}}),
              elsewhere("_engine_run_backward (train.py:90)"));
}

// The outermost collective is the one that the user called.
TEST(CallSite, OfHorovodIsItsCollective) {
    EXPECT_EQ(call_site_of({module_frame,
                            train,
                            {"allreduce", packages + "horovod/torch/mpi_ops.py", 265},
                            {"synchronize", packages + "horovod/torch/mpi_ops.py", 1285}}),
              collective("allreduce (train.py:88)"));
    EXPECT_EQ(
        call_site_of(
            {module_frame,
             {"_DistributedOptimizer.step", packages + "horovod/torch/optimizer.py", 364},
             {"_DistributedOptimizer.synchronize", packages + "horovod/torch/optimizer.py", 325}}),
        collective("_DistributedOptimizer.synchronize (train.py:90)"));
}

TEST(CallSite, OfJaxIsItsCollective) {
    EXPECT_EQ(
        call_site_of({module_frame,
                      {"process_allgather", packages + "jax/experimental/multihost_utils.py", 153},
                      {"_handle_array_process_allgather",
                       packages + "jax/experimental/multihost_utils.py", 99}}),
        collective("process_allgather (train.py:90)"));
}

TEST(CallSite, OfMpiIsItsFunction) {
    EXPECT_EQ(
        call_site_of({{"__libc_start_main"}, {"main"}, {"PMPI_Allreduce"}, {"opal_progress"}}),
        collective("PMPI_Allreduce (main)"));
    EXPECT_EQ(call_site_of({{"MPI_Barrier"}, {"opal_progress"}}), collective("MPI_Barrier"));
}

TEST(CallSite, ElsewhereIsWhatOwnCodeCalledOrItself) {
    const Frame own{"load_batch", "/home/u/data.py", 41};
    EXPECT_EQ(call_site_of({module_frame, own}), elsewhere("load_batch (data.py:41)"));
    EXPECT_EQ(call_site_of({module_frame, own, {"read", "/usr/lib/python3.11/codecs.py", 322}}),
              elsewhere("read (data.py:41)"));
    EXPECT_EQ(call_site_of({module_frame, {"open", "<frozen io>", 3}}),
              elsewhere("open (train.py:90)"));
}

TEST(CallSite, WithoutOwnCodeIsTheInnermostCall) {
    EXPECT_EQ(call_site_of({{"main"}, {"work"}, {"poll"}}), elsewhere("poll"));
    EXPECT_EQ(call_site_of({{"_worker_loop", packages + "torch/utils/data/_utils/worker.py", 257}}),
              elsewhere("_worker_loop (worker.py:257)"));
    EXPECT_EQ(call_site_of({{"run", packages + "accelerate/launcher.py", 7},
                            {"barrier", packages + "torch/distributed/distributed_c10d.py", 9}}),
              collective("barrier (launcher.py:7)"));
}

// A user's own function may have the name of one.
TEST(CallSite, OfOwnCodeIsNoCollective) {
    EXPECT_EQ(call_site_of({module_frame, {"broadcast", "/home/u/radio.py", 5}}),
              elsewhere("broadcast (radio.py:5)"));
}

TEST(MayWait, IsTrueOfNamesThatWaitButForTheUsersOwn) {
    const auto with = [](const std::string& function, const std::string& file) {
        return Stack{{"main", "/home/u/train.py", 9}, {function, file, file.empty() ? 0U : 12U}};
    };
    for (const char* name :
         {"join", "_wait_for_tstate_lock", "_engine_run_backward", "recv", "get"}) {
        EXPECT_TRUE(may_wait(with(name, "/usr/lib/python3.11/threading.py"))) << name;
        EXPECT_FALSE(may_wait(with(name, "/home/u/data.py"))) << name;
    }
    EXPECT_TRUE(may_wait(with("pthread_cond_wait", "")));
    EXPECT_FALSE(may_wait(with("pause", "")));
    EXPECT_FALSE(may_wait({}));
}

TEST(MayWait, IsTrueOfACollectiveWhoseverItIs) {
    for (const char* name : {"all_reduce", "barrier", "MPI_Recv", "_store_based_barrier"}) {
        const Stack stack{{"main", "/home/u/train.py", 9}, {name, "/home/u/train.py", 12}};
        EXPECT_TRUE(may_wait(stack)) << name;
        EXPECT_TRUE(waits_for_ranks(stack)) << name;
    }
    EXPECT_FALSE(waits_for_ranks({{"join", "/usr/lib/python3.11/threading.py", 12}}));
}

TEST(CallSite, OfNothingIsNotKnown) {
    EXPECT_EQ(call_site_of({}), CallSite());
}

}  // namespace
}  // namespace distgpu

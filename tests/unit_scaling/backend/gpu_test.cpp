#include "backend/gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

// What the fake NCCL and CUDA return, and their recorded calls.
struct FakeState {
    int queries_until_done = 0;  // -1: never
    nccl::Status asynchronous = nccl::success;
    nccl::Status group_status = nccl::success;
    std::vector<std::string> calls;
};
FakeState fake;

nccl::Status record_call(const std::string& call) {
    fake.calls.push_back(call);
    return nccl::success;
}

std::array<std::byte, 64> sent;
std::array<std::byte, 64> received;

std::string offset_in(const void* buffer, const std::array<std::byte, 64>& whole) {
    return std::to_string(static_cast<const std::byte*>(buffer) - whole.data());
}

Gpu fake_gpu() {
    fake = {};
    Gpu gpu{};
    gpu.cuda.query_stream = [](cuda::Stream) -> cuda::Status {
        record_call("query");
        if (fake.queries_until_done == 0) return cuda::success;
        --fake.queries_until_done;
        return cuda::not_ready;
    };
    gpu.nccl.error_string = [](nccl::Status status) {
        return status == nccl::remote_error ? "remote error" : "other error";
    };
    gpu.nccl.last_error = [](nccl::Communicator) { return "peer is gone\ntwice"; };
    gpu.nccl.async_error = [](nccl::Communicator, nccl::Status* error) -> nccl::Status {
        *error = fake.asynchronous;
        return nccl::success;
    };
    gpu.cuda.error_string = [](cuda::Status status, const char** text) -> cuda::Status {
        *text = status == 2 ? "out of memory" : nullptr;
        return cuda::success;
    };
    gpu.nccl.group_start = [] { return record_call("start"); };
    gpu.nccl.group_end = []() -> nccl::Status {
        record_call("end");
        return fake.group_status;
    };
    gpu.nccl.send = [](const void* from, std::size_t count, int type, int peer, nccl::Communicator,
                       nccl::Stream) {
        return record_call("send " + std::to_string(count) + " of " + std::to_string(type) +
                           " at " + offset_in(from, sent) + " to " + std::to_string(peer));
    };
    gpu.nccl.receive = [](void* to, std::size_t, int, int peer, nccl::Communicator, nccl::Stream) {
        return record_call("receive at " + offset_in(to, received) + " from " +
                           std::to_string(peer));
    };
    return gpu;
}

Call call_of_two_floats(Collective collective) {
    return {collective, DataType::f32, 2, sent.data(), received.data()};
}

using Calls = std::vector<std::string>;

TEST(NcclCommunicator, WaitsUntilTheStreamIsDone) {
    const Gpu gpu = fake_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    fake.queries_until_done = 3;
    EXPECT_EQ(group.synchronize(), std::nullopt);
    EXPECT_EQ(fake.calls.size(), 4U);
}

TEST(NcclCommunicator, DoesNotWaitForALostRank) {
    const Gpu gpu = fake_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    fake.queries_until_done = -1;
    fake.asynchronous = nccl::remote_error;
    const Error expected{"collective of NCCL", "remote error: peer is gone twice",
                         "run again with NCCL_DEBUG=INFO"};
    EXPECT_EQ(group.synchronize(), expected);
}

// The fake GPU takes 1 ms for the first collective, 2 ms for the second, and so on.
struct Timeline {
    std::vector<int> recorded;  // by event: number of collectives before it
    int collectives = 0;
    int max_in_flight = 0;
    int finished = 0;
};
Timeline timeline;

Gpu timed_gpu(std::size_t events) {
    Gpu gpu = fake_gpu();
    timeline = {std::vector<int>(events, -1), 0, 0, 0};
    gpu.events.resize(events);
    for (std::size_t i = 0; i < events; ++i) gpu.events[i] = &timeline.recorded[i];
    gpu.nccl.all_reduce = [](const void*, void*, std::size_t, int, int, nccl::Communicator,
                             nccl::Stream) {
        ++timeline.collectives;
        timeline.max_in_flight =
            std::max(timeline.max_in_flight, timeline.collectives - timeline.finished);
        return nccl::success;
    };
    gpu.cuda.record_event = [](cuda::Event event, cuda::Stream) {
        *static_cast<int*>(event) = timeline.collectives;
        return cuda::success;
    };
    gpu.cuda.query_event = [](cuda::Event event) {
        if (fake.queries_until_done-- % 2 != 0) return cuda::not_ready;
        timeline.finished = *static_cast<int*>(event);
        return cuda::success;
    };
    gpu.cuda.elapsed = [](float* milliseconds, cuda::Event begin, cuda::Event end) {
        const auto at = [](cuda::Event event) {
            const int after = *static_cast<int*>(event);
            return after * (after + 1) / 2;
        };
        *milliseconds = static_cast<float>(at(end) - at(begin));
        return cuda::success;
    };
    return gpu;
}

TEST(NcclCommunicator, TimesEachCollectiveByTheGpu) {
    const Gpu gpu = timed_gpu(4);
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    int progress = 0;
    const auto ends =
        group.time(call_of_two_floats(Collective::all_reduce), 7, [&] { ++progress; });
    ASSERT_TRUE(ends.has_value());
    ASSERT_EQ(ends->size(), 7U);
    const std::vector<double> milliseconds{1, 3, 6, 10, 15, 21, 28};
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR((*ends)[i], milliseconds[i] / 1e3, 1e-9);
    EXPECT_EQ(timeline.collectives, 7);
    EXPECT_EQ(progress, 7);
}

// The next collective is queued before one ends, and no event is reused before it was read.
TEST(NcclCommunicator, KeepsTheGpuBusy) {
    const Gpu gpu = timed_gpu(4);
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    ASSERT_TRUE(group.time(call_of_two_floats(Collective::all_reduce), 20, [] {}).has_value());
    EXPECT_EQ(timeline.max_in_flight, 3);
}

TEST(NcclCommunicator, ATimedLoopDoesNotWaitForALostRank) {
    Gpu gpu = timed_gpu(4);
    gpu.cuda.query_event = [](cuda::Event) { return cuda::not_ready; };
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    fake.asynchronous = nccl::remote_error;
    const auto ends = group.time(call_of_two_floats(Collective::all_reduce), 9, [] {});
    ASSERT_FALSE(ends.has_value());
    EXPECT_EQ(ends.error().problem, "remote error: peer is gone twice");
}

// Two floats, NCCL's type 7, are 8 bytes, where the part of rank 1 begins.
TEST(NcclCommunicator, AllToAllIsSendsAndReceivesInOlderLibraries) {
    const Gpu gpu = fake_gpu();
    NcclCommunicator group(gpu, nullptr, {1, 2}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::all_to_all)), std::nullopt);
    EXPECT_EQ(fake.calls, (Calls{"start", "send 2 of 7 at 0 to 0", "receive at 0 from 0",
                                 "send 2 of 7 at 8 to 1", "receive at 8 from 1", "end"}));
}

TEST(NcclCommunicator, AllToAllIsTheLibrarysOwnIfItHasOne) {
    Gpu gpu = fake_gpu();
    gpu.nccl.all_to_all = [](const void*, void*, std::size_t count, int type, nccl::Communicator,
                             nccl::Stream) {
        return record_call("all-to-all " + std::to_string(count) + " of " + std::to_string(type));
    };
    NcclCommunicator group(gpu, nullptr, {1, 2}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::all_to_all)), std::nullopt);
    EXPECT_EQ(fake.calls, Calls{"all-to-all 2 of 7"});
}

TEST(NcclCommunicator, SendsGoRoundTheRing) {
    const Gpu gpu = fake_gpu();
    NcclCommunicator group(gpu, nullptr, {2, 3}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::send_recv)), std::nullopt);
    EXPECT_EQ(fake.calls, (Calls{"start", "send 2 of 7 at 0 to 0", "receive at 0 from 1", "end"}));
}

TEST(NcclCommunicator, TheEndOfAGroupReturnsItsErrors) {
    const Gpu gpu = fake_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    fake.group_status = 2;
    EXPECT_TRUE(group.run(call_of_two_floats(Collective::send_recv)).has_value());
}

TEST(Gpu, ErrorsOfNcclHaveARemedy) {
    const Gpu gpu = fake_gpu();
    EXPECT_EQ(gpu.error_of_nccl(nccl::success, "ncclSplit", nullptr), std::nullopt);
    const Error internal{"ncclSplit", "other error: peer is gone twice",
                         "run again with NCCL_DEBUG=INFO"};
    EXPECT_EQ(gpu.error_of_nccl(3, "ncclSplit", nullptr), internal);
    EXPECT_EQ(gpu.error_of_nccl(nccl::invalid_usage, "f", nullptr)->remedy,
              "give each task its own GPU; NCCL_DEBUG=INFO shows more");
    EXPECT_EQ(gpu.error_of_nccl(nccl::in_progress, "f", nullptr)->remedy,
              "unset NCCL_COMM_BLOCKING, which makes NCCL's calls return early");
}

TEST(Gpu, TheVersionOfNcclHasTwoDigitsOfEachPart) {
    EXPECT_EQ(nccl::version_text(21805), "2.18.5");
    EXPECT_EQ(nccl::version_text(23007), "2.30.7");
}

TEST(Gpu, ErrorsOfCuda) {
    const Gpu gpu = fake_gpu();
    EXPECT_EQ(gpu.error_of(cuda::success, "cuInit"), std::nullopt);
    EXPECT_EQ(gpu.error_of(2, "cuInit"), (Error{"cuInit", "out of memory", ""}));
    EXPECT_EQ(gpu.error_of(9999, "cuInit"), (Error{"cuInit", "CUDA error 9999", ""}));
}

// A stub of libcuda has no error texts.
TEST(Gpu, ErrorsThatMakeAGpuUnusableHaveARemedy) {
    const Gpu gpu = fake_gpu();
    EXPECT_EQ(gpu.error_of(34, "cuInit"),
              (Error{"cuInit", "libcuda.so.1 is the toolkit's stub",
                     "remove the toolkit's stubs folder from LD_LIBRARY_PATH"}));
    for (const cuda::Status status : {3, 34, 46, 100, 101, 802, 803, 804, 999}) {
        EXPECT_FALSE(gpu.error_of(status, "cuInit")->remedy.empty()) << status;
    }
}

TEST(Gpu, UsesTheLibrarysErrorText) {
    Gpu gpu = fake_gpu();
    gpu.cuda.error_string = [](cuda::Status, const char** text) -> cuda::Status {
        *text = "system not yet initialized";
        return cuda::success;
    };
    EXPECT_EQ(gpu.error_of(802, "cuInit"),
              (Error{"cuInit", "system not yet initialized",
                     "start nvidia-fabricmanager, which NVSwitch needs, and check its log"}));
}

TEST(Gpu, AFailedAllocationHasItsSize) {
    Gpu gpu = fake_gpu();
    gpu.cuda.allocate = [](cuda::Address*, std::size_t) -> cuda::Status { return 2; };
    EXPECT_EQ(gpu.allocate(4096).error(), (Error{"cuMemAlloc of 4096 bytes", "out of memory", ""}));
}

}  // namespace
}  // namespace distgpu::scaling

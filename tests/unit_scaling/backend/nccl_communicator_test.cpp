#include "backend/nccl_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

// What NCCL and CUDA, which are made up here, are to answer, and what was asked of them.
struct Script {
    int queries_until_done = 0;  // -1: never
    nccl::Status asynchronous = nccl::success;
    nccl::Status of_group = nccl::success;
    std::vector<std::string> calls;
};
Script script;

nccl::Status note(const std::string& call) {
    script.calls.push_back(call);
    return nccl::success;
}

std::array<std::byte, 64> sent;
std::array<std::byte, 64> received;

std::string place(const void* buffer, const std::array<std::byte, 64>& of) {
    return std::to_string(static_cast<const std::byte*>(buffer) - of.data());
}

Gpu made_up_gpu() {
    script = {};
    Gpu gpu{};
    gpu.cuda.query_stream = [](cuda::Stream) -> cuda::Status {
        note("query");
        if (script.queries_until_done == 0) return cuda::success;
        --script.queries_until_done;
        return cuda::not_ready;
    };
    gpu.nccl.error_string = [](nccl::Status status) {
        return status == nccl::remote_error ? "remote error" : "other error";
    };
    gpu.nccl.last_error = [](nccl::Communicator) { return "peer is gone\ntwice"; };
    gpu.nccl.async_error = [](nccl::Communicator, nccl::Status* error) -> nccl::Status {
        *error = script.asynchronous;
        return nccl::success;
    };
    gpu.nccl.group_start = [] { return note("start"); };
    gpu.nccl.group_end = []() -> nccl::Status {
        note("end");
        return script.of_group;
    };
    gpu.nccl.send = [](const void* from, std::size_t count, int type, int peer, nccl::Communicator,
                       nccl::Stream) {
        return note("send " + std::to_string(count) + " of " + std::to_string(type) + " at " +
                    place(from, sent) + " to " + std::to_string(peer));
    };
    gpu.nccl.receive = [](void* to, std::size_t, int, int peer, nccl::Communicator, nccl::Stream) {
        return note("receive at " + place(to, received) + " from " + std::to_string(peer));
    };
    return gpu;
}

Call call_of_two_floats(Collective collective) {
    return {collective, DataType::f32, 2, sent.data(), received.data()};
}

using Calls = std::vector<std::string>;

TEST(NcclCommunicator, WaitsUntilTheStreamIsDone) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    script.queries_until_done = 3;
    EXPECT_EQ(group.synchronize(), std::nullopt);
    EXPECT_EQ(script.calls.size(), 4U);
}

TEST(NcclCommunicator, DoesNotWaitForARankThatIsLost) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    script.queries_until_done = -1;
    script.asynchronous = nccl::remote_error;
    const Error expected{"collective of NCCL", "remote error: peer is gone twice",
                         "run again with NCCL_DEBUG=INFO"};
    EXPECT_EQ(group.synchronize(), expected);
}

// The events are numbered; the GPU takes a millisecond for the first collective, two for the second
// and so on.
struct Timeline {
    std::vector<int> marked;  // by event: after so many collectives
    int collectives = 0;
    int most_outstanding = 0;
    int ended = 0;
};
Timeline timeline;

Gpu timed_gpu(std::size_t events) {
    Gpu gpu = made_up_gpu();
    timeline = {std::vector<int>(events, -1), 0, 0, 0};
    gpu.events.resize(events);
    for (std::size_t i = 0; i < events; ++i) gpu.events[i] = &timeline.marked[i];
    gpu.nccl.all_reduce = [](const void*, void*, std::size_t, int, int, nccl::Communicator,
                             nccl::Stream) {
        ++timeline.collectives;
        timeline.most_outstanding =
            std::max(timeline.most_outstanding, timeline.collectives - timeline.ended);
        return nccl::success;
    };
    gpu.cuda.record_event = [](cuda::Event event, cuda::Stream) {
        *static_cast<int*>(event) = timeline.collectives;
        return cuda::success;
    };
    gpu.cuda.query_event = [](cuda::Event event) {
        if (script.queries_until_done-- % 2 != 0) return cuda::not_ready;
        timeline.ended = *static_cast<int*>(event);
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

// The next is already there when one ends, and no event is used again before it was read.
TEST(NcclCommunicator, KeepsTheGpuBusy) {
    const Gpu gpu = timed_gpu(4);
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    ASSERT_TRUE(group.time(call_of_two_floats(Collective::all_reduce), 20, [] {}).has_value());
    EXPECT_EQ(timeline.most_outstanding, 3);
}

TEST(NcclCommunicator, ATimedLoopDoesNotWaitForARankThatIsLost) {
    Gpu gpu = timed_gpu(4);
    gpu.cuda.query_event = [](cuda::Event) { return cuda::not_ready; };
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    script.asynchronous = nccl::remote_error;
    const auto ends = group.time(call_of_two_floats(Collective::all_reduce), 9, [] {});
    ASSERT_FALSE(ends.has_value());
    EXPECT_EQ(ends.error().problem, "remote error: peer is gone twice");
}

// One rank may have captured its loop sooner than another.
TEST(NcclCommunicator, RanksLaunchTheirGraphsTogether) {
    Gpu gpu = timed_gpu(0);
    gpu.modes.graph = true;
    gpu.cuda.create_event = [](cuda::Event*, unsigned) { return cuda::success; };
    gpu.cuda.destroy_event = [](cuda::Event) { return cuda::success; };
    gpu.cuda.record_event_with = [](cuda::Event, cuda::Stream, unsigned) { return cuda::success; };
    gpu.cuda.begin_capture = [](cuda::Stream, int) { return note("capture"); };
    gpu.cuda.end_capture = [](cuda::Stream, cuda::Graph*) {
        return note("end after " + std::to_string(timeline.collectives));
    };
    gpu.cuda.instantiate_graph = [](cuda::ExecutableGraph*, cuda::Graph, unsigned long long) {
        return cuda::success;
    };
    gpu.cuda.launch_graph = [](cuda::ExecutableGraph, cuda::Stream) {
        return note("launch after " + std::to_string(timeline.collectives));
    };
    gpu.cuda.elapsed = [](float* milliseconds, cuda::Event, cuda::Event) {
        *milliseconds = 1;
        return cuda::success;
    };
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    int progress = 0;
    const auto ends =
        group.time(call_of_two_floats(Collective::all_reduce), 3, [&] { ++progress; });
    ASSERT_TRUE(ends.has_value());
    EXPECT_EQ(ends->size(), 3U);
    EXPECT_EQ(progress, 1);
    // The fourth is the barrier's.
    EXPECT_EQ(script.calls, (Calls{"capture", "end after 3", "query", "launch after 4", "query"}));
}

TEST(NcclCommunicator, BuffersAreRegisteredAsLongAsItIsOpen) {
    Gpu gpu = made_up_gpu();
    gpu.nccl.register_buffer = [](nccl::Communicator, void* buffer, std::size_t bytes,
                                  void** handle) {
        *handle = buffer;
        return note("register " + std::to_string(bytes) + " at " + place(buffer, sent));
    };
    gpu.nccl.deregister_buffer = [](nccl::Communicator, void* handle) {
        return note("deregister " + place(handle, sent));
    };
    gpu.nccl.destroy = [](nccl::Communicator) { return note("destroy"); };
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    EXPECT_FALSE(group.register_buffer(std::span(sent).subspan(8, 16)));
    EXPECT_FALSE(group.close());
    EXPECT_EQ(script.calls, (Calls{"register 16 at 8", "deregister 8", "destroy"}));
}

// Two floats, NCCL's type 7, are 8 bytes: the part of rank 1 begins there.
TEST(NcclCommunicator, AllToAllIsSendsAndReceivesInOlderLibraries) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {1, 2}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::all_to_all)), std::nullopt);
    EXPECT_EQ(script.calls, (Calls{"start", "send 2 of 7 at 0 to 0", "receive at 0 from 0",
                                   "send 2 of 7 at 8 to 1", "receive at 8 from 1", "end"}));
}

TEST(NcclCommunicator, AllToAllIsTheLibrarysOwnWhereItHasOne) {
    Gpu gpu = made_up_gpu();
    gpu.nccl.all_to_all = [](const void*, void*, std::size_t count, int type, nccl::Communicator,
                             nccl::Stream) {
        return note("all-to-all " + std::to_string(count) + " of " + std::to_string(type));
    };
    NcclCommunicator group(gpu, nullptr, {1, 2}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::all_to_all)), std::nullopt);
    EXPECT_EQ(script.calls, Calls{"all-to-all 2 of 7"});
}

TEST(NcclCommunicator, SendsGoRoundTheRing) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {2, 3}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::send_recv)), std::nullopt);
    EXPECT_EQ(script.calls,
              (Calls{"start", "send 2 of 7 at 0 to 0", "receive at 0 from 1", "end"}));
}

// Where nothing is to be sent there is no call, which would wait for its other end.
TEST(NcclCommunicator, OnlyRanksThatHaveSomethingForEachOtherCall) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {1, 3}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::gather)), std::nullopt);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::scatter)), std::nullopt);
    EXPECT_EQ(script.calls, (Calls{"start", "send 2 of 7 at 0 to 0", "end", "start",
                                   "receive at 0 from 0", "end"}));
}

TEST(NcclCommunicator, HalvesOfTheGroupExchange) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {3, 4}, nullptr);
    EXPECT_EQ(group.run(call_of_two_floats(Collective::bisection)), std::nullopt);
    EXPECT_EQ(script.calls,
              (Calls{"start", "send 2 of 7 at 0 to 1", "receive at 0 from 1", "end"}));
}

TEST(NcclCommunicator, TheEndOfAGroupTellsWhatFailedInIt) {
    const Gpu gpu = made_up_gpu();
    NcclCommunicator group(gpu, nullptr, {0, 2}, nullptr);
    script.of_group = 2;
    EXPECT_TRUE(group.run(call_of_two_floats(Collective::send_recv)).has_value());
}

}  // namespace
}  // namespace distgpu::scaling

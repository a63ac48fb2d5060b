#include "backend/timed_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Calls = std::vector<std::string>;

// What was asked of CUDA, which is made up here. Events are numbers from 1 on.
struct Asked {
    Calls calls;
    std::vector<int> events = std::vector<int>(16);
    std::size_t made = 0;
    int destroyed = 0;
};
Asked asked;

cuda::Status note(const std::string& call) {
    asked.calls.push_back(call);
    return cuda::success;
}

int number_of(cuda::Event event) {
    return *static_cast<int*>(event);
}

Gpu made_up_gpu() {
    asked = {};
    Gpu gpu{};
    gpu.cuda.error_string = [](cuda::Status, const char** text) {
        *text = "refused";
        return cuda::success;
    };
    gpu.cuda.create_event = [](cuda::Event* event, unsigned) {
        int& number = asked.events[asked.made];
        number = static_cast<int>(++asked.made);
        *event = &number;
        return cuda::success;
    };
    gpu.cuda.destroy_event = [](cuda::Event) {
        ++asked.destroyed;
        return cuda::success;
    };
    gpu.cuda.record_event_with = [](cuda::Event event, cuda::Stream, unsigned flags) {
        return note((flags == 1 ? "external event " : "event ") + std::to_string(number_of(event)));
    };
    gpu.cuda.begin_capture = [](cuda::Stream, int mode) {
        return note("capture " + std::to_string(mode));
    };
    gpu.cuda.end_capture = [](cuda::Stream, cuda::Graph* graph) {
        *graph = &asked;
        return note("end");
    };
    gpu.cuda.instantiate_graph = [](cuda::ExecutableGraph* made, cuda::Graph graph,
                                    unsigned long long) {
        *made = graph;
        return note("instantiate");
    };
    gpu.cuda.launch_graph = [](cuda::ExecutableGraph, cuda::Stream) { return note("launch"); };
    gpu.cuda.destroy_executable_graph = [](cuda::ExecutableGraph) { return note("destroy"); };
    gpu.cuda.destroy_graph = [](cuda::Graph) { return note("destroy graph"); };
    gpu.cuda.elapsed = [](float* milliseconds, cuda::Event begin, cuda::Event end) {
        EXPECT_EQ(number_of(begin) + 1, number_of(end));
        *milliseconds = static_cast<float>(number_of(begin));
        return cuda::success;
    };
    return gpu;
}

// 1 is CU_STREAM_CAPTURE_MODE_THREAD_LOCAL and CU_EVENT_RECORD_EXTERNAL.
TEST(TimedGraph, IsCapturedOnceAndLaunchedAsAWhole) {
    const Gpu gpu = made_up_gpu();
    {
        TimedGraph graph(gpu);
        ASSERT_FALSE(graph.capture(2, [] {
            note("work");
            return std::nullopt;
        }));
        ASSERT_FALSE(graph.launch());
    }
    EXPECT_EQ(asked.calls, (Calls{"capture 1", "external event 1", "work", "external event 2",
                                  "work", "external event 3", "end", "instantiate", "launch",
                                  "destroy", "destroy graph"}));
    EXPECT_EQ(asked.destroyed, 3);
}

// The first iteration takes a millisecond, the next one two.
TEST(TimedGraph, KnowsTheEndOfEachIteration) {
    const Gpu gpu = made_up_gpu();
    TimedGraph graph(gpu);
    ASSERT_FALSE(graph.capture(3, [] { return std::nullopt; }));
    const auto ends = graph.ends();
    ASSERT_TRUE(ends);
    ASSERT_EQ(ends->size(), 3U);
    EXPECT_DOUBLE_EQ((*ends)[0], 0.001);
    EXPECT_DOUBLE_EQ((*ends)[1], 0.003);
    EXPECT_DOUBLE_EQ((*ends)[2], 0.006);
}

TEST(TimedGraph, WorkThatCannotBeCapturedIsTold) {
    const Gpu gpu = made_up_gpu();
    TimedGraph graph(gpu);
    const Error failure{"collective of NCCL", "not in a capture", ""};
    EXPECT_EQ(graph.capture(2, [&] { return std::optional(failure); }), failure);
}

TEST(TimedGraph, AGraphThatCannotBeMadeIsTold) {
    Gpu gpu = made_up_gpu();
    gpu.cuda.instantiate_graph = [](cuda::ExecutableGraph*, cuda::Graph, unsigned long long) {
        return 801;  // CUDA_ERROR_NOT_SUPPORTED
    };
    TimedGraph graph(gpu);
    const Error failure{"cuGraphInstantiateWithFlags", "refused", ""};
    EXPECT_EQ(graph.capture(1, [] { return std::nullopt; }), failure);
}

}  // namespace
}  // namespace distgpu::scaling

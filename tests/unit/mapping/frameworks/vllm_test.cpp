// What vLLM's servers get, and which steps are none for them.
#include "mapping/frameworks/program_options.h"
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using testing::ElementsAre;

// Behind `distgpu exec --`.
std::string refused(const char* hosts, Words program, const char* spec = "vllm") {
    SampleStep step(spec, hosts, std::string_view(hosts) == "n1" ? "1" : "1(x2)");
    program.insert(program.begin(), {"distgpu", "exec", "--"});
    step.facts.program = std::move(program);
    return refusal_of(step);
}

Words options_on(std::uint32_t node, std::uint32_t nodes, Words program) {
    SampleStep step("vllm", nodes == 1 ? "n1" : "n[1-2]", nodes == 1 ? "1" : "1(x2)");
    step.facts.program = std::move(program);
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    task.node_rank = NodeRank{node};
    task.node_count = nodes;
    task.node_address = node == 0 ? "10.0.0.1" : "10.0.0.2";
    task.master_address = "10.0.0.1";
    return options_of(*vllm.service, task);
}

// vllm/engine/arg_utils.py: every node but the first is headless, and has no API.
TEST(Vllm, TellsEachNodeItsPlace) {
    EXPECT_THAT(options_on(0, 2, {}),
                ElementsAre("--distributed-executor-backend", "mp", "--nnodes", "2", "--node-rank",
                            "0", "--master-addr", "10.0.0.1", "--master-port", "29500", "--host",
                            "10.0.0.1", "--port", "29501"));
    EXPECT_THAT(
        options_on(1, 2, {}),
        ElementsAre("--distributed-executor-backend", "mp", "--nnodes", "2", "--node-rank", "1",
                    "--master-addr", "10.0.0.1", "--master-port", "29500", "--headless"));
}

TEST(Vllm, OnOneNodeNeedsOnlyHostAndPort) {
    EXPECT_THAT(options_on(0, 1, {}), ElementsAre("--host", "10.0.0.1", "--port", "29501"));
    EXPECT_THAT(options_on(0, 1, {"vllm", "serve", "m", "--host=0.0.0.0"}),
                ElementsAre("--port", "29501"));
}

TEST(Vllm, DataParallelRanksMeetAtAPortOfTheStep) {
    const auto last_two = [](const Words& words) { return Words(words.end() - 4, words.end()); };
    for (const char* const option : {"-dp=2", "--data-parallel-size=2", "--data_parallel_size=2"}) {
        EXPECT_THAT(
            last_two(options_on(1, 2, {"vllm", "serve", "m", option})),
            ElementsAre("--data-parallel-address", "10.0.0.1", "--data-parallel-rpc-port", "29502"))
            << option;
    }
    EXPECT_EQ(options_on(1, 2, {"vllm", "serve", "m", "-dp", "1"}).back(), "--headless");
}

TEST(Vllm, TakesOneTaskANode) {
    EXPECT_EQ(refusal_of({"vllm", "n[1-2]", "2,1"}),
              "distgpu: --distgpu=vllm: 2 tasks on a node, but one program runs on each and takes "
              "all the GPUs of the step there; use --ntasks-per-node=1 --distgpu=vllm");
}

TEST(Vllm, IsRefusedWithoutExec) {
    SampleStep step("vllm", "n[1-2]", "1(x2)");
    step.facts.program = {"/opt/bin/vllm", "serve", "m", "-tp", "2"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: /opt/bin/vllm serve m -tp 2: it takes its place in the step from its "
              "options alone, so each node would run a server of its own; write srun "
              "--ntasks-per-node=1 --distgpu=vllm distgpu exec -- /opt/bin/vllm serve m -tp 2");
    step.facts.puts_exec_in_front = true;
    EXPECT_EQ(refusal_of(step), "");
    step.facts.puts_exec_in_front = false;
    step.facts.program = {"./starts_exec_itself"};
    EXPECT_EQ(refusal_of(step), "");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "2"}), "");
}

TEST(Vllm, ItsOptionsReachNoShellsText) {
    const std::string message =
        "distgpu exec appends the node's options, which do not reach what stands in the shell's "
        "text; write distgpu exec inside the text, or \"$@\" behind the program there and a word "
        "for $0 behind the text";
    EXPECT_EQ(refused("n[1-2]", {"bash", "-c", "vllm serve m"}),
              "distgpu: bash -c vllm serve m: " + message);
    EXPECT_EQ(refused("n[1-2]", {"/bin/sh", "-ec", "vllm serve m"}),
              "distgpu: /bin/sh -ec vllm serve m: " + message);
    EXPECT_EQ(refused("n[1-2]", {"bash", "-c", "exec vllm serve m \"$@\"", "vllm"}), "");
    EXPECT_EQ(refused("n[1-2]", {"bash", "serve.sh"}), "");
}

// The same line runs on all nodes: each would be rank 0.
TEST(Vllm, RefusesANodeRankOfTheUser) {
    for (const char* const option : {"--node-rank=0", "--node_rank=0", "-r=0"}) {
        EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", option}),
                  "distgpu: --node-rank: the same on every node, as the command line is, but each "
                  "needs its own; leave it out: distgpu exec gives each node its own");
        EXPECT_EQ(refused("n1", {"vllm", "serve", "m", option}), "");
    }
}

TEST(Vllm, RefusesSizesThatTheNodesCannotShare) {
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "3"}),
              "distgpu: --tensor-parallel-size 3: 3 ranks in all, which 2 nodes cannot share out "
              "evenly; use -N1, or sizes whose product is a multiple of 2");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "3", "-pp=5", "-dp=1"}),
              "distgpu: --tensor-parallel-size 3 --pipeline-parallel-size 5 --data-parallel-size "
              "1: 15 ranks in all, which 2 nodes cannot share out evenly; use -N1, or sizes whose "
              "product is a multiple of 2");
    for (const Words& sizes : std::vector<Words>{{"-tp", "2"},
                                                 {"-tp=3", "-pp", "2"},
                                                 {"-tp=3", "--data-parallel-size", "2"},
                                                 {"-tp=x"},
                                                 {"-tp=0"},
                                                 {"-tp=99999999999"},
                                                 {}}) {
        Words program{"vllm", "serve", "m"};
        program.insert(program.end(), sizes.begin(), sizes.end());
        EXPECT_EQ(refused("n[1-2]", program), "");
    }
    EXPECT_EQ(refused("n1", {"vllm", "serve", "m", "-tp", "3"}), "");
}

TEST(Vllm, RefusesTheWorkersOfAnotherMode) {
    EXPECT_EQ(refused("n[1-2]",
                      {"vllm", "serve", "m", "--distributed-executor-backend=external_launcher"}),
              "distgpu: --distributed-executor-backend external_launcher: it wants one process for "
              "each GPU, which --distgpu=vllm does not start; use --distgpu=pytorch with a task "
              "for each GPU, without distgpu exec");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "--distributed-executor-backend", "ray"}),
              "distgpu: --distributed-executor-backend ray: --distgpu=vllm starts no Ray; leave it "
              "out: vLLM's own workers reach over all nodes of the step");
}

TEST(Vllm, WarnsOfTwoBindings) {
    const auto warned = [](const char* spec, const char* option) {
        SampleStep step(spec, "n1", "1");
        step.facts.program = {"distgpu", "exec", "--", "vllm", "serve", option};
        const auto warning = vllm.warn(step.view());
        return warning ? warning->message() : "";
    };
    EXPECT_EQ(warned("vllm", "--numa-bind"),
              "distgpu: --numa-bind: both vLLM and distgpu would choose CPUs near the GPUs; leave "
              "it out, or use --distgpu=vllm,cpus=keep");
    for (const char* const spec : {"vllm,cpus=keep", "vllm,bind=none"}) {
        EXPECT_EQ(warned(spec, "--numa-bind"), "") << spec;
    }
    EXPECT_EQ(warned("vllm", "--numa"), "");
    EXPECT_NE(warned("vllm,bind=none,cpus=near", "--numa-bind"), "");
}

}  // namespace
}  // namespace distgpu

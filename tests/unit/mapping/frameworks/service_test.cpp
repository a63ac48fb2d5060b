// The modes that distgpu exec starts: the user's command line, the options that a node's program
// gets besides, and refusals.
#include "mapping/frameworks/service.h"

#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "task_values.h"

#include <gmock/gmock.h>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using testing::ElementsAre;

TEST(StartedProgram, StandsBehindExecAndItsDashes) {
    struct Row {
        Words line;
        Words program;
        bool by_exec;
    };
    const std::vector<Row> rows = {
        {{"distgpu", "exec", "--", "vllm", "serve"}, {"vllm", "serve"}, true},
        {{"/opt/bin/distgpu", "exec", "vllm", "--", "vllm", "serve", "--", "x"},
         {"vllm", "serve", "--", "x"},
         true},
        {{"distgpu", "exec", "vllm", "serve"}, {"distgpu", "exec", "vllm", "serve"}, false},
        {{"distgpu", "check", "--", "a"}, {"distgpu", "check", "--", "a"}, false},
        {{"vllm", "exec", "--", "a"}, {"vllm", "exec", "--", "a"}, false},
        {{"vllm", "serve"}, {"vllm", "serve"}, false},
        {{}, {}, false},
    };
    for (const Row& row : rows) {
        const StartedProgram found = started_program(row.line);
        EXPECT_EQ(Words(found.words.begin(), found.words.end()), row.program);
        EXPECT_EQ(found.by_exec, row.by_exec);
    }
}

TEST(GivenValue, IsFoundInEverySpelling) {
    struct Row {
        Words words;
        std::optional<std::string_view> value;
    };
    const std::vector<Row> rows = {
        {{"vllm", "--port", "8000"}, "8000"},
        {{"vllm", "--port=8000"}, "8000"},
        {{"vllm", "-p", "8000", "model"}, "8000"},
        {{"vllm", "--port=1", "--port", "2"}, "2"},  // the last wins, as in Python's parsers
        {{"vllm", "--port"}, ""},
        {{"vllm", "--port", "--host"}, ""},
        {{"vllm", "--port=", "x"}, ""},
        {{"vllm", "--ports", "8000"}, std::nullopt},
        {{"vllm", "model", "port"}, std::nullopt},
        {{"--port", "8000"}, std::nullopt},  // the program's own name
        {{}, std::nullopt},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(given_value(row.words, "--port -p"), row.value)
            << testing::PrintToString(row.words);
    }
    EXPECT_EQ(given_value(Words{"vllm", "--node_rank", "1"}, "--node-rank"), "1");
    EXPECT_EQ(given_value(Words{"vllm", "--node-rank", "1"}, "--node_rank"), std::nullopt);
}

constexpr std::array sample_options{
    ProgramOption{"--rank", "-r", "",
                  [](const TaskContext& task) {
                      return std::optional(std::to_string(task.node_rank.value));
                  }},
    ProgramOption{"--flag", "", "",
                  [](const TaskContext&) { return std::optional(std::string()); }},
    ProgramOption{"--never", "", "",
                  [](const TaskContext&) { return std::optional<std::string>(); }},
};

std::vector<std::string> added(Words program) {
    SampleStep step("vllm", "n[1-3]", "1(x3)");
    step.facts.program = std::move(program);
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    return service_options(Service{.options = sample_options}, task);
}

TEST(OptionsOf, AreThoseThatTheUserDidNotWrite) {
    EXPECT_THAT(added({}), ElementsAre("--rank", "1", "--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "serve"}),
                ElementsAre("--rank", "1", "--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "-r", "7"}), ElementsAre("--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "--flag"}), ElementsAre("--rank", "1"));
}

using testing::Contains;
using testing::Not;

// Of a step's last node.
Words options_of(const SampleStep& step, std::uint64_t memory = 0) {
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    task.node_count = step.layout.node_count();
    task.node_rank = NodeRank{task.node_count - 1};
    task.node_address = "10.0.0.2";
    task.cpus = 6;
    task.gpus = 2;
    task.memory = memory;
    return service_options(*step.request.framework->service, task);
}

std::string value(const Words& options, const char* name) {
    const auto at = std::find(options.begin(), options.end(), name);
    return at == options.end() || at + 1 == options.end() ? "" : *(at + 1);
}

TEST(Ray, TakesPortsForFirewallsAndNoDashboard) {
    EXPECT_THAT(options_of({"ray,dashboard=off", "n[1-2]", "1(x2)"}),
                Not(Contains("--include-dashboard")));
    const auto problem = [](const char* spec) { return parse_spec("S", spec).error().message(); };
    EXPECT_EQ(problem("ray,worker-ports=80-90"),
              "distgpu: S=ray,worker-ports=80-90: worker-ports=80-90: not a range of ports; give "
              "FIRST-LAST, FIRST at least 1024, a port for each CPU and each driver");
    EXPECT_EQ(problem("ray,dashboard=no"),
              "distgpu: S=ray,dashboard=no: dashboard=no: unknown value; give on or off");
    EXPECT_FALSE(parse_spec("S", "ray,worker-ports=21000-70000"));
    EXPECT_FALSE(parse_spec("S", "vllm,dashboard=off"));
}

// 30 % of 10 GiB are 3 GiB.
TEST(Ray, SharesTheStepsMemoryOut) {
    const SampleStep step("ray", "n[1-2]", "1(x2)");
    const Words options = options_of(step, 10240);
    EXPECT_EQ(value(options, "--object-store-memory"), std::to_string(3ULL << 30U));
    EXPECT_EQ(value(options, "--memory"), std::to_string(7ULL << 30U));
    // Too little for a store of Ray's.
    EXPECT_THAT(options_of(step, 200), Not(Contains("--object-store-memory")));
}

TEST(Ray, ListensOnAllNodes) {
    const SampleStep step("ray", "n[1-2]", "1(x2)");
    EXPECT_THAT(ports_on(ray, step.layout, NodeIndex{1}, 25000), testing::SizeIs(16));
    EXPECT_THAT(ports_on(vllm, step.layout, NodeIndex{1}, 25000), testing::IsEmpty());
}

TEST(Ray, ADriverNeedsExec) {
    SampleStep step("ray", "n[1-2]", "1(x2)");
    step.facts.program = {"python3", "driver.py"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: python3 driver.py: each node would run it, and none would start the "
              "cluster; write srun --ntasks-per-node=1 --distgpu=ray distgpu exec -- python3 "
              "driver.py");
    step.facts.program = {"distgpu", "exec", "--", "bash", "-c", "python3 driver.py --head"};
    EXPECT_EQ(refusal_of(step), "");
}

// Behind `distgpu exec --`.
std::string refused(const char* hosts, Words program, const char* spec = "vllm") {
    SampleStep step(spec, hosts, std::string_view(hosts) == "n1" ? "1" : "1(x2)");
    program.insert(program.begin(), {"distgpu", "exec", "--"});
    step.facts.program = std::move(program);
    return refusal_of(step);
}

TEST(Vllm, OnOneNodeNeedsOnlyHostAndPort) {
    SampleStep step("vllm", "n1", "1");
    EXPECT_THAT(options_of(step), ElementsAre("--host", "10.0.0.2", "--port", "29501"));
    step.facts.program = {"vllm", "serve", "m", "--host=0.0.0.0"};
    EXPECT_THAT(options_of(step), ElementsAre("--port", "29501"));
}

TEST(Vllm, TakesOneTaskANode) {
    EXPECT_EQ(refusal_of({"vllm", "n[1-2]", "2,1"}),
              "distgpu: --distgpu=vllm: 2 tasks on a node, but one program runs on each and uses "
              "all the GPUs of the step there; use --ntasks-per-node=1 --distgpu=vllm");
}

TEST(Vllm, IsRefusedWithoutExec) {
    SampleStep step("vllm", "n[1-2]", "1(x2)");
    step.facts.program = {"/opt/bin/vllm", "serve", "m", "-tp", "2"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: /opt/bin/vllm serve m -tp 2: it reads its place in the step only from "
              "its options, so each node would run a separate server; write srun "
              "--ntasks-per-node=1 --distgpu=vllm distgpu exec -- /opt/bin/vllm serve m -tp 2");
    step.facts.inserts_exec = true;
    EXPECT_EQ(refusal_of(step), "");
    step.facts.inserts_exec = false;
    step.facts.program = {"./starts_exec_itself"};
    EXPECT_EQ(refusal_of(step), "");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "2"}), "");
}

TEST(Vllm, ItsOptionsReachNoShellsText) {
    const std::string message =
        "distgpu exec appends the node's options, which do not reach the commands in the shell's "
        "text; write distgpu exec inside the text, or \"$@\" after the program there and a word "
        "for $0 after the text";
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
                  "distgpu: --node-rank: every node would get the same value, but each needs its "
                  "own; leave it out: distgpu exec gives each node its own");
        EXPECT_EQ(refused("n1", {"vllm", "serve", "m", option}), "");
    }
}

TEST(Vllm, RefusesSizesThatTheNodesCannotShare) {
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "3"}),
              "distgpu: --tensor-parallel-size 3: 3 ranks in all, which cannot be split evenly "
              "over 2 nodes; use -N1, or sizes whose product is a multiple of 2");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "-tp", "3", "-pp=5", "-dp=1"}),
              "distgpu: --tensor-parallel-size 3 --pipeline-parallel-size 5 --data-parallel-size "
              "1: 15 ranks in all, which cannot be split evenly over 2 nodes; use -N1, or sizes "
              "whose product is a multiple of 2");
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
              "distgpu: --distributed-executor-backend external_launcher: it needs one process for "
              "each GPU, which --distgpu=vllm does not start; use --distgpu=pytorch with a task "
              "for each GPU, without distgpu exec");
    EXPECT_EQ(refused("n[1-2]", {"vllm", "serve", "m", "--distributed-executor-backend", "ray"}),
              "distgpu: --distributed-executor-backend ray: --distgpu=vllm does not start Ray; "
              "leave it out: vLLM's own workers use all nodes of the step");
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

// sglang/srt/server_args.py 0.5.23: the six ports behind --dist-init-addr, and one for each rank of
// attention's data parallelism, are its own.
TEST(Sglang, TellsEachNodeItsPlace) {
    SampleStep step("sglang", "n[1-3]", "1(x3)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    task.node_address = "10.0.0.2";
    task.master_address = "fd00::1";
    EXPECT_EQ(service_options(*sglang.service, task)[5], "[fd00::1]:29500");
    step.facts.program = {"python3", "-m", "sglang.launch_server", "--nccl-init-addr=a:1"};
    EXPECT_THAT(service_options(*sglang.service, task),
                ElementsAre("--nnodes", "3", "--node-rank", "1", "--host", "10.0.0.2", "--port",
                            "29513", "--nccl-port", "29514"));
}

TEST(Sglang, RefusesWhatIsNoStepForIt) {
    SampleStep step("sglang", "n[1-2]", "1(x2)");
    step.facts.program = {"python3", "-m", "sglang.launch_server", "--tp", "3"};
    EXPECT_EQ(refusal_of(step),
              "distgpu: python3 -m sglang.launch_server --tp 3: it reads its place in the step "
              "only from its options, so each node would run a separate server; write srun "
              "--ntasks-per-node=1 --distgpu=sglang distgpu exec -- python3 -m "
              "sglang.launch_server --tp 3");
    step.facts.program.insert(step.facts.program.begin(), {"distgpu", "exec", "--"});
    EXPECT_EQ(refusal_of(step),
              "distgpu: --tp-size 3: 3 ranks in all, which cannot be split evenly over 2 nodes; "
              "use -N1, or sizes whose product is a multiple of 2");
    step.facts.program.back() = "4";
    EXPECT_EQ(refusal_of(step), "");
}

}  // namespace
}  // namespace distgpu

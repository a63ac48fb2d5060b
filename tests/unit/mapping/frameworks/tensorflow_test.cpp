// TF_CONFIG: roles in rank order, a port for each task of a node, and its length.
#include "base/format.h"
#include "mapping/frameworks/registry.h"
#include "mapping/plan/plan.h"
#include "task_values.h"

#include <nlohmann/json.hpp>

namespace distgpu {
namespace {

// TF_CONFIG of a task, with port 29500.
std::string config(const SampleStep& step, std::uint32_t id) {
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.rank = GlobalRank{id};
    task.step = &view;
    return values(tensorflow, task).at("TF_CONFIG");
}

TEST(Tensorflow, GivesEveryTaskOfANodeAPort) {
    const SampleStep step("tensorflow", "n[1-2]", "2,1");
    EXPECT_EQ(config(step, 1), R"({"cluster":{"worker":["n1:29500","n1:29501","n2:29500"]},)"
                               R"("task":{"type":"worker","index":1}})");
}

TEST(Tensorflow, BracketsIpv6Addresses) {
    SampleStep step("tensorflow", "n[1-2]", "1(x2)");
    step.addresses = HostList::from_names(std::vector<std::string>{"fd00::1", "10.0.0.2"});
    EXPECT_EQ(config(step, 0), R"({"cluster":{"worker":["[fd00::1]:29500","10.0.0.2:29500"]},)"
                               R"("task":{"type":"worker","index":0}})");
}

TEST(Tensorflow, DealsRolesInRankOrder) {
    const SampleStep step("tf,chief=1,ps=2,evaluator=1", "n[1-2]", "3(x2)");
    const auto cluster = nlohmann::json::parse(R"({"chief": ["n1:29500"],
        "ps": ["n1:29501", "n1:29502"], "worker": ["n2:29500", "n2:29501"]})");
    const std::vector<std::pair<std::string, int>> tasks = {
        {"chief", 0}, {"ps", 0}, {"ps", 1}, {"worker", 0}, {"worker", 1}, {"evaluator", 0}};
    for (std::uint32_t id = 0; id < tasks.size(); ++id) {
        const auto parsed = nlohmann::json::parse(config(step, id));
        // The evaluator stands outside the cluster.
        EXPECT_EQ(parsed.at("cluster"), cluster) << id;
        EXPECT_EQ(parsed.at("task"),
                  nlohmann::json({{"type", tasks[id].first}, {"index", tasks[id].second}}))
            << id;
    }
}

TEST(Tensorflow, RefusesMoreRolesThanTasks) {
    EXPECT_EQ(refusal_of({"tf,chief=1,ps=2", "n1", "4"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1", "n1", "1"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1,evaluator=1", "n1", "2"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1,ps=2,evaluator=1", "n1", "3"}),
              "distgpu: --distgpu=tf: 4 tasks for chief, ps and evaluator, but the step has "
              "3; use --ntasks=5 or more");
    // A parameter server serves workers, an evaluator trains nothing.
    for (const char* spec : {"tf,ps=2", "tf,chief=1,ps=1", "tf,ps=1,evaluator=1"}) {
        EXPECT_EQ(refusal_of({spec, "n1", "2"}),
                  "distgpu: --distgpu=tf: chief, ps and evaluator use all 2 tasks, so no "
                  "worker is left; use "
                  "--ntasks=3 or more")
            << spec;
    }
}

// {"cluster":{"worker":[ is 22 bytes, ]},"task":{"type":"worker","index":8186}} is 41, and a
// 7-letter host with its quotes, colon, port and comma 16, the last without its comma:
// 16 n + 62 bytes for n workers, of which 8187 fit into 131,060.
TEST(Tensorflow, RefusesAConfigurationThatNoVariableHolds) {
    EXPECT_EQ(refusal_of({"tensorflow", "nod[1001-9187]", "1(x8187)"}), "");
    const std::string too_many = refusal_of({"tensorflow", "nod[1001-9200]", "1(x8200)"});
    EXPECT_EQ(too_many.substr(0, 58), "distgpu: --distgpu=tensorflow: TF_CONFIG would have 131262");
}

TEST(Tensorflow, TheLimitIsThatOfTheLongestTask) {
    // Shortened or lengthened by one byte at the limit, counted on the text itself.
    for (std::uint32_t hosts = 8180; hosts < 8200; ++hosts) {
        SampleStep step("tensorflow", formatted("nod[1001-{}]", 1000 + hosts).c_str(),
                        formatted("1(x{})", hosts).c_str());
        const std::size_t length = config(step, hosts - 1).size();
        EXPECT_EQ(refusal_of(step).empty(), length <= 131'060) << hosts << ": " << length;
    }
}

}  // namespace
}  // namespace distgpu

// Every step of the file `cases`, which says what stands there, and its plan in the form
// distgpu.plan/1, one rank a line: job 4242, step 0, no exported variable, no reserved port,
// addresses not known.
#include "golden_file.h"
#include "mapping/layout/node_order.h"
#include "mapping/spec/parse_spec.h"
#include "plan/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::golden {
namespace {

const std::filesystem::path folder = DISTGPU_SOURCE_DIR "/tests/golden";

struct Case {
    std::string name;
    std::vector<std::string> words;  // SPEC, the shape's options, -- and the program
};

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

std::vector<Case> cases() {
    std::vector<Case> found;
    std::istringstream text(read_file(folder / "cases"));
    for (std::string line; std::getline(text, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t words = line.find(" | ") + 3;
        found.push_back({line.substr(0, line.find(": ")), words_of(line.substr(words))});
    }
    return found;
}

void read_shape(const std::vector<std::string>& words, ShapeOptions& shape, std::string& order) {
    shape.gpus_per_node = "0";
    shape.cpus_per_task = "8";
    const std::map<std::string, std::string*> options{
        {"--nodelist", &shape.layout.nodelist},
        {"--tasks-per-node", &shape.layout.tasks_per_node},
        {"--distribution", &shape.layout.distribution},
        {"--gpus-per-node", &shape.gpus_per_node},
        {"--cpus-per-task", &shape.cpus_per_task},
        {"--order", &order}};
    for (std::size_t i = 0; i < words.size(); i += 2) {
        ASSERT_EQ(options.count(words[i]), 1U) << words[i] << ": unknown option";
        ASSERT_LT(i + 1, words.size()) << words[i] << ": an option without a value";
        *options.at(words[i]) = words[i + 1];
    }
}

class GoldenPlan : public testing::TestWithParam<Case> {};

TEST_P(GoldenPlan, IsAsExpected) {
    const auto& [name, words] = GetParam();
    ASSERT_GE(words.size(), 3U) << name << ": no SPEC and shape";
    const auto program = std::find(words.begin(), words.end(), "--");
    ShapeOptions options;
    std::string order;
    read_shape({words.begin() + 1, program}, options, order);
    if (HasFatalFailure()) return;
    auto request = parse_spec("--distgpu", words.front());
    ASSERT_TRUE(request && request->framework != nullptr) << words.front();
    auto layout = parse_layout(options.layout).and_then([&](const StepLayout& slurms) {
        return order.empty() ? Result<StepLayout>(slurms) : with_node_order(slurms, order);
    });
    ASSERT_TRUE(layout) << layout.error().message();
    auto shape = Shape::make(options, *std::move(layout), {});
    ASSERT_TRUE(shape) << shape.error().message();
    PlanInput input{*std::move(request), *std::move(shape), StepId{4242, 0, 0}};
    if (program != words.end()) input.facts.program.assign(program + 1, words.end());
    std::string text;
    const auto written = write_plan_json(input, [&text](std::string_view piece) -> Result<Done> {
        text += piece;
        return Done{};
    });
    ASSERT_TRUE(written) << written.error().message();
    expect_file(folder / "plans" / (name + ".json"), text);
}

TEST(GoldenPlans, EachIsOfACase) {
    for (const auto& file : std::filesystem::directory_iterator(folder / "plans")) {
        const auto all = cases();
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& each) {
            return each.name == file.path().stem();
        })) << file;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenPlan, testing::ValuesIn(cases()), [](const auto& parameter) {
    std::string name = parameter.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace distgpu::golden

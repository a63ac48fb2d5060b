// The user's command line, and the options that a node's program gets besides.
#include "mapping/frameworks/program_options.h"

#include "task_values.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

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

constexpr std::array options{
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
    return options_of(Service{.options = options}, task);
}

TEST(OptionsOf, AreThoseThatTheUserDidNotWrite) {
    EXPECT_THAT(added({}), ElementsAre("--rank", "1", "--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "serve"}),
                ElementsAre("--rank", "1", "--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "-r", "7"}), ElementsAre("--flag"));
    EXPECT_THAT(added({"distgpu", "exec", "--", "vllm", "--flag"}), ElementsAre("--rank", "1"));
}

}  // namespace
}  // namespace distgpu

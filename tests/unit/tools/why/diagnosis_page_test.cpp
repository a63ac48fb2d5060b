// A diagnosis as a page. tests/integration/why_page.bats opens such pages in a browser.
#include "why/diagnosis_page.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

Diagnosis one_astray() {
    NodeLook look =
        made_up_look("n1", 0, {{.stack = waiting()}, {.stack = astray()}, {.stack = waiting()}});
    look.problem = "distgpu: eu-stack: not found";
    look.processes[1].command = "python3 train.py";
    return diagnose({look}, {"n2"}, 3);
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++found;
    return found;
}

TEST(DiagnosisPage, HasWhatTheTextHas) {
    const std::string page = diagnosis_page("5.0", one_astray());
    EXPECT_THAT(page, HasSubstr("<title>step 5.0</title>"));
    EXPECT_THAT(page, HasSubstr("<p class=\"faint\">3 ranks on 2 nodes, looked at for 3.0 s</p>"));
    EXPECT_THAT(page, HasSubstr("<p class=\"finding\">rank 1 on n1 is in load_batch"));
    EXPECT_THAT(page, HasSubstr("<td data-of=\"RANKS\">ranks 0,<wbr>2</td>"));
    EXPECT_THAT(page, HasSubstr("<summary>rank 1 on n1: process 101 python3 train.py</summary>"));
    EXPECT_THAT(page, HasSubstr("<summary>ranks 0,2: <code>all_reduce (distributed_c10d.py:2810)"));
    EXPECT_THAT(page, HasSubstr("<p>no answer from n2</p>"));
    EXPECT_THAT(page, HasSubstr("<p>distgpu: eu-stack: not found</p>"));
    EXPECT_EQ(count(page, "<details"), count(page, "</details>"));
    // The smallest groups first.
    EXPECT_LT(page.find("<summary>rank 1: "), page.find("<summary>ranks 0,2: "));
}

TEST(DiagnosisPage, OfNoRankSaysSo) {
    const std::string page = diagnosis_page("5.0", diagnose({}, {"n1"}, 4));
    EXPECT_THAT(page, HasSubstr("no rank was seen"));
    EXPECT_THAT(page, Not(HasSubstr("<table>")));
}

// Functions, files, commands and nodes are named by whoever wrote the program.
TEST(DiagnosisPage, TakesNamesForText) {
    const std::string evil = "<script>alert(1)</script>\"'&<img src=x onerror=y>";
    NodeLook look = made_up_look(evil, 0, {{.stack = waiting()}, {.channel = evil}});
    look.stacks[0].push_back({evil, evil, 1});
    look.problem = evil;
    for (ProcessLook& process : look.processes) process.command = evil;
    add_process(look, 50, {}).name = evil;
    look.processes[1].parent = 50;
    look.processes[1].connections = {{evil, 1, 1}};
    const std::string page = diagnosis_page(evil, diagnose({look}, {evil}, 2));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_GT(count(page, "&lt;script&gt;"), 10U);
    EXPECT_TRUE(std::all_of(page.begin(), page.end(),
                            [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace distgpu

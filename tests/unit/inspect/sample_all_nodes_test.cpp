// What the nodes of a step say through one output.
#include "inspect/sample_all_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string mark = "\x1e";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
    return lines;
}

TEST(Answers, ComeInAnyOrder) {
    const std::string one = std::string(2000, 'a') + std::string(2000, 'b');
    const std::string other = R"({"name": "with spaces  "})";
    std::vector<std::string> lines = lines_of(answer_lines("n1", one) + answer_lines("n2", other));
    ASSERT_EQ(lines.size(), 6U);
    do {
        std::string output;
        for (const std::string& line : lines) output += line;
        for (const std::string& printed : {output, output + output}) {
            const Answers answers = read_answers(printed);
            ASSERT_THAT(answers.complete, ElementsAre(Pair("n1", one), Pair("n2", other)));
            ASSERT_EQ(answers.other_lines, "");
        }
    } while (std::next_permutation(lines.begin(), lines.end()));
}

// srun keeps lines whole up to about a thousand bytes.
TEST(Answers, AreOfShortLines) {
    for (const std::string& line :
         lines_of(answer_lines(std::string(64, 'n'), std::string(100'000, 'x')))) {
        EXPECT_LE(line.size(), 1000U);
    }
}

TEST(Answers, WithoutAllTheirPartsAreNone) {
    const std::vector<std::string> lines = lines_of(answer_lines("n1", std::string(2000, 'x')));
    for (std::size_t lost = 0; lost < lines.size(); ++lost) {
        std::string output;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (i != lost) output += lines[i];
        }
        output += "\n" + answer_lines("n2", "y");
        EXPECT_THAT(read_answers(output).complete, ElementsAre(Pair("n2", "y"))) << lost;
    }
    EXPECT_THAT(read_answers(mark + "distgpu n1 0 1 without its end").complete, IsEmpty());
    EXPECT_THAT(read_answers(answer_lines("n1", "")).complete, IsEmpty());
}

// The greatest number of parts costs nothing.
TEST(Answers, DoNotChangeTheNumberOfTheirParts) {
    const Answers answers = read_answers(mark + "distgpu n1 3 4 a\n" + mark + "distgpu n1 0 2 b\n" +
                                         mark + "distgpu n2 4294967294 4294967295 x\n");
    EXPECT_THAT(answers.complete, IsEmpty());
    EXPECT_EQ(answers.other_lines, mark + "distgpu n1 0 2 b\n");
}

TEST(Answers, LeaveOtherLinesAlone) {
    const std::string others =
        "srun: error: node02: task 1: Exited with exit code 1\n"
        "distgpu n1 0 1 without a mark\n"
        "\n" +
        mark + "distgpu\n" + mark + "distgpu n1\n" + mark + "distgpu n1 0\n" + mark +
        "distgpu n1 one 1 x\n" + mark + "distgpu n1 1 1 x\n" + mark + "distgpu n1 -1 1 x\n" + mark +
        "distgpu n1 0 4294967296 x\n";
    EXPECT_EQ(read_answers(others).other_lines, others);
    EXPECT_THAT(read_answers(others).complete, IsEmpty());
}

TEST(Answers, KeepALittleOfTheRest) {
    std::string many;
    for (int line = 0; line < 1000; ++line) many += std::string(99, 'x') + "\n";
    const std::size_t kept = read_answers(many).other_lines.size();
    EXPECT_TRUE(kept >= 4000 && kept <= 4200) << kept;
    const Answers answers =
        read_answers(std::string(10'000'000, 'y') + "\nend\n" + answer_lines("n1", "x"));
    EXPECT_THAT(answers.complete, ElementsAre(Pair("n1", "x")));
    EXPECT_EQ(answers.other_lines, "end\n");
}

}  // namespace
}  // namespace distgpu

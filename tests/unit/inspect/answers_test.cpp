// What the nodes of a step say through one output.
#include "inspect/answers.h"

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
        Answers answers;
        for (const std::string& line : lines) answers.take(line);
        ASSERT_THAT(answers.complete(), ElementsAre(Pair("n1", one), Pair("n2", other)));
        ASSERT_EQ(answers.others(), "");
    } while (std::next_permutation(lines.begin(), lines.end()));
}

// srun keeps lines whole up to about a thousand bytes.
TEST(Answers, AreOfShortLines) {
    for (const std::string& line :
         lines_of(answer_lines(std::string(64, 'n'), std::string(100'000, 'x')))) {
        EXPECT_LE(line.size(), 1000U);
    }
}

TEST(Answers, ComeInPiecesOfAnySize) {
    const std::string text = answer_lines("n1", std::string(1000, 'x')) + "srun: said\n";
    for (std::size_t size = 1; size < 50; ++size) {
        Answers answers;
        for (std::size_t at = 0; at < text.size(); at += size) answers.take(text.substr(at, size));
        ASSERT_THAT(answers.complete(), ElementsAre(Pair("n1", std::string(1000, 'x'))));
        ASSERT_EQ(answers.others(), "srun: said\n");
    }
}

TEST(Answers, MayHaveBeenSaidTwice) {
    Answers answers;
    for (int turn = 0; turn < 2; ++turn) answers.take(answer_lines("n1", std::string(900, 'x')));
    EXPECT_THAT(answers.complete(), ElementsAre(Pair("n1", std::string(900, 'x'))));
}

TEST(Answers, WithoutAllTheirPartsAreNone) {
    const std::vector<std::string> lines = lines_of(answer_lines("n1", std::string(2000, 'x')));
    for (std::size_t lost = 0; lost < lines.size(); ++lost) {
        Answers answers;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (i != lost) answers.take(lines[i]);
        }
        answers.take("\n" + answer_lines("n2", "y"));
        EXPECT_THAT(answers.complete(), ElementsAre(Pair("n2", "y"))) << lost;
    }
    Answers cut;
    cut.take(mark + "distgpu n1 0 1 without its end");
    EXPECT_THAT(cut.complete(), IsEmpty());
    Answers empty;
    empty.take(answer_lines("n1", ""));
    EXPECT_THAT(empty.complete(), IsEmpty());
}

TEST(Answers, DoNotChangeTheNumberOfTheirParts) {
    Answers answers;
    answers.take(mark + "distgpu n1 3 4 a\n" + mark + "distgpu n1 0 2 b\n");
    EXPECT_THAT(answers.complete(), IsEmpty());
    EXPECT_EQ(answers.others(), mark + "distgpu n1 0 2 b\n");
}

TEST(Answers, LeaveOtherLinesAlone) {
    const std::string others =
        "srun: error: node02: task 1: Exited with exit code 1\n"
        "distgpu n1 0 1 without a mark\n"
        "\n" +
        mark + "distgpu\n" + mark + "distgpu n1\n" + mark + "distgpu n1 0\n" + mark +
        "distgpu n1 one 1 x\n" + mark + "distgpu n1 1 1 x\n" + mark + "distgpu n1 -1 1 x\n" + mark +
        "distgpu n1 0 4294967296 x\n";
    Answers answers;
    answers.take(others);
    EXPECT_EQ(answers.others(), others);
    EXPECT_THAT(answers.complete(), IsEmpty());
}

TEST(Answers, KeepALittleOfTheRest) {
    Answers answers;
    for (int line = 0; line < 1000; ++line) answers.take(std::string(99, 'x') + "\n");
    EXPECT_LE(answers.others().size(), 4200U);
    EXPECT_GE(answers.others().size(), 4000U);
}

TEST(Answers, DropALineThatHasNoEnd) {
    Answers answers;
    for (int piece = 0; piece < 1000; ++piece) answers.take(std::string(10'000, 'y'));
    answers.take("end\n" + answer_lines("n1", "x"));
    EXPECT_THAT(answers.complete(), ElementsAre(Pair("n1", "x")));
    EXPECT_EQ(answers.others(), "end\n");
}

// The greatest number of parts costs nothing.
TEST(Answers, AllocateNothingForWhatTheyAnnounce) {
    Answers answers;
    answers.take(mark + "distgpu n1 4294967294 4294967295 x\n");
    EXPECT_THAT(answers.complete(), IsEmpty());
    EXPECT_EQ(answers.others(), "");
}

}  // namespace
}  // namespace distgpu

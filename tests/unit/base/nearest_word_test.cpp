// Which valid word "did you mean" offers for a misspelt one.
#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string_view>;

TEST(NearestWord, FindsTheWordWithFewestEdits) {
    const Words words{"pytorch", "torchrun", "tensorflow", "port", "off"};
    struct Row {
        const char* title;
        std::string_view word;
        std::optional<std::string_view> nearest;
    };
    const std::vector<Row> rows = {
        {"the word itself", "pytorch", "pytorch"},
        {"one swap of neighbours at the end", "pytorhc", "pytorch"},
        {"one swap of neighbours inside", "pytroch", "pytorch"},
        {"a letter too few", "pytoch", "pytorch"},
        {"a letter too many", "ppytorch", "pytorch"},
        {"a wrong letter", "pytorcj", "pytorch"},
        {"two wrong letters", "PyTorch", "pytorch"},
        {"three edits of seven letters", "pXtXrXh", std::nullopt},
        {"three edits of nine letters", "tXnXorXlow", "tensorflow"},
        {"four edits of ten letters", "tXnXoXflXw", std::nullopt},
        {"a swap in four letters", "prot", "port"},
        {"two edits in four letters", "prto", std::nullopt},
        {"one edit in three letters", "oft", "off"},
        {"one edit in two letters", "of", std::nullopt},
        {"nothing typed", "", std::nullopt},
    };
    for (const auto& row : rows) EXPECT_EQ(nearest_word(row.word, words), row.nearest) << row.title;
}

TEST(NearestWord, TwoEditsAreAllowedFromFiveLettersOn) {
    const Words words{"abcdef"};
    EXPECT_EQ(nearest_word("abcXeX", words), "abcdef");
    EXPECT_EQ(nearest_word("abcXY", Words{"abcde"}), "abcde");
    EXPECT_EQ(nearest_word("abXY", Words{"abcd"}), std::nullopt);
}

TEST(NearestWord, OfEqualOnesTheFirst) {
    EXPECT_EQ(nearest_word("ports", Words{"porta", "portb"}), "porta");
    EXPECT_EQ(nearest_word("ports", Words{"pXrtb", "porta"}), "porta");
}

TEST(NearestWord, NoCandidates) {
    EXPECT_EQ(nearest_word("pytorch", std::array<std::string_view, 0>{}), std::nullopt);
}

// The cost grows with the product of the lengths.
TEST(NearestWord, WordsOver32LettersAreNotCompared) {
    const std::string longest(32, 'a');
    const std::string too_long(33, 'a');
    EXPECT_EQ(nearest_word(longest, Words{longest}), longest);
    EXPECT_EQ(nearest_word(too_long, Words{too_long}), std::nullopt);
}

}  // namespace
}  // namespace distgpu

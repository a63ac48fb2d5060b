// Random host lists against their names written out one by one.
#include "layout_testing.h"
#include "mapping/layout/hostlist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace distgpu {
namespace {

using layout_testing::expand;
using layout_testing::Names;
using layout_testing::parsed;

std::string padded(std::uint32_t number, std::size_t width) {
    const auto digits = std::to_string(number);
    return std::string(width - std::min(width, digits.size()), '0') + digits;
}

// Names that provoke joining: few prefixes, numbers that often follow each
// other, padding near 9 and 99.
Names random_names(layout_testing::Random& random) {
    const Names prefixes = {"n", "n1", "n0", "r1-n", ""};
    Names names;
    auto number = random.below(120);
    for (auto left = 1 + random.below(30); left > 0; --left) {
        auto name = prefixes[random.below(5)] + padded(number, random.below(4));
        if (random.below(8) == 0) name += 'x';
        names.push_back(name);
        number = random.below(3) == 0 ? random.below(120) : number + 1;
    }
    return names;
}

struct Written {
    std::string text;
    Names names;
};

// A bracket with ranges, and its names.
Written random_bracket(layout_testing::Random& random) {
    const std::string prefix = random.below(2) == 0 ? "n" : "n1";
    Written written{.text = prefix + '[', .names = {}};
    for (auto left = 1 + random.below(4); left > 0; --left) {
        const auto low = random.below(110);
        const auto high = low + random.below(12);
        const auto first = padded(low, random.below(4));
        written.text += first + '-' + std::to_string(high);
        written.text += left > 1 ? ',' : ']';
        for (auto i = low; i <= high; ++i) {
            written.names.push_back(prefix + padded(i, first.size()));
        }
    }
    return written;
}

TEST(HostListProperty, NamesSurviveCompressionAndText) {
    layout_testing::Random random;
    for (int round = 0; round < 2000; ++round) {
        const auto names = random_names(random);
        const auto list = HostList::from_names(names);
        const auto text = list.to_string();
        ASSERT_EQ(expand(list), names);
        ASSERT_EQ(expand(parsed(text)), names) << text;
        ASSERT_EQ(parsed(text), list) << text;
    }
}

TEST(HostListProperty, FindsTheFirstOfEachName) {
    layout_testing::Random random;
    for (int round = 0; round < 500; ++round) {
        const auto names = random_names(random);
        const auto list = HostList::from_names(names);
        for (const auto& name : names) {
            const auto first = std::find(names.begin(), names.end(), name) - names.begin();
            ASSERT_EQ(list.find(name), NodeIndex{static_cast<std::uint32_t>(first)}) << name;
        }
    }
}

TEST(HostListProperty, BracketsExpandAndSurviveText) {
    layout_testing::Random random;
    for (int round = 0; round < 2000; ++round) {
        auto written = random_bracket(random);
        for (auto more = random.below(4); more > 0; --more) {
            const auto next = random_bracket(random);
            written.text += ',' + next.text;
            written.names.insert(written.names.end(), next.names.begin(), next.names.end());
        }
        const auto list = parsed(written.text);
        ASSERT_EQ(expand(list), written.names) << written.text;
        ASSERT_EQ(list, HostList::from_names(written.names)) << written.text;
        ASSERT_EQ(parsed(list.to_string()), list) << written.text;
    }
}

}  // namespace
}  // namespace distgpu

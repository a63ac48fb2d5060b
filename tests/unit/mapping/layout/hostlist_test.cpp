// Host lists: expected expansions are what `scontrol show hostnames` of Slurm
// 22.05.8 printed, expected compressed forms what `scontrol show hostlist` did.
#include "mapping/layout/hostlist.h"

#include "base/format.h"
#include "layout_testing.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

using layout_testing::expand;
using layout_testing::hosts;
using layout_testing::Names;

struct Row {
    const char* title;
    std::string text;
    Names names;
};

TEST(HostListParse, ExpandsAsScontrolShowHostnames) {
    const std::vector<Row> rows = {
        {"ranges, singles, zero padding",
         "n[1-4,7,009-011]",
         {"n1", "n2", "n3", "n4", "n7", "n009", "n010", "n011"}},
        {"one name", "login", {"login"}},
        {"number without bracket", "n007", {"n007"}},
        {"padding from the first number only", "n[8-012]", {"n8", "n9", "n10", "n11", "n12"}},
        {"shorter last number", "n[001-3]", {"n001", "n002", "n003"}},
        {"shorter equal number", "n[01-1]", {"n01"}},
        {"longer last number", "n[1-02]", {"n1", "n2"}},
        {"padding ends where digits do", "n[098-101]", {"n098", "n099", "n100", "n101"}},
        {"more digits", "n[9-10]", {"n9", "n10"}},
        {"padding changes inside a bracket", "n[1,02,3]", {"n1", "n02", "n3"}},
        {"range of one", "n[1-1]", {"n1"}},
        {"order and duplicates stay", "n[1-3,2]", {"n1", "n2", "n3", "n2"}},
        {"a list twice", "n[1-2],n[1-2]", {"n1", "n2", "n1", "n2"}},
        {"two brackets", "n[1-2]x[3-4]", {"n1x3", "n1x4", "n2x3", "n2x4"}},
        {"brackets side by side", "n[1-2][3-4]", {"n13", "n14", "n23", "n24"}},
        {"outer bracket changes its digits", "n[9-10]m[1-2]", {"n9m1", "n9m2", "n10m1", "n10m2"}},
        {"of three, the last turns fastest, then the first",
         "a[1-2]b[3-4]c[5-6]",
         {"a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6", "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"}},
        {"of four, the third turns last",
         "a[1-2]b[3-4]c[5-6]d[7,8]",
         {"a1b3c5d7", "a1b3c5d8", "a2b3c5d7", "a2b3c5d8", "a1b4c5d7", "a1b4c5d8", "a2b4c5d7",
          "a2b4c5d8", "a1b3c6d7", "a1b3c6d8", "a2b3c6d7", "a2b3c6d8", "a1b4c6d7", "a1b4c6d8",
          "a2b4c6d7", "a2b4c6d8"}},
        {"digits before the bracket", "n1[1-2]", {"n11", "n12"}},
        {"no letters", "[1-3]", {"1", "2", "3"}},
        {"blanks and tabs separate", "n[1-2], m\tk", {"n1", "n2", "m", "k"}},
        {"empty names are skipped", ",a,,b c,", {"a", "b", "c"}},
        {"large numbers",
         "n[4294967295-4294967297]",
         {"n4294967295", "n4294967296", "n4294967297"}},
        {"more digits than 64 bits hold", "n18446744073709551615", {"n18446744073709551615"}},
        {"what else a host name has", "a.b-c_d,fe80::[1-2]", {"a.b-c_d", "fe80::1", "fe80::2"}},
    };
    for (const auto& row : rows) EXPECT_EQ(expand(hosts(row.text)), row.names) << row.title;
}

// Slurm 22.05 refuses these; 23.11 and later expand them (_hostlist_create_bracketed).
TEST(HostListParse, TextMayFollowTheLastBracket) {
    EXPECT_EQ(expand(hosts("n[1-2]-ib")), (Names{"n1-ib", "n2-ib"}));
    EXPECT_EQ(expand(hosts("rack[0-1]node[00-01]x7,m")),
              (Names{"rack0node00x7", "rack0node01x7", "rack1node00x7", "rack1node01x7", "m"}));
}

struct Refusal {
    const char* title;
    std::string text;
    std::string message;
};

TEST(HostListParse, RefusesWithPlaceAndRemedy) {
    const std::string numbers_only = "; write only numbers and ranges, such as n[1-4,7]";
    const std::string no_host = ": names no host; give at least one name, such as n[1-4]";
    const std::vector<Refusal> rows = {
        {"empty", "", "host list '' at character 1" + no_host},
        {"separators only", " ,\t", "host list ' ,?' at character 1" + no_host},
        {"nested", "n[1-2,[4-5]]",
         "host list 'n[1-2,[4-5]]' at character 7: expected a number, found '['" + numbers_only},
        {"open bracket", "m,n[1",
         "host list 'm,n[1' at character 4: '[' without a ']' after it; close the bracket"},
        {"open range", "n[1-",
         "host list 'n[1-' at character 5: expected a number, found the end "
         "of the list" +
             numbers_only},
        {"empty bracket", "n[]",
         "host list 'n[]' at character 3: expected a number, found ']'" + numbers_only},
        {"closing alone", "n1]",
         "host list 'n1]' at character 3: ']' without a '[' before it; write ranges such as "
         "n[1-4]"},
        {"closing twice", "n[1-2]]",
         "host list 'n[1-2]]' at character 7: ']' without a '[' before it; write ranges such as "
         "n[1-4]"},
        {"backwards", "n[1,12-3]",
         "host list 'n[1,12-3]' at character 5: the range 12-3 runs backwards; write the smaller "
         "number first"},
        {"letters", "n[1-2,a]",
         "host list 'n[1-2,a]' at character 7: expected a number, found 'a'" + numbers_only},
        {"blank in a bracket", "n[1 - 2]",
         "host list 'n[1 - 2]' at character 4: ' ' inside a bracket" + numbers_only},
        {"half a range", "n[1-]",
         "host list 'n[1-]' at character 5: expected a number, found ']'" + numbers_only},
        {"negative", "n[-1]",
         "host list 'n[-1]' at character 3: expected a number, found '-'" + numbers_only},
        {"two dashes", "n[1-2-3]",
         "host list 'n[1-2-3]' at character 6: '-' inside a bracket" + numbers_only},
        {"19 digits", "n[1000000000000000000]",
         "host list 'n[1000000000000000000]' at character 3: a number of 19 digits; numbers in "
         "brackets have at most 18"},
        {"control character", "n\x01",
         "host list 'n?' at character 2: byte 0x01 cannot be part of a host name; use letters, "
         "digits and the characters . - _ :"},
        {"not ASCII", "n\xc3\xa4",
         "host list 'n?\?' at character 2: byte 0xc3 cannot be part of a host name; use letters, "
         "digits and the characters . - _ :"},
        // It would end a text of JSON.
        {"quote", "n1\",n2",
         "host list 'n1\",n2' at character 3: '\"' cannot be part of a host name; use letters, "
         "digits and the characters . - _ :"},
        {"brace", "n{1-2}",
         "host list 'n{1-2}' at character 2: '{' cannot be part of a host name; use letters, "
         "digits and the characters . - _ :"},
        {"one bracket too large", "n[1-16777217]",
         "host list 'n[1-16777217]' at character 2: a bracket of more than 16777216 numbers; check "
         "the ranges"},
        {"sum too large", "m,n[1-16777216]",
         "host list 'm,n[1-16777216]' at character 3: more than 16777216 hosts; check the ranges"},
        {"product too large", "n[1-5000]x[1-5000]",
         "host list 'n[1-5000]x[1-5000]' at character 1: more than 16777216 hosts; check the "
         "ranges"},
        {"too many ranges", "n[1-32769]x[1-2]",
         "host list 'n[1-32769]x[1-2]' at character 1: brackets in the middle of names make more "
         "than 32768 ranges; split the list, or end each name with its longest range"},
        {"too many ranges in all", "n[1-32768]x,m[1-2]x",
         "host list 'n[1-32768]x,m[1-2]x' at character 13: brackets in the middle of names make "
         "more than 32768 ranges; split the list, or end each name with its longest range"},
        {"long name", std::string(254, 'n') + "[8-10]",
         "host list '" + std::string(54, 'n') +
             "...' at character 1: a name of 256 characters; host names have at most 255"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(message_of(HostList::parse(row.text)), "distgpu: " + row.message) << row.title;
    }
}

TEST(HostListParse, ShortensTheListAroundThePlace) {
    std::string text;
    for (int i = 10; i < 50; ++i) text += "node" + std::to_string(i) + ',';
    const auto in_the_middle = HostList::parse(text.substr(0, 140) + "n[z]," + text);
    ASSERT_FALSE(in_the_middle);
    EXPECT_EQ(in_the_middle.error().object,
              "host list '...e26,node27,node28,node29,n[z],node10,node11,node12,nod...' "
              "at character 143");
    const auto at_the_end = HostList::parse(text + "n[");
    ASSERT_FALSE(at_the_end);
    EXPECT_EQ(at_the_end.error().object,
              "host list '...42,node43,node44,node45,node46,node47,node48,node49,n[' "
              "at character 283");
}

TEST(HostListParse, AcceptsItsBounds) {
    EXPECT_EQ(hosts("n[1-16777216]").size(), 16777216U);
    EXPECT_EQ(hosts("n[1-32768]x").size(), 32768U);
    EXPECT_EQ(hosts(std::string(254, 'n') + "[1-9]").name(NodeIndex{8}).size(), 255U);
    EXPECT_EQ(hosts("n[999999999999999998-999999999999999999]").size(), 2U);
    const auto million = hosts("node[0000000-0999999],login");
    EXPECT_EQ(million.name(NodeIndex{123456}), "node0123456");
    EXPECT_EQ(million.find("node0999999"), NodeIndex{999999});
    EXPECT_EQ(million.find("login"), NodeIndex{1000000});
}

TEST(HostListText, CompressesAsScontrolShowHostlist) {
    const std::vector<std::pair<Names, std::string>> rows = {
        {{"n1", "n2", "n3", "n5"}, "n[1-3,5]"},
        {{"n08", "n09", "n10", "n11"}, "n[08-11]"},
        {{"n8", "n9", "n10"}, "n[8-10]"},
        {{"n9", "n010"}, "n[9,010]"},
        {{"n1x", "n2x"}, "n1x,n2x"},
        {{"n3", "n1", "n2"}, "n[3,1-2]"},
        {{"n11", "n12"}, "n[11-12]"},
        {{"r0n0", "r0n1", "r1n0", "r1n1"}, "r0n[0-1],r1n[0-1]"},
        {{"n1", "n2", "n1", "n2"}, "n[1-2,1-2]"},
        {{"n099", "n100", "n101"}, "n[099-101]"},
        {{"n98", "n99", "n100", "n0101", "n102"}, "n[98-100,0101,102]"},
        {{"login", "n1"}, "login,n1"},
        {{"n007"}, "n007"},
        {{"1", "2", "3"}, "[1-3]"},
    };
    for (const auto& [names, text] : rows) {
        EXPECT_EQ(HostList::from_names(names).to_string(), text);
        EXPECT_EQ(expand(HostList::from_names(names)), names) << text;
        EXPECT_EQ(hosts(text), HostList::from_names(names)) << text;
    }
}

// scontrol refuses n[0-65536]: "Too many hosts in range", and takes this.
TEST(HostListText, CutsRangesAtSlurmsBound) {
    const auto list = hosts("n[0-140000]");
    EXPECT_EQ(list.to_string(), "n[0-65535,65536-131071,131072-140000]");
    EXPECT_EQ(hosts(list.to_string()), list);
    EXPECT_EQ(hosts("n[0-65536]").to_string(), "n[0-65535,65536]");
}

TEST(HostListEquality, DependsOnNamesAndOrderOnly) {
    EXPECT_EQ(hosts("n1[1-2]"), hosts("n11,n12"));
    EXPECT_EQ(hosts("n1[8-11]"), hosts("n18,n19,n110,n111"));
    EXPECT_EQ(hosts("n[1-2],n3"), hosts("n[1-3]"));
    EXPECT_EQ(hosts("n[09-10]"), hosts("n09,n10"));
    EXPECT_EQ(hosts("n0[9,10]"), hosts("n09,n010"));
    EXPECT_EQ(hosts("n12345678901234567[1-2]"),
              HostList::from_names(Names{"n123456789012345671", "n123456789012345672"}));
    EXPECT_EQ(hosts("n123456789012345678[1-2]"),
              HostList::from_names(Names{"n1234567890123456781", "n1234567890123456782"}));
    EXPECT_NE(hosts("n[09-10]"), hosts("n[9-10]"));
    EXPECT_NE(hosts("n[1,3]"), hosts("n[3,1]"));
    EXPECT_NE(hosts("n"), hosts("n0"));
}

TEST(HostListFind, ComparesNumbersAsWritten) {
    const auto list = hosts("n[01-04,7],n7,login,n[2-3]x[08-11],0");
    const auto names = expand(list);
    for (const auto& name : names) {
        const auto first = std::find(names.begin(), names.end(), name) - names.begin();
        EXPECT_EQ(list.find(name), NodeIndex{static_cast<std::uint32_t>(first)}) << name;
    }
    for (const auto* absent :
         {"n1", "n001", "n05", "n07", "n", "", "login0", "n2x8", "n2x12", "00"}) {
        EXPECT_EQ(list.find(absent), std::nullopt) << absent;
    }
}

TEST(HostListConcatenate, KeepsOrderAndDuplicates) {
    const auto a = hosts("n[1-2]");
    const auto b = hosts("n[3-4],login");
    const std::vector<HostList> lists = {a, b, HostList{}, a};
    const auto all = HostList::concatenate(lists);
    EXPECT_EQ(all.to_string(), "n[1-4],login,n[1-2]");
    EXPECT_EQ(all, hosts("n[1-4],login,n[1-2]"));
    EXPECT_EQ(all.name(NodeIndex{5}), "n1");
    EXPECT_EQ(HostList::concatenate({}), HostList{});
}

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

TEST(HostListProperty, NamesSurviveCompressionAndText) {
    layout_testing::Random random;
    for (int round = 0; round < 2000; ++round) {
        const auto names = random_names(random);
        const auto list = HostList::from_names(names);
        const auto text = list.to_string();
        ASSERT_EQ(expand(list), names);
        ASSERT_EQ(expand(hosts(text)), names) << text;
        ASSERT_EQ(hosts(text), list) << text;
    }
}

TEST(HostListProperty, BracketsExpandAndSurviveText) {
    layout_testing::Random random;
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        Names names;
        for (auto brackets = 1 + random.below(4); brackets > 0; --brackets) {
            const std::string prefix = random.below(2) == 0 ? "n" : "n1";
            text += formatted("{}{}[", text.empty() ? "" : ",", prefix);
            for (auto ranges = 1 + random.below(4); ranges > 0; --ranges) {
                const auto low = random.below(110);
                const auto high = low + random.below(12);
                const auto first = padded(low, random.below(4));
                text += formatted("{}-{}{}", first, high, ranges > 1 ? ',' : ']');
                for (auto i = low; i <= high; ++i) {
                    names.push_back(prefix + padded(i, first.size()));
                }
            }
        }
        const auto list = hosts(text);
        ASSERT_EQ(expand(list), names) << text;
        ASSERT_EQ(list, HostList::from_names(names)) << text;
        ASSERT_EQ(hosts(list.to_string()), list) << text;
    }
}

}  // namespace
}  // namespace distgpu

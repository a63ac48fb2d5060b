// How a shell script is read: sh(1)'s rules for commands, words, comments and here-documents.
#include "base/shell_words.h"

#include "base/io/programs.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

// Each command as "LINE:word|word".
Words read(std::string_view script) {
    Words commands;
    for (const ShellCommand& command : shell_commands(script)) {
        std::string text = std::to_string(command.line) + ":";
        for (const std::string& word : command.words) {
            if (text.back() != ':') text += "|";
            text += word;
        }
        commands.push_back(text);
    }
    return commands;
}

TEST(ShellWords, QuotesAndBackslashes) {
    EXPECT_EQ(read(R"(a 'b c' "d \"e\"" f\ g h"i j"'k'l)"), Words{R"(1:a|b c|d "e"|f g|hi jkl)"});
    EXPECT_EQ(read(R"(a '\' "$B" "\n\$C")"), Words{R"(1:a|\|$B|\n$C)"});
    EXPECT_EQ(shell_commands("a '' b").at(0).words, (Words{"a", "", "b"}));
}

TEST(ShellWords, ABackslashProtectsTheQuoteInDollarQuotes) {
    EXPECT_EQ(read(R"(a $'don\'t' b
c)"),
              (Words{"1:a|don't|b", "2:c"}));
    EXPECT_EQ(read(R"(a$'b\\'c $'"d\n' "$'e" 'f')"), Words{R"(1:ab\c|"d\n|$'e|f)"});
    EXPECT_EQ(read(R"(A=$(b $'\')' c) d)"), Words{R"(1:A=$(b $'\')' c)|d)"});
    EXPECT_EQ(read(R"(a \$'b\' c)"), Words{R"(1:a|$b\|c)"});
}

TEST(ShellWords, SubstitutionsBelongToTheirWord) {
    EXPECT_EQ(read("a $(b; c | d) e"), Words{"1:a|$(b; c | d)|e"});
    EXPECT_EQ(read("A=`b; c` d"), Words{"1:A=`b; c`|d"});
    EXPECT_EQ(read("A=( $(b \")\") )\nc"), (Words{"1:A=( $(b \")\") )", "2:c"}));
    EXPECT_EQ(read("A=\"$(b \"$(c \"d\")\" e)\" f"), Words{"1:A=$(b \"$(c \"d\")\" e)|f"});
    EXPECT_EQ(read("a $(b\nc) d\ne"), (Words{"1:a|$(b\nc)|d", "3:e"}));
    EXPECT_EQ(read("(a) b"), Words{"1:(a)|b"});
}

TEST(ShellWords, DeepNestingEnds) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += "\"$(a ";
    EXPECT_EQ(shell_commands(deep).size(), 1U);
}

TEST(ShellWords, CommandsEndAtOperatorsAndLines) {
    EXPECT_EQ(read("a; b && c | d & e || f\n\ng"),
              (Words{"1:a", "1:b", "1:c", "1:d", "1:e", "1:f", "3:g"}));
    EXPECT_EQ(read("a > log 2>&1 &> x <&3 b"), Words{"1:a|>|log|2>&1|&>|x|<&3|b"});
}

TEST(ShellWords, LinesAreCountedFromTheFirstOfTheCommand) {
    EXPECT_EQ(read("#!/bin/sh\n\na \\\n  b\\\n c\nd 'e\nf' g\nh\r\n"),
              (Words{"3:a|b|c", "6:d|e\nf|g", "8:h"}));
}

TEST(ShellWords, CommentsEndWithTheirLine) {
    EXPECT_EQ(read("a # b; c 'd\ne f#g '#'h\n# 'i\nj"), (Words{"1:a", "2:e|f#g|#h", "4:j"}));
}

TEST(ShellWords, CommentsInListsHaveNoQuotes) {
    EXPECT_EQ(read("a=(\n  b # it's\n)\nc"), (Words{"1:a=(\n  b # it's\n)", "4:c"}));
    EXPECT_EQ(read("a=${#b} $((16#f)) 'c'"), Words{"1:a=${#b}|$((16#f))|c"});
}

TEST(ShellWords, HereDocumentsAreLeftOut) {
    EXPECT_EQ(read("cat <<EOF > x\nsrun a\n EOF\nEOF\nb"), (Words{"1:cat|>|x", "5:b"}));
    EXPECT_EQ(read("cat <<-'A B'\nsrun a\n\tA B\nb"), (Words{"1:cat", "4:b"}));
    EXPECT_EQ(read("cat << EOF\nsrun a"), Words{"1:cat"});
    // Tabs before the end are for <<- only.
    EXPECT_EQ(read("cat <<EOF\n\tEOF\nsrun a\nEOF\nb"), (Words{"1:cat", "5:b"}));
    EXPECT_EQ(read("a <<<b\nc"), (Words{"1:a|<<<b", "2:c"}));
    // Two on one line.
    EXPECT_EQ(read("cat <<A <<\"B\" | tr a b\n$C\nA\nx\nB\nc"),
              (Words{"1:cat", "1:tr|a|b", "6:c"}));
}

TEST(ShellWords, AShiftIsNoHereDocument) {
    EXPECT_EQ(read("a=$((1<<2))\nb=$(( 1 << 2 ))\nc").size(), 3U);
    EXPECT_EQ(read("a \"<<b\"\nc").size(), 2U);
}

TEST(ShellWords, WhatIsNotClosedEndsWithTheText) {
    for (const char* text : {"a 'b", "a \"b", "a b\\", "a <<b", "a $((b", "a b", "a b #"}) {
        EXPECT_EQ(shell_commands(text).size(), 1U) << text;
    }
    EXPECT_TRUE(shell_commands("").empty());
    EXPECT_TRUE(shell_commands(" \n;\n#").empty());
}

TEST(ShellWords, QuotedIsOneWordAgain) {
    EXPECT_EQ(shell_quoted("plain"), "'plain'");
    EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
    for (const std::string text : {"", "a b", "'", "''a'", "$(b)`c`\\", "\"x\"; #\ny"}) {
        const auto commands = shell_commands("echo " + shell_quoted(text));
        ASSERT_EQ(commands.size(), 1U) << text;
        EXPECT_EQ(commands.front().words, (std::vector<std::string>{"echo", text}));
    }
}

TEST(ShellWords, AShellReadsBackWhatIsQuoted) {
    const std::string text = "it's  two\nlines of $HOME, \\ and `id` \"quoted\"!";
    const MadeUpFolder folder;
    folder.write("env", "export GIVEN=" + shell_quoted(text) + "\n");
    for (const char* const shell : {"/bin/sh", "/bin/bash"}) {
        const std::string script = ". " + folder.path("env") + "; printenv GIVEN";
        const auto read_back = run_command({shell, "-c", script}, std::chrono::seconds(20));
        ASSERT_TRUE(read_back) << read_back.error().message();
        EXPECT_EQ(*read_back, text + "\n") << shell;
    }
}

}  // namespace
}  // namespace distgpu

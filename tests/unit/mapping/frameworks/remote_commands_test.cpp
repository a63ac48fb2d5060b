// What ssh and programs like it run on other nodes.
#include "mapping/frameworks/remote_commands.h"

#include "base/format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

// The remote commands, each between bars; "local": the line is no remote shell.
std::string remote(const std::vector<std::string>& line) {
    const auto found = remote_commands(line);
    if (!found) return "local";
    std::string text;
    for (const UnwrappedCommand& command : found->commands) {
        text += formatted("{}{}|", join(command.words, " "), command.certain ? "" : "?");
    }
    return found->sends_variables ? "sends " + text : text;
}

TEST(RemoteCommands, StandBehindTheHostAndItsOptions) {
    const std::string train = "python3 train.py|";
    EXPECT_EQ(remote({"ssh", "n2", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"/usr/bin/ssh", "-tt", "-p", "22", "-oPort=22", "u@n2", "-v", "python3",
                      "train.py"}),
              train);
    EXPECT_EQ(remote({"ssh", "--", "n2", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"rsh", "-l", "user", "n2", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"pdsh", "-w", "n[1-2]", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"pdsh", "-Rssh", "-wn1,n2", "python3 train.py"}), train);
    EXPECT_EQ(remote({"clush", "-b", "-w", "n[1-2]", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"clush", "--hostfile", "hosts", "python3", "train.py"}), train);
    EXPECT_EQ(remote({"parallel-ssh", "-i", "-H", "n1", "python3", "train.py"}), train);
}

TEST(RemoteCommands, AreThoseOfAShellsText) {
    EXPECT_EQ(remote({"ssh", "n2", "cd x && nohup python3 train.py > log &"}),
              "cd x|python3 train.py|");
    EXPECT_EQ(remote({"ssh", "n2", "cd", "x", ";", "python3", "train.py"}),
              "cd x|python3 train.py|");
    EXPECT_EQ(remote({"ssh", "n2", "pgrep python || python3 train.py"}),
              "pgrep python|python3 train.py?|");
    // ssh joins the words, and the shell there parts them again.
    EXPECT_EQ(remote({"ssh", "n2", "bash", "-c", "python3 train.py"}), "python3|");
    EXPECT_EQ(remote({"ssh", "n2", "bash", "-c", "'python3 train.py'"}), "python3 train.py|");
}

TEST(RemoteCommands, MayBeNone) {
    EXPECT_EQ(remote({"ssh", "n2"}), "");
    EXPECT_EQ(remote({"ssh", "-N", "-L", "8000:n2:8000", "n2"}), "");
    EXPECT_EQ(remote({"ssh", "-p"}), "");
    EXPECT_EQ(remote({"ssh"}), "");
    EXPECT_EQ(remote({"git", "clone", "ssh://n2/x"}), "local");
    EXPECT_EQ(remote({"rsync", "-e", "ssh", "a", "n2:b"}), "local");
    EXPECT_EQ(remote({}), "local");
}

TEST(RemoteCommands, OptionsSendVariables) {
    EXPECT_EQ(remote({"ssh", "-o", "SendEnv=*", "n2", "hostname"}), "sends hostname|");
    EXPECT_EQ(remote({"ssh", "-oSetEnv=RANK=1", "n2", "hostname"}), "sends hostname|");
}

}  // namespace
}  // namespace distgpu

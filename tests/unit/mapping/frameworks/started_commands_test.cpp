// The command behind others that only start it, here and on other nodes.
#include "mapping/frameworks/started_commands.h"

#include "base/format.h"
#include "base/values.h"

#include <gtest/gtest.h>

#include <sstream>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

// `line` at its blanks; what stands between bars is one word.
Words split(const std::string& line) {
    Words words;
    std::istringstream text(line);
    std::string word;
    while (text >> word) {
        if (word.front() != '|') {
            words.push_back(word);
            continue;
        }
        std::string rest;
        std::getline(text, rest, '|');
        words.push_back(word.substr(1) + rest);
    }
    return words;
}

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

TEST(StartedCommands, AreBehindWrappers) {
    std::string_view wrappers =
        "timeout 1h; timeout -k 10 --signal TERM --foreground 1h; "
        "/usr/bin/timeout --signal=TERM 3600; env A=1 B=2; env -u A -i A=1; nice; nice -n5; "
        "nice -n 5; nice -5; ionice -c2 -n 7; numactl -m0; numactl --cpunodebind=0 --membind 0; "
        "numactl -N 0 --localalloc; taskset -c 0-3; time -v; time -o file -f %e; stdbuf -oL -e0; "
        "stdbuf -o L; nohup; setsid -w; chrt -f 50; "
        "nsys profile -t cuda,nvtx -o report --stats=true; nsys profile --trace cuda; "
        "ncu --set full -o report -f; strace -f -o log; conda run -n train --no-capture-output; "
        "/opt/conda/bin/conda run -p /env; micromamba run -n train; uv run; "
        "uv run --with torch -p 3.12 --no-sync; poetry run; "
        "apptainer exec --nv -B /data:/data image.sif; singularity exec --nv image.sif; tini --; "
        "py-spy record -o profile.svg --; hwloc-bind node:0 --; "
        "timeout 1h env A=1 nice -n5 numactl -m0";
    while (!wrappers.empty()) {
        const std::string wrapper(cut_until(wrappers, ';'));
        EXPECT_EQ(joined(strip_wrappers(split(wrapper + " torchrun --nnodes=1 train.py"))),
                  "torchrun --nnodes=1 train.py")
            << wrapper;
        EXPECT_EQ(joined(strip_wrappers(split(wrapper))), "") << wrapper;
    }
}

TEST(StartedCommands, AreTheLineItselfElse) {
    for (const char* line : {"torchrun train.py", "./timeout.sh 1h torchrun", "mytimeout 1h a"}) {
        EXPECT_EQ(joined(strip_wrappers(split(line))), line);
    }
    EXPECT_EQ(joined(strip_wrappers(split("conda activate x"))), "");
    EXPECT_TRUE(strip_wrappers({}).empty());
}

TEST(StartedCommands, OfUvAreForPython) {
    EXPECT_EQ(joined(strip_wrappers(split("uv run train.py --a"))), "python train.py --a");
    EXPECT_EQ(joined(strip_wrappers(split("uv run -m torch.distributed.run train.py"))),
              "python -m torch.distributed.run train.py");
}

// Commands between bars; "?" before one that may not run.
std::string started(const std::string& line) {
    std::string text;
    for (const UnwrappedCommand& command : started_commands(split(line))) {
        text += (text.empty() ? "" : " | ") + std::string(command.is_unconditional ? "" : "?") +
                joined(command.words);
    }
    return text;
}

TEST(StartedCommands, AreReadInAShellsText) {
    struct Row {
        const char* line;
        const char* commands;
    };
    const std::vector<Row> rows = {
        {"bash -c |torchrun train.py|", "torchrun train.py"},
        {"/bin/sh -lc |torchrun train.py|", "torchrun train.py"},
        {"bash -l -c |torchrun train.py|", "torchrun train.py"},
        {"bash -euo pipefail -c |torchrun train.py|", "torchrun train.py"},
        {"bash --norc -c |exec torchrun train.py| name", "torchrun train.py"},
        {"bash -c |. venv/bin/activate; A=1 torchrun train.py|",
         ". venv/bin/activate | torchrun train.py"},
        {"bash -c |cd run && torchrun 'a b' \"c d\"|", "cd run | torchrun a b c d"},
        {"bash -c |torchrun --node_rank $SLURM_NODEID train.py|",
         "torchrun --node_rank $SLURM_NODEID train.py"},
        {"bash -c |torchrun --nnodes $(nodes; x) train.py|",
         "torchrun --nnodes $(nodes; x) train.py"},
        {"bash -c |torchrun train.py >log 2>&1 & wait|", "torchrun train.py | wait"},
        {"bash -c |torchrun train.py &> log # and so on|", "torchrun train.py"},
        {"bash -c |timeout 1h torchrun train.py|", "torchrun train.py"},
        {"timeout 1h bash -c |exec nice torchrun train.py|", "torchrun train.py"},
        {"bash -c |sh -c 'torchrun train.py'|", "torchrun train.py"},
        {"bash -c |cd run; A=1|", "cd run"},
        {"bash -c |a \\; b|", "a ; b"},
    };
    for (const Row& row : rows) EXPECT_EQ(started(row.line), row.commands) << row.line;
    EXPECT_EQ(joined(started_commands(Words{"bash", "-c", "a || b; c"})[1].words), "b");
}

TEST(StartedCommands, MayNotRun) {
    const auto certain = [](const char* text) {
        std::string all;
        for (const UnwrappedCommand& command : started_commands(Words{"bash", "-c", text})) {
            all += (command.is_unconditional ? "" : "?") + joined(command.words) + ",";
        }
        return all;
    };
    EXPECT_EQ(certain("cd x || exit 1; torchrun a"), "cd x,?exit 1,torchrun a,");
    EXPECT_EQ(certain("torchrun a | tee log"), "torchrun a,?tee log,");
    EXPECT_EQ(certain("[ $SLURM_PROCID = 0 ] && mpirun a"), "[ $SLURM_PROCID = 0 ],?mpirun a,");
}

TEST(StartedCommands, OfTextsThatDoNotShowThemAreTheShell) {
    for (const char* text : {"if true; then torchrun a; fi", "for i in 1; do python3 a; done",
                             "(torchrun a)", "f() { torchrun a; }", "torchrun <<x\na\nx",
                             "torchrun 'a", "torchrun $(a", "while true; do a; done"}) {
        const auto commands = started_commands(Words{"bash", "-c", text});
        ASSERT_EQ(commands.size(), 1U) << text;
        EXPECT_EQ(commands.front().words.front(), "bash") << text;
    }
    EXPECT_EQ(started("bash train.sh -c x"), "bash train.sh -c x");
    EXPECT_EQ(started("bash"), "bash");
}

// The remote commands, each between bars; "local": the line is no remote shell.
std::string remote(const std::vector<std::string>& line) {
    const auto found = remote_commands(line);
    if (!found) return "local";
    std::string text;
    for (const UnwrappedCommand& command : found->commands) {
        text += formatted("{}{}|", join(command.words, " "), command.is_unconditional ? "" : "?");
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

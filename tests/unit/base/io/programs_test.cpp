// Programs that slurmstepd must survive: what comes of their output, and that nothing of them
// stays.
#include "base/io/programs.h"

#include "dead_folder.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Of the signals that this process sends to groups.
struct GroupKills {
    int known = 0;    // to that of a child which is not reaped
    int unknown = 0;  // to one whose number may be another's
} group_kills;

}  // namespace

// In the place of the C library's.
extern "C" int kill(pid_t process, int signal) noexcept {
    if (process < -1) {
        siginfo_t info{};
        const bool is_known =
            waitid(P_PID, static_cast<id_t>(-process), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
        ++(is_known ? group_kills.known : group_kills.unknown);
    }
    return static_cast<int>(syscall(SYS_kill, process, signal));
}

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto ample = 20s;
constexpr auto brief = 200ms;

Result<std::string> run_shell(const std::string& script, std::chrono::milliseconds limit = ample) {
    return run_command({"/bin/sh", "-c", script}, limit);
}

std::string output_of(const std::string& script) {
    const auto output = run_shell(script);
    EXPECT_TRUE(output) << output.error().message();
    return output ? *output : "";
}

// Its beginning, without the command; "" where the script succeeds.
std::string problem_of(const std::string& script, std::chrono::milliseconds limit = ample) {
    const auto output = run_shell(script, limit);
    if (output) return "";
    EXPECT_EQ(output.error().object, "/bin/sh -c " + script);
    EXPECT_EQ(output.error().remedy, "");
    return output.error().problem.substr(0, 80);
}

TEST(RunCommand, GivesWhatTheProgramWrites) {
    EXPECT_EQ(output_of("printf 'two\\nlines\\n'; echo aside >&2"), "two\nlines\n");
    EXPECT_EQ(output_of("true"), "");
    EXPECT_EQ(output_of("echo early; sleep 0.05; echo late"), "early\nlate\n");
    const auto arguments = run_command({"/bin/echo", "a b", "", "$HOME"}, ample);
    ASSERT_TRUE(arguments);
    EXPECT_EQ(*arguments, "a b  $HOME\n");
}

TEST(RunCommand, AFailureIsItsLastLineOfErrors) {
    EXPECT_EQ(problem_of("echo some; echo first >&2; echo second >&2; exit 3"), "second");
    EXPECT_EQ(problem_of("printf unended >&2; exit 1"), "unended");
    EXPECT_EQ(problem_of("echo not mine >&2; exit 127"), "not mine");
    // A silent one is its status, and a crash its signal: what a library wrote before says less.
    EXPECT_EQ(problem_of("exit 3"), "ended with status 3");
    EXPECT_EQ(problem_of("printf '\\n\\n' >&2; exit 3"), "ended with status 3");
    EXPECT_EQ(problem_of("kill -KILL $$"), "ended by signal 9");
    EXPECT_EQ(problem_of("echo warning >&2; kill -SEGV $$"), "ended by signal 11");
    const auto endless = run_shell("head -c 2000 /dev/zero | tr '\\0' x >&2; exit 3", ample);
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().problem, std::string(500, 'x'));
}

TEST(RunCommand, WhatIsNoProgramCannotBeStarted) {
    const MadeUpFolder folder;
    folder.write("text", "#!/bin/sh\n");
    for (const std::string& path : {folder.path("missing"), folder.path(), folder.path("text")}) {
        const auto output = run_command({path, "topo"}, ample);
        ASSERT_FALSE(output) << path;
        EXPECT_EQ(output.error().message(), "distgpu: " + path + " topo: cannot be started");
    }
}

TEST(RunCommand, HasItsOwnEnvironment) {
    ASSERT_EQ(setenv("LD_PRELOAD_OF_THE_USER", "x", 1), 0);
    const auto environment = run_command({"/usr/bin/env"}, ample);
    unsetenv("LD_PRELOAD_OF_THE_USER");
    ASSERT_TRUE(environment) << environment.error().message();
    EXPECT_EQ(*environment, "PATH=/usr/sbin:/usr/bin\nLC_ALL=C\n");
}

TEST(RunCommand, ReadsNothingOfOurInput) {
    std::array<int, 2> input{};
    ASSERT_EQ(pipe(input.data()), 0);
    ASSERT_EQ(write(input[1], "ours\n", 5), 5);
    close(input[1]);
    const int before = dup(STDIN_FILENO);
    ASSERT_EQ(dup2(input[0], STDIN_FILENO), STDIN_FILENO);
    EXPECT_EQ(output_of("cat; echo done"), "done\n");
    dup2(before, STDIN_FILENO);
    close(before);
    close(input[0]);
}

TEST(RunCommand, HasNoneOfOurFiles) {
    constexpr int ours = 77;
    ASSERT_EQ(dup2(STDERR_FILENO, ours), ours);
    EXPECT_EQ(output_of("test -e /proc/self/fd/77 || echo closed"), "closed\n");
    close(ours);
}

// slurmstepd acts for the user and can become root again; what it runs cannot.
TEST(RunCommand, HasTheEffectiveUsersRightsAlone) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can act for another user";
    constexpr uid_t nobody = 65534;
    ASSERT_EQ(setegid(nobody), 0);
    ASSERT_EQ(seteuid(nobody), 0);
    const auto rights =
        run_command({"/bin/grep", "-E", "^(Uid|Gid|CapPrm):", "/proc/self/status"}, ample);
    ASSERT_EQ(seteuid(0), 0);
    ASSERT_EQ(setegid(0), 0);
    ASSERT_TRUE(rights) << rights.error().message();
    EXPECT_EQ(*rights,
              "Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n"
              "CapPrm:\t0000000000000000\n");
}

TEST(RunCommand, OutputMayBeLongButNotEndless) {
    constexpr std::size_t most = std::size_t{16} << 20U;
    EXPECT_EQ(output_of("head -c 16777216 /dev/zero").size(), most);
    EXPECT_EQ(problem_of("head -c 16777217 /dev/zero"), "printed more than 16 MiB");
    const auto begin = Clock::now();
    EXPECT_EQ(problem_of("exec cat /dev/zero", 2s), "printed more than 16 MiB");
    EXPECT_EQ(problem_of("exec cat /dev/zero >&2", 2s), "printed more than 16 MiB");
    EXPECT_LT(Clock::now() - begin, 2s);
}

// While it lives, orphaned descendants become this process's children.
class Orphans {
  public:
    Orphans() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
    ~Orphans() { prctl(PR_SET_CHILD_SUBREAPER, 0); }

    // Whether all of them have ended; a kill takes a moment.
    static bool ended() {
        const auto end = Clock::now() + 2s;
        while (Clock::now() < end) {
            const pid_t child = waitpid(-1, nullptr, WNOHANG);
            if (child < 0) return errno == ECHILD;
            if (child == 0) usleep(1000);
        }
        return false;
    }
};

bool no_child_left() {
    return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST(RunCommand, WhatTakesTooLongIsKilledWithItsChildren) {
    const char* const rows[] = {
        "sleep 30 & sleep 30",
        "sleep 30 & echo finished",            // a child holds the stream
        "trap '' TERM INT HUP; sleep 30",      // only SIGKILL helps
        "exec >&- 2>&-; sleep 30 & sleep 30",  // closed its streams, and stays
    };
    for (const char* script : rows) {
        const Orphans orphans;
        const auto begin = Clock::now();
        EXPECT_EQ(problem_of(script, brief), "no answer within 200 ms") << script;
        EXPECT_LT(Clock::now() - begin, 2s) << script;
        EXPECT_TRUE(Orphans::ended()) << script;
    }
}

TEST(RunCommand, WhatAProgramLeavesBehindIsKilled) {
    const Orphans orphans;
    EXPECT_EQ(output_of("sleep 30 >/dev/null 2>&1 & echo finished"), "finished\n");
    EXPECT_TRUE(Orphans::ended());
}

// Its number may be that of a stranger's group once the child is reaped.
TEST(RunCommand, KillsTheGroupBeforeItReapsTheChild) {
    group_kills = {};
    for (const std::string_view script : {"true", "exit 1", "sleep 30"}) {
        const auto limit = script == "sleep 30" ? brief : ample;
        EXPECT_EQ(run_shell(script.data(), limit).has_value(), script == "true");
        EXPECT_TRUE(no_child_left()) << script;
    }
    EXPECT_FALSE(run_command({"/missing"}, ample));
    EXPECT_TRUE(no_child_left());
    EXPECT_EQ(group_kills.known, 4);
    EXPECT_EQ(group_kills.unknown, 0);
}

// ---- Calls in child processes.

// Whether all children end and are reaped, without another signal; a busy machine takes a while.
bool end_all_children() {
    constexpr int max_rounds = 5000;
    for (int round = 0; round < max_rounds; ++round) {
        if (waitpid(-1, nullptr, WNOHANG) < 0) return true;
        usleep(1000);
    }
    return false;
}

TEST(OutputsOfChildren, AreWhatTheCallsReturn) {
    const std::string large(1 << 20, 'x');  // more than a pipe holds
    const std::vector<ChildCall> calls{[] { return "one\n"; }, [&] { return large; },
                                       [] { return ""; }, []() -> std::string { _exit(3); },
                                       []() -> std::string { abort(); }};
    const auto outputs = outputs_of_children(calls, Clock::now() + ample);
    ASSERT_EQ(outputs.size(), 5U);
    EXPECT_EQ(outputs[0], "one\n");
    EXPECT_EQ(outputs[1], large);
    EXPECT_EQ(outputs[2], "");
    EXPECT_EQ(outputs[3], std::nullopt);
    EXPECT_EQ(outputs[4], std::nullopt);
    EXPECT_TRUE(end_all_children());
}

TEST(OutputsOfChildren, OneThatDoesNotReturnIsKilledAtTheDeadlineOfAll) {
    const ChildCall endless = [] {
        while (true) pause();
        return "";
    };
    const auto begin = Clock::now();
    const std::vector<ChildCall> calls{endless, endless, [] { return "quick"; }, endless};
    const auto outputs = outputs_of_children(calls, begin + brief);
    EXPECT_GE(Clock::now() - begin, brief);
    EXPECT_LT(Clock::now() - begin, 10 * brief);
    EXPECT_EQ(outputs, (std::vector<std::optional<std::string>>{std::nullopt, std::nullopt, "quick",
                                                                std::nullopt}));
    EXPECT_TRUE(end_all_children());
}

// A child that is left behind would keep srun waiting for the end of the output.
TEST(OutputOfChild, HasNoneOfOurOpenFiles) {
    std::array<int, 2> ours{};
    ASSERT_EQ(pipe(ours.data()), 0);
    const auto output = output_of_child(
        [&] {
            const bool has_some = fcntl(ours[0], F_GETFD) >= 0 || fcntl(ours[1], F_GETFD) >= 0 ||
                                  fcntl(STDOUT_FILENO, F_GETFD) >= 0;
            return has_some ? "some" : "none";
        },
        Clock::now() + ample);
    for (const int end : ours) close(end);
    EXPECT_EQ(output, "none");
}

// ---- Programs in folders.

std::string found(const std::string& path, std::string_view name) {
    return find_programs(path, {&name, 1}).front();
}

TEST(FindPrograms, TakesTheFirstOfThePath) {
    const MadeUpFolder folder;
    for (const char* const file : {"a/one", "b/one", "b/two", "b/sh", "b/folder/x"}) {
        folder.write_program(file, "#!/bin/sh\n");
    }
    folder.write("a/two", "no program");
    const std::string a = folder.path("a");
    const std::string b = folder.path("b");
    EXPECT_EQ(found(a + ":" + b, "one"), a + "/one");
    EXPECT_EQ(found("/none:" + b + "::" + a, "one"), b + "/one");
    EXPECT_EQ(found(a + ":" + b, "two"), b + "/two");
    EXPECT_EQ(found(b, "folder"), "");
    EXPECT_EQ(found(a, "three"), "");
    EXPECT_EQ(found("", "one"), "");
    // A relative folder is another one for each process.
    EXPECT_EQ(found(std::filesystem::relative(a).string() + ":.", "one"), "");
    // Also of the system's folders the first counts.
    EXPECT_EQ(found("/bin:" + b, "sh"), "/bin/sh");
    EXPECT_EQ(found(b + ":/bin", "sh"), b + "/sh");
    const std::vector<std::string_view> names{"two", "none", "sh", "one"};
    EXPECT_EQ(find_programs(a + ":/bin:" + b, names),
              (std::vector<std::string>{b + "/two", "", "/bin/sh", a + "/one"}));
}

TEST(FindPrograms, PassesOverAFolderWhoseFileServerIsDead) {
    const MadeUpFolder folder;
    const std::string program = folder.write_program("alive", "#!/bin/sh\n");
    bool skipped = false;
    EXPECT_TRUE(with_dead_folder(
        [&](const std::string& dead) {
            const auto begin = Clock::now();
            const bool is_found =
                found(dead + ":" + dead + "/bin:" + folder.path(), "alive") == program;
            const bool is_in_time = Clock::now() - begin < 5s;
            // Without a search where a folder of the system's has it.
            const auto again = Clock::now();
            const bool has_shell = found("/bin:" + dead, "sh") == "/bin/sh";
            return is_found && is_in_time && has_shell && Clock::now() - again < 500ms;
        },
        skipped));
    if (skipped) GTEST_SKIP() << "only root can mount a file system";
}

TEST(EndingText, NamesStatusOrSignal) {
    EXPECT_EQ(ending_text(3 << 8), "ended with status 3");
    EXPECT_EQ(ending_text(SIGKILL), "was killed by signal 9 (SIGKILL)");
    EXPECT_EQ(ending_text(SIGUSR1), "was killed by signal 10");
    constexpr int dumped_core = 0x80;
    EXPECT_EQ(ending_text(SIGSEGV | dumped_core), "was killed by signal 11 (SIGSEGV)");
}

}  // namespace
}  // namespace distgpu

// Programs that slurmstepd must survive: what comes of their output, and that nothing of them
// stays.
#include "base/io/programs.h"

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

}  // namespace
}  // namespace distgpu

// What /proc tells of a process.
#include "inspect/process_facts.h"

#include "child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

using testing::Contains;
using testing::EndsWith;

// A line of Linux 6.1, of which a hundred ticks are a second: 250 of the user's, 50 of the
// system's.
std::string stat_line(const std::string& name) {
    return "5846 (" + name +
           ") S 2000 5846 5846 34816 5846 4194304 1200 33 4 5 250 50 7 8 20 0 3 0 123456 9375744 "
           "1101 18446744073709551615 94 94 140 0 0 0 0 3670020 1266777851 1 0 0 17 1 0 0 0 0 0 94 "
           "94 94 140 140 140 140 0\n";
}

TEST(ParseStat, TellsWhatProc5Says) {
    const auto stat = parse_stat(stat_line("python3"));
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->name, "python3");
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->parent, 2000);
    EXPECT_DOUBLE_EQ(stat->cpu, 300.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
    EXPECT_EQ(stat->begin, 123'456U);
}

TEST(ParseStat, TellsHowAProcessEnded) {
    std::string line = stat_line("python3");
    EXPECT_EQ(parse_stat(line)->exit_code, std::nullopt);  // it has not
    line.replace(line.find(") S "), 4, ") Z ");
    EXPECT_EQ(parse_stat(line)->exit_code, 0);
    line.replace(line.rfind(" 0\n"), 3, " 9\n");
    EXPECT_EQ(parse_stat(line)->exit_code, 9);
    // An older kernel tells less.
    line.resize(line.find(" 9375744"));
    EXPECT_EQ(parse_stat(line)->exit_code, std::nullopt);
}

TEST(ParseStat, TakesAnyName) {
    for (const std::string name : {"", "my prog", "(odd)", ") R 1 (", "a\nb", "))))"}) {
        const auto stat = parse_stat(stat_line(name));
        ASSERT_TRUE(stat) << name;
        EXPECT_EQ(stat->name, name);
        EXPECT_EQ(stat->parent, 2000);
    }
}

TEST(ParseStat, IsNothingOfOtherText) {
    for (const std::string text : {"", "5846", "5846 (python3", "5846 python3) S 1", ")(", "1 (a)",
                                   "1 (a) S 1", "1 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                                   "1 (a) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x"}) {
        EXPECT_FALSE(parse_stat(text)) << text;
    }
}

TEST(StartEnvironment, HasAllVariablesOnce) {
    const EnvironmentCopy all = StartEnvironment(getpid()).variables();
    EXPECT_EQ(all.get("PATH"), StartEnvironment(getpid()).get("PATH"));
    EXPECT_FALSE(all.variables().empty());
    EXPECT_TRUE(StartEnvironment(-1).variables().variables().empty());
}

TEST(ProcessFacts, OfThisProcess) {
    const auto stat = read_stat(getpid());
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->parent, getppid());
    EXPECT_GT(stat->begin, 0U);
    EXPECT_THAT(read_program(getpid()), EndsWith("/unit_tests"));
    EXPECT_THAT(list_processes(), Contains(getpid()));
    EXPECT_TRUE(StartEnvironment(getpid()).is_readable());
    EXPECT_EQ(read_owner(getpid()), geteuid());
    EXPECT_EQ(read_own_program(getpid()), read_program(getpid()));
}

pid_t ended_process() {
    const ChildProcess child([] { return true; });
    return child.pid();
}

TEST(ProcessFacts, OfOneThatIsGone) {
    const pid_t gone = ended_process();
    EXPECT_FALSE(read_stat(gone));
    EXPECT_EQ(read_switches(gone), 0U);
    EXPECT_EQ(read_wait_channel(gone) + read_command(gone) + read_program(gone), "");
    EXPECT_FALSE(StartEnvironment(gone).is_readable());
    EXPECT_EQ(read_owner(gone), std::nullopt);
    EXPECT_EQ(read_own_program(gone), "");
    EXPECT_EQ(StartEnvironment(gone).get("RANK"), std::nullopt);
}

// A child that this process looks at while it stands in a world of its own.
std::string program_seen_of(const std::function<bool()>& leaves) {
    std::array<int, 2> left{-1, -1};
    EXPECT_EQ(pipe(left.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        const char answer = leaves() ? 'y' : 'n';
        if (write(left[1], &answer, 1) == 1) pause();
        _exit(0);
    }
    char answer = '?';
    EXPECT_EQ(read(left[0], &answer, 1), 1);
    const std::string program = read_own_program(child);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const int end : left) close(end);
    return answer == 'y' ? program : "not permitted";
}

TEST(OwnProgram, IsNotThatOfAProcessInAnotherWorld) {
    using testing::AnyOf;
    EXPECT_EQ(program_seen_of([] { return true; }), read_program(getpid()));
    const auto is_empty = AnyOf("", "not permitted");
    EXPECT_THAT(program_seen_of([] { return unshare(CLONE_NEWUSER) == 0; }), is_empty);
    EXPECT_THAT(program_seen_of([] { return unshare(CLONE_NEWNS) == 0; }), is_empty);
    EXPECT_THAT(program_seen_of([] { return chroot("/tmp") == 0; }), is_empty);
    EXPECT_THAT(program_seen_of([] { return setuid(12'345) == 0; }), is_empty);
}

// Another program, which sleeps.
class Sleeper {
  public:
    Sleeper() {
        std::string name = "sleep";
        std::string seconds = "60";
        std::string rank = "RANK=3";
        std::string empty = "EMPTY=";
        std::string decoy = "MY_RANK=4";
        const std::array<char*, 3> words{name.data(), seconds.data(), nullptr};
        const std::array<char*, 4> variables{decoy.data(), rank.data(), empty.data(), nullptr};
        EXPECT_EQ(
            posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, words.data(), variables.data()), 0);
        // The kernel lets this process go on a little before it has laid out the other's words.
        for (int turn = 0; turn < 1000 && read_command(pid_).empty(); ++turn) usleep(1000);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    Sleeper(Sleeper&&) = delete;
    Sleeper& operator=(Sleeper&&) = delete;
    ~Sleeper() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
};

TEST(ReadWork, GrowsOnlyOfOneThatDoesSomething) {
    const Sleeper sleeper;
    while (read_wait_channel(sleeper.pid()).empty() && read_stat(sleeper.pid())->state != 'S') {
        usleep(1000);
    }
    const Work before = read_work(sleeper.pid());
    EXPECT_GT(before.switches, 0U);
    usleep(50'000);
    EXPECT_EQ(read_work(sleeper.pid()), before);
    const Work own = read_work(getpid());
    usleep(1000);
    EXPECT_GT(read_work(getpid()).main_switches, own.main_switches);
    EXPECT_EQ(read_work(ended_process()), Work{});
}

TEST(ReadWork, CountsTheCpuOfChildrenThatEnded) {
    const std::uint64_t before = read_work(getpid()).reaped_ticks;
    const pid_t child = fork();
    if (child == 0) {
        const clock_t end = clock() + CLOCKS_PER_SEC / 10;
        while (clock() < end) {
        }
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_GE(read_work(getpid()).reaped_ticks, before + 5);
}

TEST(ProcessFacts, OfAnotherProgram) {
    const Sleeper sleeper;
    EXPECT_EQ(read_command(sleeper.pid()), "sleep 60");
    EXPECT_EQ(read_stat(sleeper.pid())->name, "sleep");
    const StartEnvironment environment(sleeper.pid());
    EXPECT_EQ(environment.get("RANK"), "3");
    EXPECT_EQ(environment.get("EMPTY"), "");
    EXPECT_EQ(environment.get("RAN"), std::nullopt);
    EXPECT_EQ(environment.get("WORLD_SIZE"), std::nullopt);
}

TEST(ProcessFacts, TellOneThatIsStopped) {
    const Sleeper sleeper;
    kill(sleeper.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(sleeper.pid(), &status, WUNTRACED), sleeper.pid());
    EXPECT_EQ(read_stat(sleeper.pid())->state, 'T');
}

}  // namespace
}  // namespace distgpu

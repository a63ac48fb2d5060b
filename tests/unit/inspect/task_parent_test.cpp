// The test is slurmstepd: its child is the parent of a task's program.
#include "inspect/task_parent.h"

#include "base/io/descriptor.h"
#include "base/io/signal_block.h"
#include "inspect/signal_ranks.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace distgpu {
namespace {

int said = -1;  // where a process of the task writes

void say(char letter) {
    if (write(said, &letter, 1) != 1) _exit(EXIT_FAILURE);
}

// A process that ends soon after the test.
pid_t start(const std::function<void()>& what) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    alarm(20);
    what();
    _exit(EXIT_SUCCESS);
}

// Runs until a signal ends it; says which ones it catches.
void be_rank() {
    prctl(PR_SET_NAME, "rank");
    static_cast<void>(signal(SIGUSR2, [](int) { say('u'); }));
    say('r');
    while (true) pause();
}

class TaskParentTest : public testing::Test {
  protected:
    TaskParentTest() { said = output_.write.fd(); }

    pid_t start_task(const std::function<void()>& program) {
        return start([&] {
            std::optional<SignalBlock> block(std::in_place);
            const pid_t child = start([&] {
                block.reset();
                program();
            });
            be_task_parent(child, 0);
        });
    }

    char heard() const {
        std::array<pollfd, 1> entry{pollfd{output_.read.fd(), POLLIN, 0}};
        char letter = '-';
        if (poll_until(entry, Clock::now() + std::chrono::seconds(2)) == 1) {
            return read(output_.read.fd(), &letter, 1) == 1 ? letter : '-';
        }
        return letter;
    }

    static int end_of(pid_t task) {
        int status = 0;
        EXPECT_EQ(waitpid(task, &status, 0), task);
        return status;
    }

  private:
    Pipe output_ = make_pipe();
};

TEST_F(TaskParentTest, EndsAsItsProgram) {
    EXPECT_EQ(WEXITSTATUS(end_of(start_task([] { _exit(7); }))), 7);
    for (const int number : {SIGKILL, SIGQUIT, SIGTERM, SIGUSR2}) {
        const int status = end_of(start_task([number] {
            // A command in a shell script's background ignores SIGQUIT, and so do its children.
            static_cast<void>(signal(number, SIG_DFL));
            raise(number);
        }));
        EXPECT_TRUE(WIFSIGNALED(status)) << "wait status " << status;
        EXPECT_EQ(WTERMSIG(status), number);
    }
}

// slurmstepd would wait a second for it.
TEST_F(TaskParentTest, LeavesNoProcessBehind) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    end_of(start_task([] { _exit(7); }));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(TaskParentTest, ReapsAProgramThatHasEndedBeforeItLooks) {
    const pid_t task = start([] {
        const pid_t program = start([] { _exit(7); });
        constexpr useconds_t pause = 100'000;
        usleep(pause);
        be_task_parent(program, 0);
    });
    EXPECT_EQ(WEXITSTATUS(end_of(task)), 7);
}

// The shell has no handler, and would end.
void be_shell_above_rank() {
    prctl(PR_SET_NAME, "sh");
    const pid_t rank = start(be_rank);
    int status = 0;
    waitpid(rank, &status, 0);
}

TEST_F(TaskParentTest, PassesASignalToTheRankThatCatchesItOnce) {
    const pid_t task = start_task(be_shell_above_rank);
    ASSERT_EQ(heard(), 'r');
    kill(task, SIGUSR2);
    EXPECT_EQ(heard(), 'u');
    EXPECT_EQ(heard(), '-');
    // Nothing handles this one.
    kill(task, SIGTERM);
    EXPECT_EQ(WTERMSIG(end_of(task)), SIGTERM);
}

TEST_F(TaskParentTest, LeavesAloneWhatItsOwnParentDidNotSend) {
    const pid_t task = start_task(be_shell_above_rank);
    ASSERT_EQ(heard(), 'r');
    const pid_t stranger = start([task] { kill(task, SIGUSR2); });
    end_of(stranger);
    EXPECT_EQ(heard(), '-');
    kill(task, SIGTERM);
    end_of(task);
}

// As where Slurm signals every process: the shell ends at once.
TEST_F(TaskParentTest, WaitsForTheRankThatHandlesWhatEndedItsShell) {
    const pid_t task = start_task([] {
        prctl(PR_SET_NAME, "sh");
        start(be_rank);
        pause();
    });
    ASSERT_EQ(heard(), 'r');
    const pid_t first = sample_processes("", {{task, 0}}, "").processes.front().pid;
    kill(task, SIGUSR2);
    kill(first, SIGUSR2);
    EXPECT_EQ(heard(), 'u');
    EXPECT_EQ(waitpid(task, nullptr, WNOHANG), 0);
    const auto rank = sample_processes("", {{task, 0}}, "").processes;
    ASSERT_EQ(rank.size(), 1U);
    kill(rank.front().pid, SIGKILL);
    EXPECT_EQ(WTERMSIG(end_of(task)), SIGUSR2);
}

}  // namespace
}  // namespace distgpu

// In processes of their own, as a hard limit stays low.
#include "bootstrap/channel.h"
#include "made_up_channels.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

void limit(rlim_t soft, rlim_t hard) {
    const rlimit limits{soft, hard};
    if (setrlimit(RLIMIT_NOFILE, &limits) != 0) std::exit(99);
}

[[noreturn]] void say_and_exit(const std::string& text) {
    static_cast<void>(std::fprintf(stderr, "%s\n", text.c_str()));
    std::exit(0);
}

const testing::ExitedWithCode done(0);

// 64 ranks and 256 files of other kinds are 320.
TEST(OpenFiles, TheirLackIsToldWithTheNumber) {
    const auto ask = [](rlim_t allowed) {
        limit(allowed, allowed);
        const auto lack = lack_of_open_files(64);
        say_and_exit(lack ? lack->message() : "enough");
    };
    EXPECT_EXIT(ask(320), done, "enough");
    EXPECT_EXIT(ask(319), done,
                "distgpu: open files: rank 0 needs 320 for 64 ranks, and may have 319; raise the "
                "hard limit on its node, ulimit -Hn");
}

class FewFiles : public Channels {
  protected:
    [[noreturn]] static void open_as(const Membership& rank, const ChannelOptions& options) {
        const auto channel = open_channel(rank, options);
        say_and_exit(channel ? "connected" : channel.error().failure.problem);
    }
};

// The soft limit is raised to the hard one first.
TEST_F(FewFiles, Rank0SaysSoBeforeItWaits) {
    timeout = 60s;
    const auto open = [this] {
        limit(100, 200);
        open_as(membership(0), options(0));
    };
    EXPECT_EXIT(open(), done, "open files: rank 0 needs 259 for 3 ranks, and may have 200");
}

// What is open already leaves room for the listener alone: a rank that connects is not missing.
TEST_F(FewFiles, AConnectionThatCannotBeTakenIsTold) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizers open a pipe where they look at an object's type";
#endif
    timeout = 60s;
    const auto open = [this] {
        limit(300, 300);
        if (fork() == 0) {
            // Rank 0 may leave before it knows that it is connected, and it would try for ever.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const auto connection = mute_rank(1);
            static_cast<void>(receive_line(connection, 100, Clock::now() + 10s));  // it leaves
            _exit(0);
        }
        const auto rank_0 = membership(0);
        const auto its_options = options(0);
        int last = -1;
        for (int fd = dup(1); fd >= 0; fd = dup(1)) last = fd;
        close(last);
        open_as(rank_0, its_options);
    };
    EXPECT_EXIT(open(), done, "connection of a rank: Too many open files");
}

}  // namespace
}  // namespace distgpu::scaling

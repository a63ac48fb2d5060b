// The tests run in separate processes, because a hard limit cannot be raised again.
#include "bootstrap/channel.h"
#include "loopback_channels.h"

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

[[noreturn]] void print_and_exit(const std::string& text) {
    static_cast<void>(std::fprintf(stderr, "%s\n", text.c_str()));
    std::exit(0);
}

const testing::ExitedWithCode done(0);

// 64 ranks and 256 other files are 320.
TEST(OpenFiles, TooLowALimitIsReportedWithTheNumber) {
    const auto check = [](rlim_t allowed) {
        limit(allowed, allowed);
        const auto error = check_open_file_limit(64);
        print_and_exit(error ? error->message() : "enough");
    };
    EXPECT_EXIT(check(320), done, "enough");
    EXPECT_EXIT(check(319), done,
                "distgpu: open files: rank 0 needs 320 for 64 ranks, but its limit is 319; raise "
                "the hard limit on its node \\(ulimit -Hn\\)");
}

class FewFiles : public Channels {
  protected:
    [[noreturn]] static void open_as(const Membership& rank, const ChannelOptions& options) {
        const auto channel = open_channel(rank, options);
        print_and_exit(channel ? "connected" : channel.error().failure.problem);
    }
};

// The soft limit is raised to the hard one first.
TEST_F(FewFiles, Rank0ReportsItBeforeItWaits) {
    timeout = 60s;
    const auto open = [this] {
        limit(100, 200);
        open_as(membership(0), options(0));
    };
    EXPECT_EXIT(open(), done, "open files: rank 0 needs 259 for 3 ranks, but its limit is 200");
}

// The limit leaves room only for the listener. The error must not be that the rank is missing.
TEST_F(FewFiles, AConnectionThatCannotBeAcceptedIsReported) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizers open a pipe where they look at an object's type";
#endif
    timeout = 60s;
    const auto open = [this] {
        limit(300, 300);
        if (fork() == 0) {
            // Rank 0 may end before this process knows that it is connected; it would retry
            // forever.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const auto connection = silent_rank(1);
            static_cast<void>(receive_line(connection, 100, Clock::now() + 10s));  // rank 0 ends
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

// What /proc and /sys tell of a process and of a node's traffic.
#include "inspect/process_facts.h"

#include "child_process.h"
#include "inspect/sleeper.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <sched.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// A line of Linux 6.1, of which a hundred ticks are a second: 250 of the user's, 50 of the
// system's.
std::string stat_line(const std::string& name) {
    return "5846 (" + name +
           ") S 2000 5846 5846 34816 5846 4194304 1200 33 4 5 250 50 7 8 20 0 3 0 123456 9375744 "
           "1101 18446744073709551615 94 94 140 0 0 0 0 3670020 1266777851 1 0 0 17 1 0 0 0 0 0 94 "
           "94 94 140 140 140 140 0\n";
}

TEST(ParseStat, TellsWhatProc5Says) {
    for (const std::string name : {"python3", "", "my prog", "(odd)", ") R 1 (", "a\nb", "))))"}) {
        const auto stat = parse_stat(stat_line(name));
        ASSERT_TRUE(stat) << name;
        EXPECT_EQ(stat->name, name);
        EXPECT_EQ(std::tuple(stat->state, stat->parent, stat->ticks, stat->reaped_ticks,
                             stat->begin, stat->exit_code),
                  std::tuple('S', 2000, 300U, 15U, 123'456U, std::nullopt));
    }
    for (const std::string text : {"", "5846", "5846 (python3", "5846 python3) S 1", ")(", "1 (a)",
                                   "1 (a) S 1", "1 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                                   "1 (a) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x"}) {
        EXPECT_FALSE(parse_stat(text)) << text;
    }
    std::string ended = stat_line("python3");
    ended.replace(ended.find(") S "), 4, ") Z ");
    EXPECT_EQ(parse_stat(ended)->exit_code, 0);
    ended.replace(ended.rfind(" 0\n"), 3, " 9\n");
    EXPECT_EQ(parse_stat(ended)->exit_code, 9);
    // An older kernel tells less.
    ended.resize(ended.find(" 9375744"));
    EXPECT_EQ(parse_stat(ended)->exit_code, std::nullopt);
}

TEST(ProcessFacts, OfThisProcess) {
    const auto stat = read_stat(getpid());
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->parent, getppid());
    EXPECT_GT(stat->begin, 0U);
    EXPECT_THAT(read_program(getpid()), EndsWith("/unit_tests"));
    EXPECT_FALSE(read_environment(getpid())->variables().empty());
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
    EXPECT_FALSE(read_environment(gone));
    EXPECT_EQ(read_owner(gone), std::nullopt);
    EXPECT_EQ(read_own_program(gone), "");
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

pid_t fork_child(const std::function<void()>& run) {
    const pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    return child;
}

// Of a process and those below it.
Work work_of(pid_t pid) {
    const ProcessTree tree = read_process_tree();
    return read_work(pid, tree.below(pid), tree);
}

TEST(ReadWork, GrowsOnlyOfOneThatDoesSomething) {
    const Sleeper sleeper({});
    while (read_wait_channel(sleeper.pid()).empty() && read_stat(sleeper.pid())->state != 'S') {
        usleep(1000);
    }
    const Work before = work_of(sleeper.pid());
    EXPECT_GT(before.main_switches, 0U);
    EXPECT_GT(before.file_bytes, 0U);  // its program
    usleep(50'000);
    EXPECT_EQ(work_of(sleeper.pid()), before);
    const Work own = work_of(getpid());
    usleep(1000);
    EXPECT_GT(work_of(getpid()).main_switches, own.main_switches);
    EXPECT_EQ(work_of(ended_process()), Work{});
}

void use_cpu(double seconds) {
    const clock_t end = clock() + static_cast<clock_t>(seconds * CLOCKS_PER_SEC);
    while (clock() < end) {
    }
}

// Of children that have ended and of those that still run, at any depth.
TEST(ReadWork, HasWhatTheProcessesBelowDid) {
    const Work before = work_of(getpid());
    waitpid(fork_child([] { use_cpu(0.1); }), nullptr, 0);
    EXPECT_GE(work_of(getpid()).child_ticks, before.child_ticks + 5);
    std::array<int, 2> done{-1, -1};
    ASSERT_EQ(pipe(done.data()), 0);
    const pid_t child = fork_child([&] {
        fork_child([&] {
            use_cpu(0.1);
            const std::string zeros(1 << 20, 'x');
            std::ofstream("/dev/null") << zeros << std::flush;
            EXPECT_EQ(write(done[1], "d", 1), 1);
            pause();
        });
        pause();
    });
    char answer = '?';
    ASSERT_EQ(read(done[0], &answer, 1), 1);
    const ProcessTree tree = read_process_tree();
    const std::vector<pid_t> below = tree.below(child);
    ASSERT_EQ(below.size(), 1U);
    const Work both = work_of(child);
    EXPECT_LT(both.ticks, 5U);
    EXPECT_GE(both.child_ticks, 5U);
    EXPECT_GE(both.file_bytes, 1U << 20);
    EXPECT_THAT(tree.below(getpid()), UnorderedElementsAre(child, below[0]));
    EXPECT_TRUE(tree.is_running(getpid()));
    EXPECT_FALSE(tree.is_running(child));
    EXPECT_FALSE(tree.is_running(ended_process()));
    for (const pid_t pid : {below[0], child}) kill(pid, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const int end : done) close(end);
}

TEST(ProcessTree, LeavesProcessesOut) {
    const Sleeper sleeper({});
    const pid_t own = getpid();
    const ProcessTree tree = read_process_tree(std::span(&own, 1));
    EXPECT_FALSE(tree.stats.contains(own));
    EXPECT_TRUE(tree.stats.contains(sleeper.pid()));
    EXPECT_THAT(tree.below(own), UnorderedElementsAre(sleeper.pid()));
}

// Pids that were read at different times.
TEST(ProcessTree, HasEachProcessOnceBelowAnother) {
    ProcessTree tree;
    for (const auto& [parent, child] : {std::pair{7, 8}, {8, 9}, {9, 8}, {7, 3}}) {
        tree.children.emplace(parent, child);
    }
    EXPECT_THAT(tree.below(7), ElementsAre(3, 8, 9));
    EXPECT_THAT(tree.below(3), IsEmpty());
}

TEST(ProcessFacts, TellInWhichCallAProcessSleeps) {
    const Sleeper sleeper({});
    while (read_stat(sleeper.pid())->state != 'S') usleep(1000);
    const std::string call = read_system_call(sleeper.pid());
    // Empty where this process may not trace it.
    EXPECT_THAT(call, AnyOf("clock_nanosleep", "nanosleep", ""));
    EXPECT_THAT(read_wait_channel(sleeper.pid()), AnyOf(HasSubstr("nanosleep"), ""));
    EXPECT_EQ(read_system_call(ended_process()), "");
}

TEST(ProcessFacts, TellWhichThreadsSleepForATime) {
    if (const Sleeper sleeper({}); sleeping_threads(sleeper.pid()).empty()) {
        GTEST_SKIP() << "the kernel hides it";
    }
    std::promise<void> end;
    const std::shared_future<void> ended = end.get_future().share();
    const auto until_ended = [&](const std::function<void()>& wait) {
        const auto number = std::make_shared<std::promise<pid_t>>();
        std::thread([=] {
            // glibc 2.28 has no gettid().
            number->set_value(static_cast<pid_t>(syscall(SYS_gettid)));
            while (ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready) wait();
        }).detach();
        return number->get_future().get();
    };
    const pid_t sleeps = until_ended([] { usleep(500'000); });
    const pid_t selects = until_ended([] {
        timeval time{0, 500'000};
        select(0, nullptr, nullptr, nullptr, &time);
    });
    until_ended([ended] { ended.wait(); });
    std::set<pid_t> found;
    for (int i = 0; i < 1000 && found.size() < 2; ++i) {
        usleep(1000);
        found = sleeping_threads(getpid());
    }
    end.set_value();
    EXPECT_THAT(found, UnorderedElementsAre(sleeps, selects));
    EXPECT_THAT(sleeping_threads(ended_process()), IsEmpty());
}

// A library that is mapped counts, whatever else the process does.
TEST(Chatter, IsOfTheLibrariesThatAProcessHas) {
    EXPECT_EQ(chatter_of(getpid()), 0U);
    EXPECT_EQ(chatter_of(ended_process()), 0U);
    const MadeUpFolder folder;
    for (const auto& [file, bytes] :
         {std::pair{"libnccl.so.2", std::uint64_t{2048}}, {"horovod/mpi_lib.so", 1U << 20}}) {
        folder.write(file, "library");
        const int library = open(folder.path(file).c_str(), O_RDONLY);
        void* const memory = mmap(nullptr, 7, PROT_READ, MAP_PRIVATE, library, 0);
        close(library);
        EXPECT_EQ(chatter_of(getpid()), bytes) << file;
        munmap(memory, 7);
    }
}

TEST(ProcessFacts, OfAnotherProgram) {
    const Sleeper sleeper({"MY_RANK=4", "RANK=3", "EMPTY="});
    EXPECT_EQ(read_command(sleeper.pid()), "sleep 60");
    EXPECT_EQ(read_stat(sleeper.pid())->name, "sleep");
    const EnvironmentCopy environment = *read_environment(sleeper.pid());
    EXPECT_THAT(environment.variables(),
                ElementsAre(Pair("EMPTY", ""), Pair("MY_RANK", "4"), Pair("RANK", "3")));
    kill(sleeper.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(sleeper.pid(), &status, WUNTRACED), sleeper.pid());
    EXPECT_EQ(read_stat(sleeper.pid())->state, 'T');
}

// As Linux 6.1 prints it.
TEST(Traffic, InterfacesCountButTheLoopback) {
    const std::string text =
        R"(Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 5000000   10    0    0    0     0          0         0  5000000   10    0    0    0     0       0          0
  eth0:    1000   10    0    0    0     0          0         0      200   10    0    0    0     0       0          0
ibp1s0:18446744073709551615 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
)";
    EXPECT_EQ(parse_net_dev(text), 1200U);  // what is counted modulo 2^64 goes round
    EXPECT_EQ(parse_net_dev(""), 0U);
    EXPECT_EQ(parse_net_dev("eth0: 7"), 7U);
}

TEST(Traffic, AProcessCountsWhatItReadsAndWrites) {
    EXPECT_EQ(parse_process_io("rchar: 30\nwchar: 12\nsyscr: 900\nread_bytes: 4000\n"
                               "write_bytes: 500\ncancelled_write_bytes: 70000\n"),
              4542U);
    EXPECT_EQ(parse_process_io(""), 0U);
    const Traffic traffic = read_traffic({{.pid = getpid()}});
    std::ofstream("/dev/null") << std::string(1 << 20, 'x') << std::flush;
    EXPECT_GE(bytes_since(traffic), 1U << 20);
}

TEST(Traffic, PortsCountWordsAndEfaBytes) {
    const MadeUpFolder folder;
    folder.write("mlx5_0/ports/1/counters/port_rcv_data", "100\n");
    folder.write("mlx5_0/ports/1/counters/port_xmit_data", "20\n");
    folder.write("mlx5_1/ports/2/counters/port_rcv_data", "3\n");
    folder.write("efa_0/ports/1/hw_counters/rx_bytes", "5000\n");
    folder.write("efa_0/ports/1/hw_counters/tx_bytes", "600\n");
    EXPECT_EQ(read_port_bytes(folder.path()), 4U * 123 + 5600);
    EXPECT_EQ(read_port_bytes("/nowhere"), 0U);
}

TEST(Traffic, SomeBytesProveNoWork) {
    EXPECT_FALSE(exceeds_background_traffic(0, 0, 0));
    EXPECT_FALSE(exceeds_background_traffic(10 * 65'536, 10, 0));
    EXPECT_TRUE(exceeds_background_traffic(10 * 65'536 + 1, 10, 0));
    EXPECT_FALSE(exceeds_background_traffic(10 * (65'536 + 1024 * 1024), 10, 1024));
    EXPECT_TRUE(exceeds_background_traffic(10 * (65'536 + 1024 * 1024) + 1, 10, 1024));
}

}  // namespace
}  // namespace distgpu

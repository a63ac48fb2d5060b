// What /proc and /sys tell of a process, its connections and a node's traffic.
#include "inspect/process_facts.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "child_process.h"
#include "inspect/sleeper.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Pair;

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
    EXPECT_EQ(read_parents().at(getpid()), getppid());
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

TEST(ReadWork, GrowsOnlyOfOneThatDoesSomething) {
    const Sleeper sleeper({});
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

const std::string heading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

// Of /proc/net/tcp and tcp6 on x86-64.
TEST(ParseTcp, TellsPeersAndQueues) {
    EXPECT_THAT(
        parse_tcp(heading +
                  "   0: 0100000A:6020 0200000A:D2F0 01 0000002A:0000001F 00:00000000 00000000  "
                  "1000        0 4711 1 0000000000000000 20 4 30 10 -1\n"
                  "   1: 00000000000000000000000001000000:1F90 "
                  "B80D0120000000000000000001000000:0016 01 00000000:00000000 00:00000000 00000000 "
                  " 1000        0 4712 1 0000000000000000 20 4 30 10 -1\n"),
        ElementsAre(Pair(4711, Connection{"10.0.0.2:54000", 42, 31}),
                    Pair(4712, Connection{"[2001:db8::1]:22", 0, 0})));
}

TEST(ParseTcp, ReadsNothingIntoOtherLines) {
    const auto line = [](const std::string& peer, const char* queues = "0:0",
                         const char* inode = "7", const char* state = "01") {
        return formatted("0: 0100000A:6020 {} {} {} 00:0 0 1000 0 {}\n", peer, state, queues,
                         inode);
    };
    const std::string peer = "0200000A:6020";
    EXPECT_EQ(parse_tcp(line(peer)).size(), 1U);
    std::vector<std::string> lines{"", heading + "\n0: 1\n", line(peer, "0:0", "x"),
                                   line("00000000:0000", "0:0", "7", "0A"),
                                   line(peer, "0:0", "7", "06")};
    for (const char* const other :
         {"0200000A", ":", ":6020", "0200000A:", "0200000:6020", "0200000A0:6020", "0200000X:6020",
          "0200000A:6020:1", "0200000A:10000", "0200000A:-1", "0200000A0200000A:6020"}) {
        lines.push_back(line(other));
    }
    for (const char* const queues : {"0", ":", "0:", ":0", "x:0", "0:11112222333344445"}) {
        lines.push_back(line(peer, queues));
    }
    for (const std::string& text : lines) EXPECT_THAT(parse_tcp(text), IsEmpty()) << text;
}

TEST(OpenConnections, AreThoseOfTheProcess) {
    const auto soon = Clock::now() + std::chrono::seconds(5);
    const Socket listener = *listen_on(0);
    const Socket client = *connect_to("127.0.0.1", port_of(listener), soon);
    std::optional<Socket> server;
    while (!server && Clock::now() < soon) server = accept_from(listener);
    EXPECT_EQ(open_connections(getpid()).size(), 2U);
    ASSERT_TRUE(send_all(client, "ten bytes.", soon));
    const std::string port = std::to_string(port_of(client));
    const auto connections = open_connections(getpid());
    ASSERT_EQ(connections.size(), 2U);
    EXPECT_THAT(connections[0], AnyOf(Connection{"127.0.0.1:" + port, 0, 10},
                                      Connection{"[::ffff:127.0.0.1]:" + port, 0, 10}));
    // The other end, from which nothing came.
    EXPECT_EQ(connections[1].unsent + connections[1].unread, 0U);
    EXPECT_THAT(open_connections(-1), IsEmpty());
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
    EXPECT_EQ(parse_process_io("rchar: 30\nwchar: 12\nsyscr: 900\nread_bytes: 4096\n"), 42U);
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

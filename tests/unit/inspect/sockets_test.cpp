// TCP connections as the kernel tells of them, and which of them are a process's.
#include "inspect/sockets.h"

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "map_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <optional>
#include <string>
#include <unistd.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

template <class Value>
std::string bytes_of(const Value& value, std::size_t size = sizeof(Value)) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes.substr(0, size);
}

std::string attribute(int type, const std::string& value) {
    const nlattr header{static_cast<std::uint16_t>(sizeof header + value.size()),
                        static_cast<std::uint16_t>(type)};
    const std::string padding((4 - value.size() % 4) % 4, '\0');
    return bytes_of(header) + value + padding;
}

std::string message(int type, const std::string& content) {
    const nlmsghdr header{static_cast<std::uint32_t>(sizeof header + content.size()),
                          static_cast<std::uint16_t>(type), NLM_F_MULTI, 1, 1};
    return bytes_of(header) + content;
}

inet_diag_msg made_up_socket(std::uint32_t inode) {
    inet_diag_msg socket{};
    socket.idiag_family = AF_INET;
    socket.idiag_state = 1;
    socket.id.idiag_sport = htons(24'608);
    socket.id.idiag_dport = htons(54'000);
    socket.id.idiag_dst[0] = htonl(0x0a000002);
    socket.idiag_wqueue = 42;
    socket.idiag_rqueue = 31;
    socket.idiag_inode = inode;
    return socket;
}

tcp_info made_up_info() {
    tcp_info info{};
    info.tcpi_bytes_acked = 5'000'000'000;
    info.tcpi_bytes_received = 7;
    info.tcpi_last_data_sent = 900;
    info.tcpi_last_data_recv = 1500;
    return info;
}

std::string told(std::uint32_t inode, std::size_t info_size = sizeof(tcp_info)) {
    return message(SOCK_DIAG_BY_FAMILY,
                   bytes_of(made_up_socket(inode)) + attribute(INET_DIAG_SHUTDOWN, "x") +
                       attribute(INET_DIAG_INFO, bytes_of(made_up_info(), info_size)));
}

const std::string end = message(NLMSG_DONE, std::string(4, '\0'));
const TcpConnection expected{{"10.0.0.2:54000", 42, 31}, 24'608, 54'000, 5'000'000'007, 900ms};

TEST(ParseTcpAnswer, TellsPeersQueuesAndBytes) {
    inet_diag_msg six = made_up_socket(12);
    six.idiag_family = AF_INET6;
    ASSERT_EQ(inet_pton(AF_INET6, "2001:db8::1", six.id.idiag_dst), 1);
    const auto answer =
        parse_tcp_answer(told(11) + message(SOCK_DIAG_BY_FAMILY, bytes_of(six)) + end);
    EXPECT_TRUE(answer.is_last);
    ASSERT_THAT(answer.connections, SizeIs(2));
    EXPECT_EQ(answer.connections.at(11), expected);
    // Without tcp_info: nothing moved, but nobody may take it for quiet.
    EXPECT_EQ(answer.connections.at(12),
              (TcpConnection{{"[2001:db8::1]:54000", 42, 31}, 24'608, 54'000, 0, 0ms}));
    EXPECT_FALSE(parse_tcp_answer(told(11)).is_last);
    // A message of another kind stands between.
    EXPECT_THAT(parse_tcp_answer(message(NLMSG_NOOP, "abcd") + told(11)).connections, SizeIs(1));
}

// Linux 4.1 is the first that counts the bytes, and later ones add to the structure.
TEST(ParseTcpAnswer, TakesShorterAndLongerFactsOfOtherKernels) {
    const auto older = parse_tcp_answer(told(11, offsetof(tcp_info, tcpi_bytes_acked)));
    ASSERT_THAT(older.connections, SizeIs(1));
    EXPECT_EQ(older.connections.at(11).bytes, 0U);
    EXPECT_EQ(older.connections.at(11).quiet, 900ms);
    const auto newer = parse_tcp_answer(
        message(SOCK_DIAG_BY_FAMILY,
                bytes_of(made_up_socket(11)) +
                    attribute(INET_DIAG_INFO, bytes_of(made_up_info()) + std::string(64, 'x'))));
    EXPECT_EQ(newer.connections.at(11), expected);
}

// Each text lies in memory of its own size, so that sanitizers see a read outside.
TEST(ParseTcpAnswer, ReadsNothingOutsideOfWhatCame) {
    const std::string whole = told(11) + told(12) + end;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(size));
        const auto answer = parse_tcp_answer({part.data(), part.size()});
        EXPECT_EQ(answer.connections.size(), std::min<std::size_t>(size / told(11).size(), 2))
            << size;
    }
    // Lengths of messages and attributes that lie.
    for (const std::uint32_t length : {0U, 1U, 15U, 16U, 17U, 87U, 100'000U, ~0U, ~0U - 2}) {
        std::string lies = told(11) + end;
        std::memcpy(lies.data(), &length, sizeof length);
        EXPECT_THAT(parse_tcp_answer(lies).connections, IsEmpty()) << length;
    }
    for (const std::uint16_t length :
         std::initializer_list<std::uint16_t>{0, 3, 4, 5, 9, 60'000, 65'535}) {
        std::string lies = told(11);
        std::memcpy(lies.data() + sizeof(nlmsghdr) + sizeof(inet_diag_msg), &length, sizeof length);
        const auto answer = parse_tcp_answer(lies);
        ASSERT_THAT(answer.connections, SizeIs(1)) << length;
        EXPECT_EQ(answer.connections.at(11).connection, expected.connection) << length;
    }
    EXPECT_TRUE(parse_tcp_answer("").is_last);
    EXPECT_TRUE(parse_tcp_answer(message(NLMSG_ERROR, std::string(20, 'x')) + told(11)).is_last);
}

TEST(ParseTcpAnswer, TakesOnlyEstablishedConnectionsWithAnInode) {
    for (const auto& change : std::vector<void (*)(inet_diag_msg&)>{
             [](inet_diag_msg& socket) { socket.idiag_state = 10; },  // listens
             [](inet_diag_msg& socket) { socket.idiag_inode = 0; },   // closed by its process
             [](inet_diag_msg& socket) { socket.idiag_family = AF_UNIX; }}) {
        inet_diag_msg socket = made_up_socket(11);
        change(socket);
        EXPECT_THAT(parse_tcp_answer(message(SOCK_DIAG_BY_FAMILY, bytes_of(socket))).connections,
                    IsEmpty());
    }
}

TEST(BackgroundPorts, AreThoseThatFrameworksNeverLeaveAlone) {
    const MapEnvironment environment({{"MASTER_PORT", "29500"},
                                      {"JAX_COORDINATOR_ADDRESS", "[2001:db8::1]:29501"},
                                      {"NCCL_RAS_ADDR", "localhost:28028"},
                                      {"RAY_ADDRESS", "auto"},
                                      {"PET_MASTER_PORT", "70000"},
                                      {"HOROVOD_GLOO_RENDEZVOUS_PORT", "0"},
                                      {"MY_PORT", "80"}});
    EXPECT_THAT(background_ports(environment), ElementsAre(28'028, 29'500, 29'501));
    EXPECT_THAT(background_ports(MapEnvironment()), IsEmpty());
}

// Two ends of a connection within this process.
class SocketsOf : public testing::Test {
  protected:
    void SetUp() override {
        listener.emplace(*listen_on(0));
        client.emplace(*connect_to("127.0.0.1", port_of(*listener), soon));
        while (!server && Clock::now() < soon) server = accept_from(*listener);
        ASSERT_TRUE(server);
    }
    ProcessSockets look(const std::set<std::uint16_t>& background = {}) const {
        return sockets_of(getpid(), read_tcp_connections(), background);
    }

    const Deadline soon = Clock::now() + 5s;
    std::optional<Socket> listener;
    std::optional<Socket> client;
    std::optional<Socket> server;
};

TEST_F(SocketsOf, TellsWhatMoved) {
    const auto before = look();
    ASSERT_THAT(before.connections, SizeIs(2));
    ASSERT_TRUE(send_all(*client, std::string(10'000, 'x'), soon));
    while (look().peer_bytes < before.peer_bytes + 20'000 && Clock::now() < soon) usleep(1000);
    const auto after = look();
    // Once sent and acknowledged, once received.
    EXPECT_EQ(after.peer_bytes, before.peer_bytes + 20'000);
    ASSERT_TRUE(after.quiet);
    EXPECT_LT(*after.quiet, 1.0);
    const std::string port = std::to_string(port_of(*client));
    ASSERT_THAT(after.connections, SizeIs(2));
    EXPECT_THAT(after.connections[0], AnyOf(Connection{"127.0.0.1:" + port, 0, 10'000},
                                            Connection{"[::ffff:127.0.0.1]:" + port, 0, 10'000}));
    // The other end, to which nothing came.
    EXPECT_EQ(after.connections[1].unsent + after.connections[1].unread, 0U);
}

TEST_F(SocketsOf, GrowQuietWhenNothingMoves) {
    usleep(300'000);
    const auto quiet = look().quiet;
    ASSERT_TRUE(quiet);
    EXPECT_GE(*quiet, 0.25);
    ASSERT_TRUE(send_all(*client, "x", soon));
    EXPECT_LT(*look().quiet, *quiet);
}

TEST_F(SocketsOf, CountNoBackgroundPort) {
    ASSERT_TRUE(send_all(*client, std::string(10'000, 'x'), soon));
    // It is the local port of one end and the peer's of the other.
    for (const std::uint16_t port : {port_of(*listener), port_of(*client)}) {
        const auto sockets = look({port});
        EXPECT_THAT(sockets.connections, SizeIs(2));
        EXPECT_EQ(sockets.peer_bytes, 0U);
        EXPECT_EQ(sockets.quiet, std::nullopt);
    }
    EXPECT_EQ(sockets_of(-1, read_tcp_connections(), {}), ProcessSockets{});
}

}  // namespace
}  // namespace distgpu

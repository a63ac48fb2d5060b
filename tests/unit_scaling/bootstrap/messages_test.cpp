#include "bootstrap/messages.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

const Membership own{2, 4, 1, "node \"2\"", "node01", 25000, "17.0"};

TEST(Hello, ComesBack) {
    const std::string line = hello_line(own);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(read_hello(line, own), (Hello{2, {"node \"2\"", 1}}));
}

TEST(Hello, OfAnotherRunIsNone) {
    Membership other = own;
    other.job = "18.0";
    EXPECT_EQ(read_hello(hello_line(other), own), std::nullopt);
    Membership larger = own;
    larger.world_size = 5;
    EXPECT_EQ(read_hello(hello_line(larger), own), std::nullopt);
    Membership beyond = own;
    beyond.rank = 4;
    EXPECT_EQ(read_hello(hello_line(beyond), own), std::nullopt);
}

TEST(Hello, OfAnotherProgramIsNone) {
    for (const char* line : {"", "GET / HTTP/1.1", "[]", "[\"nccl-scaling/1\",\"17.0\",4,\"x\"]",
                             "[\"nccl-scaling/1\",\"17.0\",4,2,7,1]", "{\"a\":1}"}) {
        EXPECT_EQ(read_hello(line, own), std::nullopt) << line;
    }
}

TEST(Peers, ComeBack) {
    const std::vector<Peer> peers{{"node01", 0}, {"node02", 3}};
    EXPECT_EQ(read_peers(peers_text(peers)), peers);
    EXPECT_EQ(read_peers("x"), std::nullopt);
    EXPECT_EQ(read_peers("[[1]]"), std::nullopt);
}

TEST(Failed, KeepsCodeAndProblemInOneLine) {
    const std::string line = failed_line(ExitCode::wrong_data, "element 3\nis 4");
    EXPECT_EQ(line, "x5element 3 is 4\n");
    EXPECT_EQ(read_failed("5element 3 is 4"), (Failed{ExitCode::wrong_data, "element 3 is 4"}));
    EXPECT_EQ(read_failed("0").code, ExitCode::environment);
}

}  // namespace
}  // namespace distgpu::scaling

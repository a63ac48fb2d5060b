#include "bootstrap/messages.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

const Membership own{2, 4, 1, "node \"2\"", "node01", 25000, "17.0", "s1.s4"};

TEST(Hello, IsReadAsWritten) {
    const std::string line = hello_text(own);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(read_hello(line, own), (Hello{2, {"node \"2\"", 1, "s1.s4"}}));
}

TEST(Hello, OfAnotherRunIsRejected) {
    Membership other = own;
    other.job = "18.0";
    EXPECT_EQ(read_hello(hello_text(other), own), std::nullopt);
    Membership larger = own;
    larger.world_size = 5;
    EXPECT_EQ(read_hello(hello_text(larger), own), std::nullopt);
    Membership beyond = own;
    beyond.rank = 4;
    EXPECT_EQ(read_hello(hello_text(beyond), own), std::nullopt);
}

TEST(Hello, OfAnotherProgramIsRejected) {
    const std::string whole = hello_text(own);
    const auto with = [&](const std::string& old, const std::string& text) {
        std::string changed = whole;
        return changed.replace(changed.find(old), old.size(), text);
    };
    for (const std::string& line :
         {std::string(), std::string("GET / HTTP/1.1"), std::string("[]"), std::string("{\"a\":1}"),
          std::string(100'000, '['), with("nccl-scaling/5", "nccl-scaling/4"),
          with("\"rank\":2", "\"rank\":\"x\""), with("\"rank\":2", "\"rank\":2.5"),
          // Neither becomes 2 by truncation.
          with("\"rank\":2", "\"rank\":4294967298"), with("\"rank\":2", "\"rank\":1e300"),
          with("\"local_rank\":1", "\"local_rank\":true"),
          with("\"local_rank\":1", "\"local_rank\":4"),
          with("\"world_size\":4", "\"world_size\":4294967300")}) {
        EXPECT_EQ(read_hello(line, own), std::nullopt) << line.substr(0, 200);
    }
}

TEST(Peers, AreReadAsWritten) {
    // Block, arbitrary, and cyclic distributions, and a node with contradictory switches.
    for (const std::vector<Peer>& peers : std::vector<std::vector<Peer>>{
             {{"node01", 0, "s1.s4"}, {"node01", 1, "s1.s4"}, {"node02", 0}, {"node02", 1}},
             {{"node01", 3}, {"node01", 1}, {"node01", 2}, {"node02", 3}},
             {{"node01", 0}, {"node02", 0}, {"node01", 1}, {"node02", 1}},
             {{"node01", 0, "s1"}, {"node01", 1, "s2"}, {"node01", 2, "s2"}, {"node01", 3}}}) {
        EXPECT_EQ(read_peers("d" + peers_text(peers), 4), peers);
    }
}

// A node has one entry, whatever its number of ranks.
TEST(Peers, AreShort) {
    std::vector<Peer> peers;
    for (std::uint32_t rank = 0; rank < 8192; ++rank) {
        peers.push_back({"node" + std::to_string(rank / 8), rank % 8});
    }
    EXPECT_LT(peers_text(peers).size(), std::size_t{1024 * 60});
}

TEST(Peers, OfAnotherNumberAndOtherLinesAreRejected) {
    const std::string two = "d" + peers_text({{"node01", 0}, {"node01", 1}});
    EXPECT_EQ(read_peers(two, 3), std::nullopt);
    EXPECT_EQ(read_peers(two, 1), std::nullopt);
    EXPECT_EQ(read_peers(R"(d{"peers":[{"host":"a","local_rank":0,"ranks":4294967295}]})", 4),
              std::nullopt);
    const std::string text = peers_text({{"node01", 0}});
    for (const std::string& line : {std::string(), std::string("d"), text, "x" + text,
                                    std::string("dx"), std::string("d{\"peers\":[[1]]}")}) {
        EXPECT_EQ(read_peers(line, 1), std::nullopt) << line;
    }
}

// Rank 0 prints both texts.
TEST(Messages, CannotControlTheTerminal) {
    Membership hostile = own;
    hostile.host = "node\x1b[2J\n";
    hostile.switches = "s1\x1b.s4";
    EXPECT_EQ(read_hello(hello_text(hostile), own), (Hello{2, {"node?[2J?", 1, "s1?.s4"}}));
    EXPECT_EQ(read_rank_failure("3\x1b[2J\xc2\x9bJ").problem, "?[2J??J");
}

TEST(RankFailure, CodeAndProblemAreOneLine) {
    const std::string line = failure_line(ExitCode::wrong_data, "element 3\nis 4");
    EXPECT_EQ(line, "x5element 3 is 4\n");
    EXPECT_EQ(read_rank_failure("5element 3 is 4"),
              (RankFailure{ExitCode::wrong_data, "element 3 is 4"}));
    EXPECT_EQ(read_rank_failure("0").code, ExitCode::environment);
}

}  // namespace
}  // namespace distgpu::scaling

// Numbers and indices that the ranks exchange over the control channel.
#include "bootstrap/channel.h"
#include "loopback_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Numbers = std::vector<double>;
using Indices = std::vector<std::uint32_t>;

class Exchange : public Channels {
  protected:
    // Rank 0's error for this line of rank 2.
    std::string error_of(const std::string& line) {
        const Socket two = open_with_silent_rank_2();
        EXPECT_TRUE(send_all(two, message_line(MessageKind::data, line), Clock::now() + 5s));
        EXPECT_TRUE(gather_numbers(*channels[1], {1}));
        const auto numbers = gather_numbers(*channels[0], {0});
        return numbers ? "" : numbers.error().message();
    }
};

TEST_F(Exchange, NumbersReachRank0Unchanged) {
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        const auto numbers =
            gather_numbers(channel, rank == 1 ? Numbers{} : Numbers{0.1, 1.0 * rank});
        ASSERT_TRUE(numbers);
        if (rank == 0) {
            EXPECT_THAT(*numbers, ElementsAre(Numbers{0.1, 0}, Numbers{}, Numbers{0.1, 2}));
        } else {
            EXPECT_THAT(*numbers, IsEmpty());
        }
    });
}

TEST_F(Exchange, TruncatedNumbersNameTheirRank) {
    EXPECT_EQ(error_of(R"({"numbers":[1,)"),
              "distgpu: rank 2 on node2: sent a malformed answer: not JSON, or cut short");
}

TEST_F(Exchange, NumbersOfAnotherTypeNameTheirRank) {
    EXPECT_EQ(error_of(R"({"numbers":[1,null]})"),
              "distgpu: rank 2 on node2: sent a malformed answer: \"numbers\": not a list of "
              "numbers");
}

// An invalid time, from a broken clock.
TEST_F(Exchange, NotANumberIsAnError) {
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const auto numbers = gather_numbers(channel, {rank == 1 ? nan : 1});
        EXPECT_EQ(numbers.has_value(), rank != 0);
    });
}

TEST_F(Exchange, IndicesOfRank0ReachAll) {
    open_all();
    on_all([](std::uint32_t rank, Channel& channel) {
        const auto indices = broadcast_indices(channel, rank == 0 ? Indices{2, 0} : Indices{}, 3);
        ASSERT_TRUE(indices);
        EXPECT_THAT(*indices, ElementsAre(2, 0));
    });
}

// They would be read beyond a vector's end. The rank that notices this ends the run.
TEST_F(Exchange, MalformedIndicesOfRank0EndTheRun) {
    open_all();
    channels[0]->broadcast(R"({"indices":[3]})");
    const auto indices = broadcast_indices(*channels[1], {}, 3);
    ASSERT_FALSE(indices);
    EXPECT_EQ(indices.error().message(),
              "distgpu: rank 0 on node0: sent a malformed answer: \"indices\": not a whole number "
              "below 3");
    std::thread failing([&] { channels[1]->fail(ExitCode::environment, indices.error().problem); });
    EXPECT_EQ(terminations[0].wait().failure,
              (Failure{"", indices.error().problem, {"rank 1 on node1"}}));
    channels[0].reset();
    EXPECT_EQ(terminations[2].wait().code, ExitCode::environment);
    failing.join();
}

}  // namespace
}  // namespace distgpu::scaling

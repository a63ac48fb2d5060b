// NCCL's status, from a stand-in that answers as src/ras/client_support.cc of NCCL 2.28 does: no
// NCCL runs without a GPU.
#include "inspect/ras.h"

#include "base/io/socket.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

TEST(RasAddress, IsAHostAndAPort) {
    EXPECT_EQ(parse_ras_address("localhost:28028"), (RasAddress{"localhost", 28028}));
    EXPECT_EQ(parse_ras_address("[::1]:1"), (RasAddress{"::1", 1}));
    for (const std::string text : {"", "localhost", "localhost:", ":28028", "localhost:0",
                                   "localhost:65536", "a b:1", "$(id):1", "[]:1", "a\n:1"}) {
        EXPECT_FALSE(parse_ras_address(text)) << text;
    }
}

// Takes one client; answers each of its lines but the last with the next of `answers`, and the last
// with `status`.
class StandIn {
  public:
    StandIn(std::vector<std::string> answers, std::string status)
        : listener_(*listen_on(0)),
          asked_(std::async(std::launch::async,
                            [this, answers = std::move(answers), status = std::move(status)] {
                                return serve(answers, status);
                            })) {}

    RasAddress address() const { return {"localhost", port_of(listener_)}; }
    std::vector<std::string> asked() { return asked_.get(); }

  private:
    std::vector<std::string> serve(const std::vector<std::string>& answers,
                                   const std::string& status) const {
        const Deadline deadline = Clock::now() + 5s;
        std::optional<Socket> client;
        while (!client && Clock::now() < deadline) {
            client = accept_from(listener_);
            std::this_thread::sleep_for(1ms);
        }
        std::vector<std::string> asked;
        for (std::size_t i = 0; client && i <= answers.size(); ++i) {
            const auto line = receive_line(*client, 100, deadline);
            if (!line) break;
            asked.push_back(*line);
            static_cast<void>(
                send_all(*client, i < answers.size() ? answers[i] : status, deadline));
        }
        return asked;
    }

    Socket listener_;
    std::future<std::vector<std::string>> asked_;
};

const std::vector<std::string> agreed{"SERVER PROTOCOL 2\n", "OK\n"};

TEST(AskRas, ReadsTheStatusToItsEnd) {
    StandIn server(agreed, "NCCL version 2.28.9\n\nErrors\n  rank 3 \x1b[2J is missing\n");
    const auto status = ask_ras(server.address(), Clock::now() + 5s);
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(*status, "NCCL version 2.28.9\n\nErrors\n  rank 3 ?[2J is missing\n");
    EXPECT_EQ(server.asked(),
              (std::vector<std::string>{"CLIENT PROTOCOL 2", "TIMEOUT 3", "STATUS"}));
}

TEST(AskRas, ReadsAnotherVersionToo) {
    StandIn server({"SERVER PROTOCOL 9\n", "OK\n"}, "fine\n");
    EXPECT_EQ(*ask_ras(server.address(), Clock::now() + 5s), "fine\n");
}

TEST(AskRas, TakesNoMoreThanItWants) {
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += std::string(99, 'x') + "\n";
    StandIn server(agreed, lines);
    const auto status = ask_ras(server.address(), Clock::now() + 5s);
    ASSERT_TRUE(status);
    EXPECT_LE(status->size(), 16'385U);
    EXPECT_GE(status->size(), 16'000U);
}

TEST(AskRas, AnotherProgramIsNamedAsThat) {
    StandIn server({"220 mail.example.org ESMTP\n"}, "");
    const auto status = ask_ras(server.address(), Clock::now() + 5s);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().object,
              "NCCL's RAS at localhost:" + std::to_string(server.address().port));
    EXPECT_EQ(status.error().problem, "another program listens there");
}

TEST(AskRas, GivesUp) {
    const auto before = Clock::now();
    StandIn silent({""}, "");
    const auto status = ask_ras(silent.address(), before + 200ms);
    EXPECT_FALSE(status);
    EXPECT_LT(Clock::now() - before, 2s);
}

TEST(AskRas, WhereNobodyListensThereIsNothing) {
    const std::uint16_t free = port_of(*listen_on(0));
    EXPECT_EQ(*ask_ras({"localhost", free}, Clock::now() + 5s), "");
}

}  // namespace
}  // namespace distgpu

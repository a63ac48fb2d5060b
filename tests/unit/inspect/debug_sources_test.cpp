// What a rank's variables offer; NCCL's status comes from a stand-in that answers as
// src/ras/client_support.cc of NCCL 2.28 does: no NCCL runs without a GPU.
#include "inspect/debug_sources.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/socket.h"
#include "inspect/sleeper.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

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

    std::string address(const std::string& host = "localhost") const {
        return formatted("{}:{}", host, port_of(listener_));
    }
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

TEST(AskRas, ReadsTheStatusToItsEndOfAnyVersionAndFamily) {
    for (const auto& [version, host] :
         {std::pair{"SERVER PROTOCOL 2\n", "127.0.0.1"}, {"SERVER PROTOCOL 9\n", "[::1]"}}) {
        // Empty where the machine has no IPv6.
        if (*host == '[' && read_trimmed("/proc/net/if_inet6").value_or("").empty()) break;
        StandIn server({version, "OK\n"},
                       "NCCL version 2.28.9\n\nErrors\n  rank 3 \x1b[2J is missing\n");
        const auto status = ask_ras(server.address(host), Clock::now() + 5s);
        ASSERT_TRUE(status) << status.error().message();
        EXPECT_EQ(*status, "NCCL version 2.28.9\n\nErrors\n  rank 3 ?[2J is missing\n");
        EXPECT_EQ(server.asked(),
                  (std::vector<std::string>{"CLIENT PROTOCOL 2", "TIMEOUT 3", "STATUS"}));
    }
}

TEST(AskRas, TakesNoMoreThanItWants) {
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += std::string(99, 'x') + "\n";
    StandIn server({"SERVER PROTOCOL 2\n", "OK\n"}, lines);
    const auto status = ask_ras(server.address(), Clock::now() + 5s);
    ASSERT_TRUE(status);
    EXPECT_LE(status->size(), 16'385U);
    EXPECT_GE(status->size(), 16'000U);
}

TEST(AskRas, AnotherProgramIsNamedAsThat) {
    StandIn server({"220 mail.example.org ESMTP\n"}, "");
    const auto status = ask_ras(server.address(), Clock::now() + 5s);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().object, "NCCL's RAS at " + server.address());
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
    const std::string free = std::to_string(port_of(*listen_on(0)));
    for (const std::string& address : {"localhost:" + free, "[::1]:" + free}) {
        EXPECT_EQ(*ask_ras(address, Clock::now() + 5s), "") << address;
    }
}

// Some would reach the listener if a part of them were believed.
TEST(AskRas, WhatIsNoAddressIsNotAsked) {
    const Socket listener = *listen_on(0);
    const std::uint16_t port = port_of(listener);
    for (const std::string& address :
         {formatted("[::1%1]:{}", port), formatted("localhost:{}", 65'536 + port),
          formatted("127.0.0.1\n:{}", port), formatted(":{}", port), formatted("[]:{}", port),
          formatted("localhost {}", port), formatted("localhost:{}x", port),
          formatted("$(id):{}", port), std::string("localhost:0"), std::string()}) {
        const auto status = ask_ras(address, Clock::now() + 1s);
        EXPECT_TRUE(status && status->empty()) << address;
        EXPECT_FALSE(accept_from(listener)) << address;
    }
}

TEST(FlightRecord, IsFoundWhereTheProgramRuns) {
    const MadeUpFolder folder;
    const Sleeper rank({"TORCH_FR_DUMP_TEMP_FILE=distgpu-5.0-rank_"}, folder.path());
    const Sleeper older({"TORCH_NCCL_DEBUG_INFO_TEMP_FILE=" + folder.path("trace/rank_")},
                        folder.path());
    const auto record = [](const Sleeper& process, std::uint32_t number) {
        return flight_record_file(*read_environment(process.pid()), number, process.pid());
    };
    EXPECT_EQ(record(rank, 2) + record(older, 4), "");
    folder.write("distgpu-5.0-rank_2", "pickle");
    folder.write("trace/rank_4", "pickle");
    EXPECT_EQ(record(rank, 2), folder.path("distgpu-5.0-rank_2"));
    EXPECT_EQ(record(rank, 3), "");
    EXPECT_EQ(record(older, 4), folder.path("trace/rank_4"));
    EXPECT_EQ(flight_record_file(EnvironmentCopy(), 2, rank.pid()), "");
}

}  // namespace
}  // namespace distgpu

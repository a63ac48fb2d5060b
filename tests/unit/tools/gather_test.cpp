// Reports on their way to rank 0, over the loopback.
#include "check/gather.h"

#include "base/values.h"
#include "mapping/rendezvous/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

Report report(std::uint32_t rank) {
    Report report;
    report.rank = rank;
    report.node = 1;
    report.cpus = "0-3";
    report.gpus = 2;
    report.interface = "eth0";
    report.ports = "mlx5_0:1 400 Gb/s";
    report.rendezvous = "n1:2000";
    report.findings = {{Finding::Weight::warning, {"a", "b", "c"}}};
    return report;
}

TEST(Report, IsReadAsItWasWritten) {
    Report full = report(3);
    full.unreached = Error{"n1:2000", "Connection refused", "see"};
    EXPECT_EQ(decode_report(encode_report(full)), full);
    EXPECT_EQ(decode_report(encode_report(report(1))), report(1));
}

TEST(Report, IsNothingElse) {
    EXPECT_EQ(decode_report("GET / HTTP/1.1"), std::nullopt);
    EXPECT_EQ(decode_report("{}"), std::nullopt);
    EXPECT_EQ(decode_report(R"({"rank": "1"})"), std::nullopt);
    EXPECT_EQ(decode_report("[]"), std::nullopt);
}

TEST(Report, CannotSteerTheTerminalNorFillIt) {
    Report hostile = report(1);
    hostile.ports = "\x1b[2J" + std::string(1000, 'x');
    const auto read = decode_report(encode_report(hostile));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->ports.substr(0, 5), "?[2Jx");
    EXPECT_EQ(read->ports.size(), 500U);
    hostile.ports = "\xff";  // no UTF-8
    EXPECT_TRUE(decode_report(encode_report(hostile)));
}

class Gather : public testing::Test {
  protected:
    Gather() {
        listeners_.push_back(std::move(*listen_on(0)));
        listeners_.push_back(std::move(*listen_on(0)));
    }

    Endpoint endpoint(std::size_t which) const { return {"127.0.0.1", port_of(listeners_[which])}; }
    // Rank 0, in a thread of its own.
    std::future<std::vector<Report>> gathered(std::uint32_t world_size,
                                              std::chrono::milliseconds time) const {
        return std::async(std::launch::async, [=, this] {
            return gather(listeners_, "7.0", world_size, Clock::now() + time);
        });
    }

    std::vector<Socket> listeners_;
};

TEST_F(Gather, TakesOneOfEachRank) {
    auto reports = gathered(4, 10s);
    for (const std::uint32_t rank : {2U, 1U, 3U}) {
        EXPECT_EQ(deliver(report(rank), {endpoint(0)}, "7.0", Clock::now() + 5s), std::nullopt);
    }
    EXPECT_EQ(reports.get(), (std::vector<Report>{report(1), report(2), report(3)}));
}

TEST_F(Gather, OfAWorldOfOneWaitsForNobody) {
    const auto start = Clock::now();
    EXPECT_THAT(gather(listeners_, "7.0", 1, start + 10s), IsEmpty());
    EXPECT_LT(Clock::now() - start, 5s);
}

TEST_F(Gather, EndsAtTheDeadlineWithThoseThatCame) {
    auto reports = gathered(3, 300ms);
    EXPECT_EQ(deliver(report(1), {endpoint(0)}, "7.0", Clock::now() + 5s), std::nullopt);
    EXPECT_EQ(reports.get(), std::vector<Report>{report(1)});
}

TEST_F(Gather, IsNotKeptBySilentAndStrangePeers) {
    auto reports = gathered(2, 10s);
    const auto silent = connect_to("127.0.0.1", endpoint(0).port, Clock::now() + 5s);
    const auto strange = connect_to("127.0.0.1", endpoint(0).port, Clock::now() + 5s);
    ASSERT_TRUE(send_all(*strange, "GET / HTTP/1.1\r\n\r\n", Clock::now() + 5s));
    const auto impostor = connect_to("127.0.0.1", endpoint(0).port, Clock::now() + 5s);
    ASSERT_TRUE(send_all(*impostor, encode_report(report(9)) + "\n", Clock::now() + 5s));
    EXPECT_EQ(deliver(report(1), {endpoint(0)}, "7.0", Clock::now() + 5s), std::nullopt);
    EXPECT_EQ(reports.get(), std::vector<Report>{report(1)});
}

// More than it takes at a time, and all of them gone again.
TEST_F(Gather, IsNotFilledByPeersThatLeft) {
    auto reports = gathered(2, 10s);
    for (int peer = 0; peer < 600; ++peer) {
        ASSERT_TRUE(connect_to("127.0.0.1", endpoint(0).port, Clock::now() + 5s));
    }
    EXPECT_EQ(deliver(report(1), {endpoint(0)}, "7.0", Clock::now() + 5s), std::nullopt);
    EXPECT_EQ(reports.get(), std::vector<Report>{report(1)});
}

TEST_F(Gather, GetsWhatCannotGoTheFirstWayWithTheReason) {
    const Endpoint closed{"127.0.0.1", port_of(*listen_on(0))};
    auto reports = gathered(2, 10s);
    EXPECT_EQ(deliver(report(1), {closed, endpoint(1)}, "7.0", Clock::now() + 5s), std::nullopt);
    const auto got = reports.get();
    ASSERT_EQ(got.size(), 1U);
    ASSERT_TRUE(got[0].unreached);
    EXPECT_EQ(got[0].unreached->object, host_and_port(closed.host, closed.port));
    EXPECT_EQ(got[0].unreached->problem, "Connection refused");
}

TEST_F(Gather, IsOfItsOwnStep) {
    auto reports = gathered(2, 500ms);
    const auto problem = deliver(report(1), {endpoint(0)}, "8.0", Clock::now() + 300ms);
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->problem, "another program answers there");
    EXPECT_THAT(reports.get(), IsEmpty());
}

TEST(Deliver, EndsAtTheDeadlineWithTheReason) {
    const Endpoint closed{"127.0.0.1", port_of(*listen_on(0))};
    const auto start = Clock::now();
    const auto problem = deliver(report(1), {closed, closed}, "7.0", start + 250ms);
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->problem, "Connection refused");
    EXPECT_GE(Clock::now() - start, 250ms);
    EXPECT_LT(Clock::now() - start, 5s);
}

}  // namespace
}  // namespace distgpu

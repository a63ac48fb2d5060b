// What a rank reports of its checks, and how that reaches rank 0, over the loopback.
#include "base/format.h"
#include "base/values.h"
#include "check/step_check.h"
#include "map_environment.h"
#include "mapping/rendezvous/rendezvous.h"
#include "tools/findings_text.h"
#include "tools/made_up_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using Variables = MapEnvironment::Variables;
using testing::IsEmpty;

CheckFacts facts(const Variables& variables = {}) {
    return {std::make_shared<const OwnTask>(made_up_task("pytorch", 2000)),
            std::make_shared<const MapEnvironment>(variables), CpuSet{0, 1, 2, 3},
            Clock::now() + 10s};
}

CheckResult found(const char* object) {
    return {{warning(object, "found", "")}};
}

const NamedCheck finds_a{"a", "", applies_always, [](const CheckFacts&) { return found("a"); }};
const NamedCheck finds_b{"b", "", applies_always, [](const CheckFacts&) { return found("b"); }};
const NamedCheck unfit{"unfit", "", [](const CheckFacts&) { return false; }, finds_a.run};
const NamedCheck endless{"endless", "", applies_always, [](const CheckFacts& /*facts*/) {
                             std::this_thread::sleep_for(5s);
                             return found("d");
                         }};

TEST(Look, RunsThoseThatApplyInTheirOrder) {
    EXPECT_EQ(text(run_checks(facts(), {&finds_b, &unfit, &finds_a}).report.findings),
              "warning b: found\nwarning a: found\n");
    EXPECT_EQ(text(run_checks(facts(), {}).report.findings), "");
}

TEST(Look, WhatDoesNotEndIsAFindingAndHidesNoOther) {
    CheckFacts in_haste = facts();
    in_haste.deadline = Clock::now() + 10ms;
    EXPECT_EQ(text(run_checks(in_haste, {&endless, &finds_a}).report.findings),
              "failed check endless: did not finish\nwarning a: found\n");
}

TEST(Look, ReportsWhereTheTaskIsAndWhatItHas) {
    const Report report =
        run_checks(facts({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_SOCKET_IFNAME", "=eth0"}}), {})
            .report;
    Report expected{0, 0, "0-3", 2, "eth0", "not checked", "", "n1:2000", {}, {}};
    expected.has_chosen_interface = true;  // made_up_task() has none
    expected.visible_gpus = {"0", "1"};
    EXPECT_EQ(report, expected);
}

std::string gpus(Variables variables) {
    variables["SLURM_STEP_GPUS"] = "4,5";
    const Report report = run_checks(facts(variables), {}).report;
    return join(report.given_gpus, ",") + " seen as " + join(report.visible_gpus, ",");
}

TEST(Look, ReportsTheGpusThatItWasGivenAndThoseThatItSees) {
    const std::string bound = "gpus=0@0000:06:00.0,1@0000:07:00.0";
    const std::string given = "0000:06:00.0,0000:07:00.0 seen as ";
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", bound}, {"CUDA_VISIBLE_DEVICES", "1,0"}}),
              given + "0000:07:00.0,0000:06:00.0");
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", bound}, {"CUDA_VISIBLE_DEVICES", "1"}}),
              given + "0000:07:00.0");
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", bound}}), given);
    // One that is not known makes all of them unknown.
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", bound}, {"CUDA_VISIBLE_DEVICES", "1,2"}}), given);
    EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "4"}}), "4,5 seen as 4");
    // Number 0 of each of these tasks may be another GPU.
    EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_GPUS_PER_TASK", "1"}}), " seen as ");
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", "gpus=@0000:06:00.0,@0000:07:00.0"},
                    {"CUDA_VISIBLE_DEVICES", "0"},
                    {"SLURM_GPUS_PER_TASK", "1"}}),
              given);
    EXPECT_EQ(gpus({{"SLURM_DISTGPU_BOUND", bound},
                    {"CUDA_VISIBLE_DEVICES", "1"},
                    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}}),
              " seen as ");
}

TEST(Look, PortsAreThoseThatTheCheckSawOrNone) {
    static const NamedCheck seeing{"seeing", "", applies_always, [](const CheckFacts& /*facts*/) {
                                       return CheckResult{{}, "mlx5_0:1 400 Gb/s"};
                                   }};
    EXPECT_EQ(run_checks(facts(), {&seeing}).report.ports, "mlx5_0:1 400 Gb/s");
    EXPECT_EQ(run_checks(facts(), {&fabric_check}).report.ports,
              "");  // of a node whose topology is not known
}

const Handshake step{
    "check", "7.0",
    Secret::parse("000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f")};

Report report(std::uint32_t rank) {
    return {
        rank, 1, "0-3", 2, "eth0", "mlx5_0:1 400 Gb/s", "", "n1:2000", {warning("a", "b", "c")}};
}

TEST(Report, IsReadAsItWasWritten) {
    Report full = report(3);
    full.rendezvous_error = Error{"n1:2000", "Connection refused", "see"};
    full.traits = {{"GPUs", "4 x H100"}, {"kernel", "6.1"}};
    full.given_gpus = {"0000:06:00.0", "0000:07:00.0"};
    full.visible_gpus = {"0000:07:00.0"};
    EXPECT_EQ(decode_report(encode_report(full)), full);
    EXPECT_EQ(decode_report(encode_report(report(1))), report(1));
    for (const char* other : {"GET / HTTP/1.1", "{}", R"({"rank": "1"})", "[]"}) {
        EXPECT_EQ(decode_report(other), std::nullopt) << other;
    }
}

TEST(Report, CannotSteerTheTerminalNorFillIt) {
    Report hostile = report(1);
    hostile.ports = "\x1b[2J" + std::string(1000, 'x');
    const auto read = decode_report(encode_report(hostile));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->ports.substr(0, 5), "?[2Jx");
    EXPECT_EQ(read->ports.size(), 500U);
    hostile.visible_gpus = {"\x1b[2J" + std::string(1000, 'x')};
    EXPECT_EQ(decode_report(encode_report(hostile))->visible_gpus, std::vector{read->ports});
    hostile.ports = "\xff";  // no UTF-8
    EXPECT_TRUE(decode_report(encode_report(hostile)));
    hostile.ports = "\xc2\x9b\062J";  // the same control sequence in one character
    EXPECT_EQ(decode_report(encode_report(hostile))->ports, "??2J");
}

Socket accepted(const Socket& listener) {
    auto peer = accept_from(listener);
    while (!peer) peer = accept_from(listener);
    return *std::move(peer);
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
            return gather_reports(listeners_, step, world_size, Clock::now() + time).reports;
        });
    }

    std::vector<Socket> listeners_;
};

TEST_F(Gather, TakesOneOfEachRank) {
    auto reports = gathered(4, 10s);
    for (const std::uint32_t rank : {2U, 1U, 3U}) {
        EXPECT_TRUE(deliver(report(rank), {endpoint(0)}, step, Clock::now() + 5s));
    }
    EXPECT_EQ(reports.get(), (std::vector<Report>{report(1), report(2), report(3)}));
}

TEST_F(Gather, EndsAtTheDeadlineWithThoseThatCame) {
    const auto start = Clock::now();
    EXPECT_THAT(gather_reports(listeners_, step, 1, start + 10s).reports, IsEmpty());
    EXPECT_LT(Clock::now() - start, 5s);
    auto reports = gathered(3, 300ms);
    EXPECT_TRUE(deliver(report(1), {endpoint(0)}, step, Clock::now() + 5s));
    EXPECT_EQ(reports.get(), std::vector<Report>{report(1)});
}

// Each as one who reaches the port could try it, with a report that says all is well.
TEST_F(Gather, TakesNoForgedReport) {
    auto gathered = std::async(std::launch::async, [&] {
        return gather_reports(listeners_, step, 3, Clock::now() + 10s);
    });
    const std::uint16_t port = endpoint(0).port;
    const auto send = [&](const Socket& to, const std::string& line) {
        ASSERT_TRUE(send_all(to, line + "\n", Clock::now() + 5s));
        // The greeting, if it has not been read, and nothing else.
        while (const auto said = receive_line(to, 100, Clock::now() + 5s)) {
            EXPECT_EQ(said->rfind("distgpu check 7.0 secret ", 0), 0U) << line;
        }
    };
    const std::string forged = encode_report(report(2));
    const auto connection = [&] { return *connect_to("127.0.0.1", port, Clock::now() + 5s); };
    send(connection(), forged);
    send(connection(), std::string(64, '0') + " " + forged);
    // The rank of another step, which has a secret of its own.
    const Handshake other{"check", step.step, Secret::parse(std::string(64, '7'))};
    EXPECT_FALSE(deliver(report(2), {endpoint(0)}, other, Clock::now() + 100ms));
    // What a rank answered to one challenge is no answer to the next.
    const Socket first = connection();
    const std::string challenge =
        receive_line(first, 1000, Clock::now() + 5s)->substr(sizeof "distgpu check 7.0 secret");
    const std::string overheard =
        *sign_line(Proof::secret, step.secret, challenge, std::string(64, 'b') + ' ' + forged);
    send(connection(), overheard);
    // Nor has it another report in it.
    send(first, overheard.substr(0, 130) + encode_report(report(1)));
    EXPECT_TRUE(deliver(report(1), {endpoint(0)}, step, Clock::now() + 5s));
    EXPECT_TRUE(deliver(report(2), {endpoint(0)}, step, Clock::now() + 5s));
    const GatheredReports got = gathered.get();
    EXPECT_EQ(got.reports, (std::vector<Report>{report(1), report(2)}));
    EXPECT_EQ(got.proof, Proof::secret);
    EXPECT_GE(got.ignored, 5U);  // those of the other step came several times
}

// An impostor on the port that a rank tries may hear the report, but not the secret.
TEST_F(Gather, NeverSendsTheSecret) {
    auto told = std::async(std::launch::async, [&] {
        return deliver(report(1), {endpoint(0)}, step, Clock::now() + 300ms);
    });
    const Socket impostor = accepted(listeners_[0]);
    const std::string challenge(64, 'a');
    ASSERT_TRUE(
        send_all(impostor, "distgpu check 7.0 secret " + challenge + "\n", Clock::now() + 5s));
    const std::string said = *receive_line(impostor, max_signed_line, Clock::now() + 5s);
    EXPECT_EQ(said.find(step.secret->to_string()), std::string::npos);
    // Its own challenge comes before it.
    const std::string text = verify_line(Proof::secret, step.secret, challenge, said).value_or("");
    auto read = decode_report(text.substr(std::min<std::size_t>(65, text.size())));
    ASSERT_TRUE(read);
    read->clock = 0;  // when it was sent
    EXPECT_EQ(*read, report(1));
    EXPECT_FALSE(told.get());
}

// A silent program is asked twice, for three seconds each, and rank 0 keeps nobody as long as that.
TEST_F(Gather, GetsWhatCannotGoTheFirstWayWithTheReason) {
    const Socket silent = *listen_on(0);
    for (const auto& [port, problem] :
         {std::pair(port_of(*listen_on(0)), "Connection refused"),
          std::pair(port_of(silent), "rank 0 does not answer there")}) {
        auto reports = gathered(2, 15s);
        EXPECT_TRUE(
            deliver(report(1), {{"127.0.0.1", port}, endpoint(1)}, step, Clock::now() + 15s));
        const auto got = reports.get();
        ASSERT_EQ(got.size(), 1U);
        ASSERT_TRUE(got[0].rendezvous_error);
        EXPECT_EQ(got[0].rendezvous_error->object, host_and_port("127.0.0.1", port));
        EXPECT_EQ(got[0].rendezvous_error->problem, problem);
    }
}

TEST(GatheredReports, ThatNothingProvesAndThatStrangersSpokeAreWarnings) {
    const auto found = [](const GatheredReports& gathered) {
        return report_warnings(gathered, "n1:2000");
    };
    EXPECT_THAT(found({{report(1)}, Proof::secret, 0}), IsEmpty());
    EXPECT_THAT(found({{report(1)}, Proof::munge, 0}), IsEmpty());
    EXPECT_THAT(found({{}, Proof::none, 0}), IsEmpty());
    EXPECT_EQ(found({{report(1)}, Proof::none, 0}),
              Findings{warning("reports",
                               "not proven to come from this step, because the plugin did not "
                               "prepare it and MUNGE does not answer",
                               "start it with srun --distgpu=MODE", "reports")});
    EXPECT_EQ(found({{report(1)}, Proof::secret, 2}),
              Findings{warning("reports",
                               "ignored 2 connections to rank 0 that did not come from this step",
                               "find out which other program connects to n1:2000", "reports")});
}

TEST(Deliver, WithoutTheSecretSaysWhatMayHaveTakenIt) {
    const Socket rank0 = *listen_on(0);
    auto told = std::async(std::launch::async, [&] {
        return deliver(report(1), {{"127.0.0.1", port_of(rank0)}}, {"check", "7.0", std::nullopt},
                       Clock::now() + 200ms);
    });
    const Socket peer = accepted(rank0);
    ASSERT_TRUE(send_all(peer, "distgpu check 7.0 secret " + std::string(64, 'a') + "\n",
                         Clock::now() + 5s));
    const auto problem = told.get();
    ASSERT_FALSE(problem);
    EXPECT_EQ(problem.error().problem, "requires the step's secret, which this rank does not have");
    EXPECT_EQ(problem.error().object, host_and_port("127.0.0.1", port_of(rank0)));
    EXPECT_EQ(problem.error().remedy, "look for a wrapper script that unsets SLURM_DISTGPU_SECRET");
}

TEST(Deliver, EndsAtTheDeadlineWithTheReason) {
    const Endpoint closed{"127.0.0.1", port_of(*listen_on(0))};
    const auto start = Clock::now();
    const auto problem = deliver(report(1), {closed, closed}, step, start + 250ms);
    ASSERT_FALSE(problem);
    EXPECT_EQ(problem.error().problem, "Connection refused");
    EXPECT_GE(Clock::now() - start, 250ms);
    EXPECT_LT(Clock::now() - start, 5s);
}

}  // namespace
}  // namespace distgpu

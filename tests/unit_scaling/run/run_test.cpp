// How a run ends after an error. Its measurements are tested with real ranks.
#include "run/run.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

// A channel between two ranks, of which the other one always sends the same text.
class FixedTextChannel final : public Channel {
  public:
    FixedTextChannel(std::uint32_t own, std::string text) : own_(own), text_(std::move(text)) {}

    const std::vector<Peer>& peers() const override { return peers_; }
    std::vector<std::string> gather(const std::string& text) override {
        if (own_ != 0) return {};
        return {text, text_};
    }
    std::string broadcast(const std::string& text) override { return own_ == 0 ? text : text_; }
    void begin_phase(const std::string& phase) override { static_cast<void>(phase); }
    void report_progress() override {}
    void fail(ExitCode /*code*/, const std::string& problem) override { failed = problem; }
    void finish() override {}

    std::string failed;

  private:
    const std::uint32_t own_;
    const std::string text_;
    const std::vector<Peer> peers_{{"node0", 0}, {"node1", 0}};
};

// A back end that fails before the first measurement.
class FailingBackend final : public Backend {
  public:
    Result<Description> start(const Member& /*member*/) override {
        return Description{{{"MPI", "4.1"}}, ""};
    }
    std::optional<Error> connect(const Broadcast& /*broadcast*/) override { return std::nullopt; }
    Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> /*colour*/,
                                                GroupRank /*self*/) override {
        return refusal_;
    }
    std::optional<Error> barrier() override { return refusal_; }
    bool supports(const Operation& /*operation*/) const override { return true; }
    Result<std::byte*> allocate(std::size_t /*bytes*/) override { return refusal_; }
    std::optional<Error> upload(std::byte* /*to*/, std::span<const std::byte> /*from*/) override {
        return refusal_;
    }
    std::optional<Error> download(std::span<std::byte> /*to*/, const std::byte* /*from*/) override {
        return refusal_;
    }
    std::optional<Error> copy(std::byte* /*to*/, const std::byte* /*from*/,
                              std::size_t /*bytes*/) override {
        return refusal_;
    }
    std::optional<Error> finish() override { return refusal_; }

  private:
    const Error refusal_{"back end", "no memory", ""};
};

// Runs this rank, while the other one sends `text`. Returns the failure that the channel got.
std::string failure_of_run(std::uint32_t rank, const std::string& text) {
    Options options;
    options.selection.sizes = {8};
    const Membership membership{rank, 2, 0, "node" + std::to_string(rank), "node0", 1, "17.0"};
    FixedTextChannel channel(rank, text);
    FailingBackend backend;
    Recorder recorder(options, stdout);
    EXPECT_EQ(run({options, membership, std::nullopt, channel, backend, recorder}),
              ExitCode::environment);
    return channel.failed;
}

TEST(Run, AMalformedAnswerOrTextEndsItWithTheNameOfTheRank) {
    EXPECT_EQ(failure_of_run(0, R"({"gpu":"H100")"),
              "rank 1 on node1: sent a malformed answer: not JSON, or cut short");
    EXPECT_EQ(failure_of_run(0, R"({"gpu":"H100"})"),
              "rank 1 on node1: sent a malformed answer: \"port\": not a string");
    EXPECT_EQ(failure_of_run(1, R"([["MPI",4.1]])"),
              "rank 0 on node0: sent a malformed answer: not a JSON object");
    EXPECT_EQ(failure_of_run(1, R"({"fingerprint":[{"name":"MPI","value":4.1}]})"),
              "rank 0 on node0: sent a malformed answer: \"fingerprint[0].value\": not a string");
}

TEST(Run, AnotherLibraryOnARankEndsIt) {
    EXPECT_EQ(failure_of_run(1, R"({"fingerprint":[{"name":"MPI","value":"4.0"}]})"),
              "MPI is '4.0' on rank 0, '4.1' here");
    EXPECT_EQ(failure_of_run(1, R"({"fingerprint":[{"name":"MPI","value":"4.1"}]})"),
              "back end: no memory");
}

}  // namespace
}  // namespace distgpu::scaling

// Messages from nodes, which are on srun's own host here, and from strangers.
#include "node/srun_messages.h"

#include "base/environment.h"
#include "base/format.h"
#include "mapping/texts/variables.h"
#include "node/verbose_rows.h"

#include <gtest/gtest.h>

#include <atomic>

namespace distgpu {
namespace {

// What srun hands the step's tasks.
class OfThisHost : public EnvironmentCopy {
  public:
    OfThisHost() { set("SLURM_SRUN_COMM_HOST", "127.0.0.1"); }
    std::uint16_t port() const {
        return static_cast<std::uint16_t>(std::stoul(get(srun_port_variable).value_or("0")));
    }
};

bool sends(const Environment& step, const NodeMessage& message) {
    const auto srun = read_srun_address(step);
    return srun && send_to_srun(*srun, message);
}

struct Seen {
    std::vector<NodeMessage> messages;
    std::atomic<int> calls = 0;
    std::atomic<bool> is_over = false;
};

class Receiver : public MessageReceiver {
  public:
    explicit Receiver(Seen& seen) : seen_(seen) {}
    bool receive(NodeMessage message) override {
        seen_.messages.push_back(std::move(message));
        return seen_.messages.back().kind != "unexpected";
    }
    // Asks to be called again, once.
    Deadline act(Clock::time_point now, bool is_step_over) override {
        seen_.is_over = is_step_over;
        return ++seen_.calls == 1 ? now + std::chrono::milliseconds(1) : Deadline::max();
    }

  private:
    Seen& seen_;
};

// Messages of at most `max_lines`.
struct Listening {
    explicit Listening(std::size_t max_lines) {
        listener.open(task);
        listener.start(std::make_unique<Receiver>(seen), max_lines);
    }

    OfThisHost task;
    Seen seen;
    SrunListener listener;
};

TEST(SrunMessages, ArriveWholeAndPrintable) {
    Listening srun(2);
    auto& [task, seen, listener] = srun;
    EXPECT_TRUE(sends(task, {"ended", {"256", "rank 1\x1b[2J"}}));
    EXPECT_TRUE(sends(task, {"rows", {}}));
    EXPECT_FALSE(sends(task, {"unexpected", {""}}));
    EXPECT_TRUE(sends(task, message_of_rows("0  n1\n1  n1")));
    listener.finish();
    ASSERT_EQ(seen.messages.size(), 4U);
    EXPECT_EQ(seen.messages[0].kind, "ended");
    EXPECT_EQ(seen.messages[0].lines, (std::vector<std::string>{"256", "rank 1?[2J"}));
    EXPECT_EQ(seen.messages[1].lines.size(), 0U);
    EXPECT_EQ(seen.messages[3].kind, rows_message);
    EXPECT_EQ(seen.messages[3].lines, (std::vector<std::string>{"0  n1", "1  n1"}));
    EXPECT_TRUE(seen.is_over);
    EXPECT_FALSE(sends(task, {"ended", {}}));
}

TEST(SrunMessages, LetTheReceiverActAtItsTime) {
    Listening srun(1);
    auto& [task, seen, listener] = srun;
    const Deadline deadline = Clock::now() + std::chrono::seconds(10);
    while (seen.calls < 2 && Clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(seen.calls, 2);
    EXPECT_FALSE(seen.is_over);
}

// Those that wait when the step ends are not lost.
TEST(SrunMessages, AreTakenFromNodesOfTheStepAlone) {
    Listening srun(1);
    auto& [task, seen, listener] = srun;
    const Deadline deadline = Clock::now() + std::chrono::seconds(10);
    const auto silent = connect_to("127.0.0.1", task.port(), deadline);
    ASSERT_TRUE(silent);
    OfThisHost stranger;
    stranger.set(srun_port_variable, formatted("{} {}", task.port(), std::string(64, '0')));
    EXPECT_FALSE(sends(stranger, {"ended", {"forged"}}));
    EXPECT_FALSE(sends(task, {"ended", {"more", "lines"}}));
    EXPECT_TRUE(sends(task, {"ended", {"true"}}));
    listener.finish();
    ASSERT_EQ(seen.messages.size(), 1U);
    EXPECT_EQ(seen.messages[0].lines.front(), "true");
}

TEST(SrunMessages, AreNotSentWhereNobodyTakesThem) {
    OfThisHost task;
    EXPECT_FALSE(sends(task, {"ended", {}}));
    for (const char* where : {"", "1", "1 x", "0 x", "70000 x", "x x"}) {
        task.set(srun_port_variable, where);
        EXPECT_FALSE(sends(task, {"ended", {}})) << where;
    }
    task.set(srun_port_variable, "9 x");
    EXPECT_TRUE(read_srun_address(task));
    task.set("SLURM_SRUN_COMM_HOST", "::1");
    EXPECT_TRUE(read_srun_address(task));
    task.set("SLURM_SRUN_COMM_HOST", "name.example");
    EXPECT_FALSE(read_srun_address(task));
}

// A listener that no step needs opens a port and starts nothing.
TEST(SrunMessages, NeedAStart) {
    OfThisHost task;
    SrunListener listener;
    EXPECT_FALSE(listener.is_started());
    listener.start(nullptr, 1);
    EXPECT_FALSE(listener.is_started());
    listener.open(task);
    EXPECT_FALSE(listener.is_started());
    EXPECT_NE(task.port(), 0);
}

}  // namespace
}  // namespace distgpu

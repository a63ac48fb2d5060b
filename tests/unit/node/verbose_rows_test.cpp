// Rows of several nodes, in whatever order they come, and among strangers.
#include "node/verbose_rows.h"

#include "base/environment.h"
#include "base/format.h"
#include "mapping/texts/variables.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

// What srun hands its tasks, which are on its own host here.
class OfThisHost : public EnvironmentCopy {
  public:
    OfThisHost() { set("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1"); }
    std::uint16_t port() const {
        return static_cast<std::uint16_t>(std::stoul(get(rows_variable).value_or("0")));
    }
};

std::string printed(VerboseRows& rows) {
    rows.finish();
    return testing::internal::GetCapturedStderr();
}

TEST(VerboseRows, AreSortedByRankWhateverComesFirst) {
    testing::internal::CaptureStderr();
    OfThisHost task;
    VerboseRows rows;
    rows.collect(task, 3, 2);
    EXPECT_TRUE(send_rows(task, "distgpu:   10  n3"));
    EXPECT_TRUE(send_rows(task, "distgpu:    0  n1\ndistgpu:    9  n1\ndistgpu: rendezvous n1:2"));
    EXPECT_TRUE(send_rows(task, "distgpu:    1  n2\x1b[2J"));
    EXPECT_EQ(printed(rows),
              "distgpu:    0  n1\ndistgpu:    1  n2?[2J\ndistgpu:    9  n1\ndistgpu:   10  n3\n"
              "distgpu: rendezvous n1:2\n");
    EXPECT_FALSE(send_rows(task, "distgpu:    2  n4"));
}

// Those of an ended step are printed without those that did not come.
TEST(VerboseRows, AreTakenFromTasksOfTheStepAlone) {
    testing::internal::CaptureStderr();
    OfThisHost task;
    VerboseRows rows;
    rows.collect(task, 3, 1);
    const Deadline deadline = Clock::now() + std::chrono::seconds(10);
    const auto silent = connect_to("127.0.0.1", task.port(), deadline);
    ASSERT_TRUE(silent);
    OfThisHost stranger;
    stranger.set(rows_variable, formatted("{} {}", task.port(), std::string(64, '0')));
    EXPECT_FALSE(send_rows(stranger, "distgpu:    0  forged"));
    EXPECT_FALSE(send_rows(task, "distgpu:    0  more\ndistgpu:    1  rows\ndistgpu:    2  than"));
    EXPECT_TRUE(send_rows(task, "distgpu:    0  n1"));
    EXPECT_EQ(printed(rows), "distgpu:    0  n1\n");
}

TEST(VerboseRows, AreNotSentWhereNobodyTakesThem) {
    OfThisHost task;
    EXPECT_FALSE(send_rows(task, "distgpu:    0  n1"));
    for (const char* where : {"", "1", "1 x", "0 x", "70000 x", "x x"}) {
        task.set(rows_variable, where);
        EXPECT_FALSE(send_rows(task, "distgpu:    0  n1")) << where;
    }
    task.set("SLURM_LAUNCH_NODE_IPADDR", "name.example");
    EXPECT_FALSE(send_rows(task, "distgpu:    0  n1"));
}

}  // namespace
}  // namespace distgpu

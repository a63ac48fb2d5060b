// A task is a sleeping program; what reads the GPUs is a script.
#include "report/sampler.h"

#include "base/io/descriptor.h"
#include "inspect/sleeper.h"
#include "made_up_folder.h"
#include "report/report_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Answers each question with one GPU of the process that it names.
constexpr const char* reader = R"(#!/bin/sh
[ "$*" = "report --read-gpus" ] || exit 1
while read -r pid; do
    echo '{"cpu_seconds": 0.5, "processes": [{"pid": '$pid', "gpus": ["0000:07:00.0"]}],
        "gpus": [{"pci": "0000:07:00.0", "uuid": "GPU-1", "model": "H100", "source": "NVML",
        "times": ['$(date +%s.%N)'], "busy": [70], "memory_total": 80, "memory_used": 30,
        "joules": null, "watts": null, "reasons": [], "xids": [], "pcie_width": 16,
        "pcie_width_max": 16, "lost": false}], "problem": ""}' | tr '\n' ' '
    echo
done
)";

class SamplerTest : public testing::Test {
  protected:
    SamplerTest() {
        options_.step = {.step = step(), .component = step(), .node = "n1", .nodes = 1, .tasks = 1};
        options_.step.file = folder_.path("x.json");
        options_.step.command = folder_.write_program("distgpu", reader);
        options_.interval = 50ms;
        options_.pause = 100ms;
    }

    // A job that no other test has.
    static std::string job() { return "44" + std::to_string(getpid()); }
    static std::string step() { return job() + ".0"; }

    // slurmstepd's end of the control, while the sampler runs.
    void start() {
        options_.control = control_.read.fd();
        pid_ = fork();
        if (pid_ != 0) return;
        control_.write = UniqueFd();
        _exit(sample_step_for_report(options_) ? EXIT_SUCCESS : EXIT_FAILURE);
    }

    void say(const std::string& line) const { write_all(control_.write.fd(), line); }

    int end() {
        say(std::string(all_ended_line));
        return lose_control();
    }

    // As if slurmstepd had been killed.
    int lose_control() {
        control_.write = UniqueFd();
        int status = 0;
        EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
        return WEXITSTATUS(status);
    }

    // Waits until the file shows that; false after ten seconds.
    bool shows(const std::function<bool(const NodeReport&)>& condition) const {
        for (const auto deadline = Clock::now() + 10s; Clock::now() < deadline; usleep(10'000)) {
            const auto report = read_step_report(options_.step.file);
            if (report && report->reports.size() == 1 && condition(report->reports[0])) return true;
        }
        return false;
    }

    NodeReport report() const { return read_step_report(options_.step.file)->reports.at(0); }

    MadeUpFolder folder_;
    Sleeper task_{{"SLURM_JOB_ID=" + job(), "SLURM_STEP_ID=0", "SLURM_PROCID=0", "RANK=3"}};
    SamplerOptions options_;
    Pipe control_ = make_pipe();
    pid_t pid_ = -1;
};

TEST_F(SamplerTest, RecordsAStepWhileItRunsAndItsEnd) {
    start();
    const auto has_gpu = [](const NodeReport& node) {
        return !node.ranks.empty() && !node.gpus.empty() && node.gpus[0].busy.samples() > 2;
    };
    ASSERT_TRUE(shows(has_gpu));
    EXPECT_FALSE(report().is_complete);
    say("0 256\n");
    EXPECT_TRUE(shows([](const NodeReport& node) { return node.ranks.at(0).status == 256; }));
    EXPECT_EQ(end(), EXIT_SUCCESS);
    const NodeReport node = report();
    EXPECT_TRUE(node.is_complete);
    ASSERT_THAT(node.ranks, SizeIs(1));
    EXPECT_EQ(node.ranks[0].rank, 3U);
    EXPECT_EQ(node.ranks[0].program, "sleep");
    EXPECT_GT(node.ranks[0].memory_peak, 0U);
    EXPECT_GT(node.ranks[0].cpus, 0U);
    EXPECT_THAT(node.ranks[0].gpus, ElementsAre("0000:07:00.0"));
    ASSERT_THAT(node.gpus, SizeIs(1));
    EXPECT_EQ(node.gpus[0].busy.mean(), 70);
    EXPECT_THAT(node.gpus[0].ranks, ElementsAre(3));
    EXPECT_EQ(node.cost.gpu_cpu_seconds, 0.5);
    EXPECT_GT(node.cost.writes, 1U);
    EXPECT_GT(node.cost.memory_peak, 100U << 10U);
    EXPECT_LT(node.cost.memory_peak, 1U << 30U);
    struct stat status {};
    ASSERT_EQ(stat(options_.step.file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SamplerTest, IsIncompleteIfSlurmstepdWasKilled) {
    start();
    ASSERT_TRUE(shows([](const NodeReport& node) { return !node.ranks.empty(); }));
    EXPECT_EQ(lose_control(), EXIT_SUCCESS);
    EXPECT_FALSE(report().is_complete);
}

TEST_F(SamplerTest, WritesAtOnceWhenTheEndIsAnnounced) {
    options_.pause = 10min;
    start();
    ASSERT_TRUE(shows([](const NodeReport& node) { return node.cost.writes == 1; }));
    usleep(300'000);
    kill(pid_, SIGTERM);
    EXPECT_TRUE(shows([](const NodeReport& node) { return node.cost.writes == 2; }));
    EXPECT_EQ(end(), EXIT_SUCCESS);
    EXPECT_EQ(report().cost.writes, 3U);
}

// The driver hangs; the ranks are recorded all the same.
TEST_F(SamplerTest, DoesNotWaitForTheGpus) {
    folder_.write_program("distgpu", "#!/bin/sh\nexec sleep 60\n");
    start();
    EXPECT_TRUE(shows(
        [](const NodeReport& node) { return !node.ranks.empty() && node.notes.size() == 1; }));
    EXPECT_EQ(end(), EXIT_SUCCESS);
    EXPECT_THAT(report().notes, ElementsAre("the GPUs' driver did not answer for some time"));
}

TEST_F(SamplerTest, SaysThatNothingReadTheGpus) {
    folder_.write_program("distgpu", "#!/bin/sh\nexit 1\n");
    start();
    EXPECT_TRUE(shows([](const NodeReport& node) { return node.notes.size() == 1; }));
    EXPECT_EQ(end(), EXIT_SUCCESS);
    EXPECT_THAT(report().notes, ElementsAre("GPUs were not measured: distgpu report ended"));
}

TEST_F(SamplerTest, NeverWritesOverAnotherFile) {
    folder_.write("x.json", "mine");
    options_.control = control_.read.fd();
    control_.write = UniqueFd();
    const auto sampled = sample_step_for_report(options_);
    ASSERT_FALSE(sampled);
    EXPECT_THAT(sampled.error().message(), HasSubstr("x.json: File exists; the step runs without"));
    EXPECT_EQ(folder_.read("x.json"), "mine");
}

}  // namespace
}  // namespace distgpu

// A task's variables and CPUs, as check judges them.
#include "check/variables.h"
#include "map_environment.h"
#include "tools/findings_text.h"
#include "tools/made_up_task.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string cpus(const char* list, const Variables& variables) {
    return text(check_cpus(MapEnvironment(variables), *CpuSet::parse(list)));
}

TEST(CheckCpus, AreEnough) {
    EXPECT_EQ(cpus("0-3", {{"SLURM_CPUS_PER_TASK", "4"},
                           {"OMP_NUM_THREADS", "4"},
                           {"CUDA_VISIBLE_DEVICES", "0"}}),
              "");
    EXPECT_EQ(cpus("0", {}), "");
}

TEST(CheckCpus, AreFewerThanAskedFor) {
    EXPECT_EQ(cpus("0-2", {{"SLURM_CPUS_PER_TASK", "4"}}),
              "warning CPUs: only 3 of the 4 that --cpus-per-task asks for\n");
    EXPECT_EQ(cpus("0-2", {{"OMP_NUM_THREADS", "4"}}),
              "warning OMP_NUM_THREADS: 4 threads for 3 CPUs\n");
    EXPECT_EQ(cpus("0", {{"CUDA_VISIBLE_DEVICES", "0"}}),
              "warning CPUs: only one for a process with a GPU\n");
}

TEST(CheckVariables, SaysWhatIsWrong) {
    const auto found = [](const Variables& variables) {
        return text(
            check_variables(MapEnvironment(variables), made_up_task("pytorch,port=2000", 2000)));
    };
    EXPECT_EQ(found({{"RANK", "0"}, {"MASTER_PORT", "2000"}}), "");
    EXPECT_EQ(found({}), "failed RANK: not set\n");
    EXPECT_EQ(found({{"RANK", "1"}}), "failed RANK: is 1, but should be 0\n");
    EXPECT_EQ(found({{"RANK", "0"}, {"PET_X", "1"}}),
              "failed PET_X: is set, but would mislead the framework\n");
    EXPECT_EQ(found({{"RANK", "0"}, {"MASTER_PORT", "2001"}}),
              "failed MASTER_PORT: is 2001, but port= gives 2000\n");
}

TEST(CheckVariables, NamesWhatAContainerSetsOtherwise) {
    const Variables variables{
        {"RANK", "0"},
        {"NCCL_DEBUG", "INFO"},
        {"NCCL_SOCKET_IFNAME", "eth9"},
        {"SLURM_DISTGPU_CONTAINER", "NCCL_DEBUG:export NCCL_SOCKET_IFNAME:container"}};
    const Findings findings =
        check_variables(MapEnvironment(variables), made_up_task("pytorch", 2000));
    EXPECT_EQ(text(findings),
              "warning NCCL_DEBUG: the container sets another value than you exported; 'INFO' is "
              "used\n"
              "warning NCCL_SOCKET_IFNAME: the container sets another value than distgpu would; "
              "'eth9' is used\n");
    EXPECT_EQ(findings.front().error.remedy, "remove it from the image, or do not export it");
    EXPECT_EQ(findings.back().error.remedy,
              "export the variable to choose, or remove it from the image");
}

TEST(CheckVariables, SaysWhoCanMendThem) {
    const auto remedy = [](const Variables& variables) {
        return check_variables(MapEnvironment(variables), made_up_task("pytorch", 2000))
            .front()
            .error.remedy;
    };
    EXPECT_EQ(remedy({}), "start it with srun --distgpu=pytorch, or with distgpu exec pytorch");
    EXPECT_EQ(remedy({{"SLURM_DISTGPU_PREPARED", "0.0 pytorch"}}).substr(0, 35),
              "something changed it after distgpu:");
}

}  // namespace
}  // namespace distgpu

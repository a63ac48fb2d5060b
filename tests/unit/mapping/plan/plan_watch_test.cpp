// What the tasks of a watched step get.
#include "plan_testing.h"

#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

const std::string ras = "NCCL_RAS_ADDR";
const std::string buffer = "TORCH_FR_BUFFER_SIZE";
const std::string file = "TORCH_FR_DUMP_TEMP_FILE";

Values of_rank0(const std::string& spec, std::uint32_t tasks, const NodeFacts& node = {}) {
    return values(planned(spec.c_str(), layout("n1", {{0, 1, tasks, 1}}), 0, node).tasks.front());
}

TEST(PlanWatch, FrameworksAreToldToKeepWhatWhyReads) {
    const Values set = of_rank0("pytorch,watch", 4);
    EXPECT_EQ(set.at("NCCL_RAS_ENABLE"), "1");
    EXPECT_EQ(set.at(buffer), "2000");
    EXPECT_EQ(set.at(file), "distgpu-4242.0-rank_");
    // The last of the 16 ports from MASTER_PORT on.
    EXPECT_EQ(set.at("MASTER_PORT"), "26912");
    EXPECT_EQ(set.at(ras), "localhost:26927");
}

TEST(PlanWatch, WithoutTheKeyTheyAreLeftAlone) {
    for (const std::string spec : {"pytorch", "pytorch,watch=off"}) {
        const Values set = of_rank0(spec, 4);
        for (const std::string& name : {ras, buffer, file, std::string("NCCL_RAS_ENABLE")}) {
            EXPECT_FALSE(set.contains(name)) << spec << " " << name;
        }
    }
}

TEST(PlanWatch, APortIsGivenWhereOneIsFree) {
    EXPECT_EQ(of_rank0("pytorch,watch", 15).count(ras), 1U);
    EXPECT_EQ(of_rank0("pytorch,watch", 16).count(ras), 0U);
    EXPECT_EQ(of_rank0("pytorch,watch", 17).count(ras), 1U);
    // Also beside a port of the user's own, from the step's others.
    const Values own = of_rank0("pytorch,watch,port=5000", 4);
    EXPECT_EQ(own.at("MASTER_PORT"), "5000");
    EXPECT_EQ(own.at(ras), "localhost:26927");
}

TEST(PlanWatch, TheUsersExportStaysByItsOlderNameToo) {
    const Values set = of_rank0(
        "pytorch,watch", 4,
        {.exported = {ras, "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}});
    EXPECT_FALSE(set.contains(ras));
    EXPECT_FALSE(set.contains(buffer));
    EXPECT_FALSE(set.contains(file));
    EXPECT_TRUE(set.contains("NCCL_RAS_ENABLE"));
    EXPECT_FALSE(of_rank0("pytorch,watch", 4, {.exported = {buffer}}).contains(buffer));
}

TEST(PlanWatch, ServersMayWaitAsLongAsTheyWant) {
    const auto error = refusal(request("vllm,watch=30:end"), Step{layout("n1", {{0, 1, 1, 1}})});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(),
              "distgpu: watch=30:end: vllm may wait for work as long as that; write watch alone, "
              "and ask distgpu why yourself");
    EXPECT_FALSE(refusal(request("vllm,watch"), Step{layout("n1", {{0, 1, 1, 1}})}));
}

}  // namespace
}  // namespace distgpu::plan_testing

// Open MPI's variables, and those of Azure ML's MPI jobs.
#include "mapping/frameworks/registry.h"
#include "task_values.h"

#include <algorithm>

namespace distgpu {
namespace {

// OMPI_COMM_WORLD_NODE_RANK is the rank on the node (mpirun(1)), despite its name.
TEST(Ompi, NodeRankIsTheLocalRank) {
    EXPECT_EQ(values(ompi, sample_task()), (Values{{"OMPI_COMM_WORLD_SIZE", "8"},
                                                   {"OMPI_COMM_WORLD_RANK", "6"},
                                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                                   {"OMPI_COMM_WORLD_NODE_RANK", "2"},
                                                   {"OMPI_UNIVERSE_SIZE", "8"},
                                                   {"AZ_BATCH_MASTER_NODE", "node01:29500"},
                                                   {"AZ_BATCHAI_MPI_MASTER_NODE", "node01"},
                                                   {"MASTER_ADDR", "node01"},
                                                   {"MASTER_PORT", "29500"}}));
}

// One task a node whose script starts the others: the guide's NODE_RANK is then
// OMPI_COMM_WORLD_RANK, and Lightning must not see Slurm's one task.
TEST(OmpiPerNode, HidesSlurmFromLightning) {
    const SampleStep step("mpi,per-node", "n[1-2]", "1(x2)");
    Values expected = values(ompi, sample_task());
    expected["SLURM_JOB_NAME"] = "interactive";
    EXPECT_EQ(values(*step.request.framework, sample_task()), expected);
    EXPECT_EQ(unset_patterns(*step.request.framework), unset_patterns(ompi));
    EXPECT_EQ(refusal_of(step), "");
    EXPECT_NE(refusal_of({"mpi,per-node", "n[1-2]", "2,1"}), "");
}

TEST(Ompi, LeavesTheChoiceOfAzuresPathToTheUser) {
    const auto names = unset_patterns(ompi);
    EXPECT_EQ(std::count(names.begin(), names.end(), "LOCAL_RANK"), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), "AZUREML_EXPERIMENT_ID"), 0);
}

TEST(Ompi, WarnsWhereSlurmOffersNoMpi) {
    SampleStep step("mpi", "n[1-2]", "2(x2)");
    EXPECT_EQ(ompi.refuse, nullptr);
    for (const char* type : {"", "pmix", "pmi2"}) {
        step.facts.mpi_type = type;
        EXPECT_EQ(ompi.warn(step.view()), std::nullopt) << type;
    }
    step.facts.mpi_type = "none";
    const auto warning = ompi.warn(step.view());
    ASSERT_TRUE(warning);
    EXPECT_EQ(
        warning->message(),
        "distgpu: --distgpu=ompi: with --mpi=none, an MPI program fails in MPI_Init; use srun "
        "--mpi=pmix, unless the program only reads OMPI_COMM_WORLD_*");
}

}  // namespace
}  // namespace distgpu

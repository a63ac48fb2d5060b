// What the frameworks' records refuse, warn of, and give beyond what the golden plans show.
#include "base/format.h"
#include "mapping/plan/plan.h"
#include "task_values.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

// torch takes the address and the port apart: no brackets.
TEST(Pytorch, Ipv6AddressesStayBare) {
    TaskContext task = sample_task();
    task.master_address = "fd00::1";
    EXPECT_EQ(values(pytorch, task)["MASTER_ADDR"], "fd00::1");
}

TEST(Torchrun, RefusesSeveralTasksOnANode) {
    // The fullest node counts, wherever it stands.
    for (const char* counts : {"4,1,1", "1,1,4", "4(x3)"}) {
        EXPECT_EQ(refusal_of({"torchrun", "n[1-3]", counts}),
                  "distgpu: --distgpu=torchrun: 4 tasks on a node, but this mode's launcher starts "
                  "the processes itself and needs one task per node; use --ntasks-per-node=1 "
                  "--distgpu=torchrun, or --distgpu=pytorch and the script without its launcher")
            << counts;
    }
}

TEST(Launchers, NameTheModeOfATaskForEachProcess) {
    for (const auto& [spec, other] : {std::pair{"torchrun,rdzv=c10d", "pytorch"},
                                      {"lightning,per-node", "lightning"},
                                      {"accelerate,per-node", "accelerate"},
                                      {"deepspeed,per-node", "deepspeed"},
                                      {"composer,nproc=2", "pytorch"}}) {
        const std::string text = refusal_of({spec, "n[1-2]", "2,1"});
        EXPECT_NE(
            text.find(formatted(", or --distgpu={} and the script without its launcher", other)),
            std::string::npos)
            << text;
    }
}

TEST(Composer, RefusesUnequalNodesWithoutANumberOfProcesses) {
    SampleStep step("composer", "n[1-2]", "1(x2)");
    EXPECT_EQ(refusal_of(step), "");
    step.facts.cpus_per_node = "8(x2)";
    EXPECT_EQ(refusal_of(step), "");
    step.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(step),
              "distgpu: --distgpu=composer: the nodes differ (CPUs: 8,4), but Composer starts the "
              "same number of processes on each; set the number with --distgpu=composer,nproc=N");
    SampleStep told("composer,nproc=4", "n[1-2]", "1(x2)");
    told.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(told), "");
    // The job's nodes differ, the step has one of them.
    SampleStep alone("composer", "n1", "1");
    alone.facts.cpus_per_node = "8,4";
    EXPECT_EQ(refusal_of(alone), "");
}

// slurm.py does not look for Slurm in a job of one of two names.
TEST(Lightning, ShowsSlurmInAJobThatIsTakenForInteractive) {
    SampleStep step("lightning", "n[1-2]", "4(x2)");
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.step = &view;
    for (const char* name : {"", "train", "bash2", "Interactive"}) {
        step.facts.job_name = name;
        EXPECT_EQ(values(lightning, task).count("SLURM_JOB_NAME"), 0) << name;
    }
    for (const char* name : {"bash", "interactive"}) {
        step.facts.job_name = name;
        EXPECT_EQ(values(lightning, task).at("SLURM_JOB_NAME"), "lightning") << name;
    }
}

// slurm.py refuses a number of devices other than SLURM_NTASKS_PER_NODE.
TEST(Lightning, RefusesUnequalNodes) {
    EXPECT_EQ(refusal_of({"lightning", "n[1-2]", "2(x2)"}), "");
    EXPECT_EQ(refusal_of({"lightning", "n[1-3]", "1,3,2"}),
              "distgpu: --distgpu=lightning: the nodes have 1 to 3 tasks, but Lightning needs the "
              "same number on every node; use --ntasks-per-node=N");
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

TEST(Horovod, RefusesAStepWithoutMpi) {
    SampleStep step("horovod", "n[1-2]", "2(x2)");
    for (const char* type : {"", "pmix"}) {
        step.facts.mpi_type = type;
        EXPECT_EQ(refusal_of(step), "") << type;
    }
    step.facts.mpi_type = "none";
    EXPECT_EQ(refusal_of(step),
              "distgpu: --distgpu=horovod: Horovod takes its ranks from MPI, but --mpi=none "
              "provides no MPI; use srun --mpi=pmix, or --distgpu=horovod,backend=gloo");
    EXPECT_EQ(SampleStep("horovod,backend=gloo", "n1", "2").request.framework->refuse, nullptr);
}

// jax/_src/distributed.py splits host and port at the colon.
TEST(Jax, TheCoordinatorHasAPort) {
    TaskContext task = sample_task();
    EXPECT_EQ(values(jax, task), (Values{{"JAX_COORDINATOR_ADDRESS", "node01:29500"},
                                         {"MASTER_ADDR", "node01"},
                                         {"MASTER_PORT", "29500"}}));
    task.master_address = "fd00::1";
    EXPECT_EQ(values(jax, task)["JAX_COORDINATOR_ADDRESS"], "[fd00::1]:29500");
}

TEST(Jax, DealsTheVisibleGpus) {
    struct Row {
        const char* title;
        std::uint32_t gpus, tasks, local_rank;
        const char* ids;
    };
    const std::vector<Row> rows = {
        {"a task for each", 4, 4, 2, "2"},          {"one task for all", 4, 1, 0, "0,1,2,3"},
        {"one visible GPU each", 1, 4, 3, "0"},     {"two for each", 8, 4, 1, "2,3"},
        {"seven for two: three", 7, 2, 0, "0,1,2"}, {"seven for two: four", 7, 2, 1, "3,4,5,6"},
        {"more tasks than GPUs", 2, 4, 3, "1"},
    };
    for (const auto& row : rows) {
        TaskContext task = sample_task();
        task.gpus = row.gpus;
        task.local_world_size = row.tasks;
        task.local_rank = LocalRank{row.local_rank};
        EXPECT_EQ(values(jax, task)["JAX_LOCAL_DEVICE_IDS"], row.ids) << row.title;
    }
}

// TF_CONFIG of a task, with port 29500.
std::string config(const SampleStep& step, std::uint32_t id) {
    const StepView view = step.view();
    TaskContext task = sample_task();
    task.rank = GlobalRank{id};
    task.step = &view;
    return values(tensorflow, task).at("TF_CONFIG");
}

TEST(Tensorflow, BracketsIpv6Addresses) {
    SampleStep step("tensorflow", "n[1-2]", "1(x2)");
    step.addresses = HostList::from_names(std::vector<std::string>{"fd00::1", "10.0.0.2"});
    EXPECT_EQ(config(step, 0), R"({"cluster":{"worker":["[fd00::1]:29500","10.0.0.2:29500"]},)"
                               R"("task":{"type":"worker","index":0}})");
}

TEST(Tensorflow, RefusesMoreRolesThanTasks) {
    EXPECT_EQ(refusal_of({"tf,chief=1,ps=2", "n1", "4"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1", "n1", "1"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1,evaluator=1", "n1", "2"}), "");
    EXPECT_EQ(refusal_of({"tf,chief=1,ps=2,evaluator=1", "n1", "3"}),
              "distgpu: --distgpu=tf: 4 tasks for chief, ps and evaluator, but the step has "
              "3; use --ntasks=5 or more");
    // A parameter server serves workers, an evaluator trains nothing.
    for (const char* spec : {"tf,ps=2", "tf,chief=1,ps=1", "tf,ps=1,evaluator=1"}) {
        EXPECT_EQ(refusal_of({spec, "n1", "2"}),
                  "distgpu: --distgpu=tf: chief, ps and evaluator use all 2 tasks, so no "
                  "worker is left; use "
                  "--ntasks=3 or more")
            << spec;
    }
}

// {"cluster":{"worker":[ is 22 bytes, ]},"task":{"type":"worker","index":8186}} is 41, and a
// 7-letter host with its quotes, colon, port and comma 16, the last without its comma:
// 16 n + 62 bytes for n workers, of which 8187 fit into 131,060.
TEST(Tensorflow, RefusesAConfigurationThatNoVariableHolds) {
    const std::string too_many = refusal_of({"tensorflow", "nod[1001-9200]", "1(x8200)"});
    EXPECT_EQ(too_many.substr(0, 58), "distgpu: --distgpu=tensorflow: TF_CONFIG would have 131262");
    // Shortened or lengthened by one byte at the limit, counted on the text itself.
    for (std::uint32_t hosts = 8180; hosts < 8200; ++hosts) {
        SampleStep step("tensorflow", formatted("nod[1001-{}]", 1000 + hosts).c_str(),
                        formatted("1(x{})", hosts).c_str());
        const std::size_t length = config(step, hosts - 1).size();
        EXPECT_EQ(refusal_of(step).empty(), length <= 131'060) << hosts << ": " << length;
    }
}

}  // namespace
}  // namespace distgpu

// Which GPUs a process can open, whose they are, and what NVIDIA's driver (580) says of them: files
// of a folder stand for /dev, /proc and /sys. What the cgroup denies is tested on a cluster
// (gpu_identity.bats).
#include "node/gpus.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace distgpu {
namespace {

using Indices = std::vector<std::uint32_t>;

Gpu gpu(GpuVendor vendor, const char* pci, std::optional<std::uint32_t> minor) {
    Gpu result;
    result.vendor = vendor;
    result.pci = pci;
    result.minor = minor;
    return result;
}

TEST(UsableGpus, AreThoseWhoseFilesThisProcessMayOpen) {
    const MadeUpFolder dev;
    NodeTopology topology;
    for (const std::uint32_t minor : {3U, 2U, 1U, 0U}) {
        topology.gpus.push_back(gpu(GpuVendor::nvidia, "", minor));
    }
    EXPECT_EQ(usable_gpus(topology, dev.path()), Indices());
    dev.write("nvidia0", "");
    dev.write("nvidia2", "");
    dev.write("dri/renderD1", "");
    EXPECT_EQ(usable_gpus(topology, dev.path()), (Indices{1, 3}));
    topology.gpus[0].minor.reset();
    EXPECT_EQ(usable_gpus(topology, dev.path()), std::nullopt);
}

TEST(UsableGpus, OfOtherMakersAreRenderNodes) {
    const MadeUpFolder dev;
    dev.write("dri/renderD129", "");
    dev.write("nvidia128", "");
    for (const GpuVendor vendor : {GpuVendor::amd, GpuVendor::intel}) {
        NodeTopology topology;
        topology.gpus = {gpu(vendor, "", 128), gpu(vendor, "", 129)};
        EXPECT_EQ(usable_gpus(topology, dev.path()), Indices{1});
    }
}

TEST(AskDrivers, FillsInWhatAnXmlDoesNotHold) {
    const MadeUpFolder folder;
    const MachineRoots roots{folder.path("proc"), folder.path("sys")};
    folder.write("proc/driver/nvidia/gpus/0000:06:00.0/information",
                 "GPU UUID: GPU-6\nDevice Minor: 3\n");
    folder.write("sys/bus/pci/devices/0000:16:00.0/drm/card1/dev", "");
    folder.write("sys/bus/pci/devices/0000:16:00.0/drm/renderD130/dev", "");
    NodeTopology topology;
    topology.gpus = {gpu(GpuVendor::nvidia, "0000:06:00.0", std::nullopt),
                     gpu(GpuVendor::nvidia, "0000:07:00.0", std::nullopt),
                     gpu(GpuVendor::nvidia, "0000:06:00.0", 9),
                     gpu(GpuVendor::amd, "0000:16:00.0", std::nullopt),
                     gpu(GpuVendor::amd, "0000:16:00.0", std::nullopt),
                     gpu(GpuVendor::intel, "0000:17:00.0", std::nullopt)};
    topology.gpus[0].uuid = "GPU-of-another-node";
    topology.gpus[2].uuid = "GPU-9";
    topology.gpus[4].partition = 1;  // the device's file is the first one's
    read_driver_ids(topology, roots);
    EXPECT_EQ(topology.gpus[0].minor, 3);
    EXPECT_EQ(topology.gpus[0].uuid, "GPU-6");
    EXPECT_EQ(topology.gpus[1].minor, std::nullopt);
    EXPECT_EQ(topology.gpus[2].minor, 9);
    EXPECT_EQ(topology.gpus[2].uuid, "GPU-9");
    EXPECT_EQ(topology.gpus[3].minor, 130);
    EXPECT_EQ(topology.gpus[4].minor, std::nullopt);
    EXPECT_EQ(topology.gpus[5].minor, std::nullopt);
}

// ---- Whose GPUs a task sees, by each variable that says so.

using Variables = MapEnvironment::Variables;

// A task that sees two of the node's four GPUs.
Variables task_with(const char* name, const char* value) {
    Variables variables{{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "0,1"}};
    variables[name] = value;
    return variables;
}

TEST(GpuOwner, IsWhomSlurmsVariablesName) {
    struct Row {
        const char* variable;
        const char* value;
        GpuOwner owner;
    };
    const std::vector<Row> rows = {
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", GpuOwner::jobs},
        {"SLURM_SHARDS_ON_NODE", "2", GpuOwner::jobs},
        {"SLURM_GPUS_PER_TASK", "1", GpuOwner::task},
        {"SLURM_GPU_BIND", "closest", GpuOwner::task},
        {"SLURM_TRES_BIND", "gres/gpu:single:1", GpuOwner::task},
        {"SLURM_NTASKS_PER_GPU", "1", GpuOwner::task},
        // 24.11 and newer: --tres-per-task, which --gpus-per-task sets too, and --cpus-per-task.
        {"SLURM_TRES_PER_TASK", "gres/gpu=1", GpuOwner::task},
        {"SLURM_TRES_PER_TASK", "cpu=4,gres/gpu:h100=1", GpuOwner::task},
        {"SLURM_TRES_PER_TASK", "cpu=4", GpuOwner::step},
        {"SLURM_TRES_PER_TASK", "license/gpu=1", GpuOwner::step},
        {"SLURMD_TRES_BIND", "gpu:per_task:2", GpuOwner::task},
        {"SLURMD_TRES_BIND", "gres/gpu:per_task:2", GpuOwner::task},
        {"SLURMD_TRES_BIND", "nic:closest+gpu:verbose,map_gpu:3,0", GpuOwner::task},
        {"SLURMD_TRES_BIND", "gpu:none", GpuOwner::step},
        {"SLURMD_TRES_BIND", "gpu:verbose,none", GpuOwner::step},
        {"SLURMD_TRES_BIND", "nic:closest", GpuOwner::step},
        {"SLURM_GPUS_ON_NODE", "2", GpuOwner::step},
    };
    for (const auto& row : rows) {
        const Variables named = task_with(row.variable, row.value);
        EXPECT_EQ(gpu_owner(MapEnvironment(named)), row.owner) << row.variable;
        EXPECT_EQ(gpu_owner(MapEnvironment(task_with(row.variable, ""))), GpuOwner::step)
            << row.variable;
    }
    // All jobs before the task.
    Variables both = task_with("SLURM_GPUS_PER_TASK", "1");
    both["SLURM_SHARDS_ON_NODE"] = "2";
    EXPECT_EQ(gpu_owner(MapEnvironment(both)), GpuOwner::jobs);
}

TEST(CountsByPci, UnlessAnotherOrderIsSet) {
    EXPECT_TRUE(uses_pci_order(MapEnvironment(Variables{})));
    for (const char* order : {"", "PCI_BUS_ID"}) {
        EXPECT_TRUE(uses_pci_order(MapEnvironment(task_with("CUDA_DEVICE_ORDER", order)))) << order;
    }
    for (const char* order : {"FASTEST_FIRST", "pci_bus_id"}) {
        EXPECT_FALSE(uses_pci_order(MapEnvironment(task_with("CUDA_DEVICE_ORDER", order))))
            << order;
    }
}

TEST(GpuVariables, AreThoseThatAreSetOneForEachMaker) {
    EXPECT_EQ(gpu_variables(MapEnvironment(Variables{{"CUDA_VISIBLE_DEVICES", "0"},
                                                     {"ROCR_VISIBLE_DEVICES", "1"},
                                                     {"ZE_AFFINITY_MASK", "2"}})),
              (std::vector<std::string>{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "ZE_AFFINITY_MASK"}));
    const MapEnvironment amd(
        Variables{{"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", "1"}});
    EXPECT_EQ(gpu_variables(amd), std::vector<std::string>{"ROCR_VISIBLE_DEVICES"});
    EXPECT_EQ(visible_gpus(amd), "1");
    EXPECT_EQ(visible_gpus(MapEnvironment(Variables{})), "");
}

TEST(HidesAllGpus, IfTheFirstItemIsNoGpu) {
    const auto hides = [](const char* value, bool is_amd = false) {
        return hides_all_gpus(MapEnvironment(Variables{{"CUDA_VISIBLE_DEVICES", value}}), is_amd);
    };
    for (const char* const value : {"", "-1", "-1,0", "NoDevFiles"})
        EXPECT_TRUE(hides(value)) << value;
    for (const char* const value : {"0", "0,-1", "GPU-1", "MIG-1"})
        EXPECT_FALSE(hides(value)) << value;
    EXPECT_FALSE(hides_all_gpus(MapEnvironment(Variables{})));
    // HIP ignores only an empty one.
    EXPECT_FALSE(hides("", true));
    EXPECT_TRUE(hides("-1", true));
}

// ---- What is read from folders that look like those of NVIDIA's driver (580) in /proc.

TEST(NvidiaInformation, IsWhatTheTextSays) {
    struct Row {
        const char* text;
        const char* model;
        const char* uuid;
        std::optional<std::uint32_t> minor;
    };
    for (const Row& row :
         {Row{"Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-6a1d3f52-02fe\nDevice Minor: \t 13\nGPU "
              "Excluded:\t No\n",
              "NVIDIA H200", "GPU-6a1d3f52-02fe", 13},
          // Before the GPU was opened.
          {"GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?\nDevice Minor: \t 0\n", "", "", 0},
          {"Device Minor: \t ", "", "", std::nullopt},
          {"Device Minor: \t -1", "", "", std::nullopt},
          {"Device Minor: \t x", "", "", std::nullopt},
          {"Device Minor: \t 3 ?", "", "", std::nullopt}}) {
        const MadeUpFolder proc;
        proc.write("driver/nvidia/gpus/0000:06:00.0/information", row.text);
        const NvidiaInformation gpu = nvidia_information(proc.path(), "0000:06:00.0");
        EXPECT_EQ(gpu.model, row.model) << row.text;
        EXPECT_EQ(gpu.uuid, row.uuid) << row.text;
        EXPECT_EQ(gpu.minor, row.minor) << row.text;
    }
    EXPECT_EQ(nvidia_information("/none", "0000:06:00.0").minor, std::nullopt);
}

TEST(NvidiaDriver, HasGpusWhereItListsOne) {
    const MadeUpFolder proc;
    EXPECT_FALSE(nvidia_driver_has_gpus(proc.path()));
    proc.write("driver/nvidia/version", "580");
    std::filesystem::create_directories(proc.path("driver/nvidia/gpus"));
    EXPECT_FALSE(nvidia_driver_has_gpus(proc.path()));
    proc.write("driver/nvidia/gpus/0000:06:00.0/information", "");
    EXPECT_TRUE(nvidia_driver_has_gpus(proc.path()));
}

TEST(NvidiaMig, IsInUseWhereThereIsAGpuInstance) {
    const MadeUpFolder proc;
    EXPECT_FALSE(has_mig_instances(proc.path(), 1));
    proc.write("driver/nvidia/capabilities/mig/config", "");
    proc.write("driver/nvidia/capabilities/gpu1/mig/access", "");
    EXPECT_FALSE(has_mig_instances(proc.path(), 1));
    proc.write("driver/nvidia/capabilities/gpu1/mig/gi9/access", "");
    EXPECT_TRUE(has_mig_instances(proc.path(), 1));
    EXPECT_FALSE(has_mig_instances(proc.path(), 0));
}

}  // namespace
}  // namespace distgpu

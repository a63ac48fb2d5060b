// A node's GPUs without hwloc: what NVIDIA's driver says of them, their device files and which of
// them this process can open, and who owns those that a task sees.
#pragma once

#include "base/environment.h"
#include "base/values.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

namespace distgpu {

// A step has the GPUs that its processes can open, by Slurm's device cgroup (ConstrainDevices) and
// a container's devices; SLURM_STEP_GPUS counts in the order of slurm.conf and gres.conf, which is
// neither that of minors nor that of PCI addresses. access(2) asks the kernel; open(2) would start
// the GPU. slurmstepd is outside the step's cgroup (version 2): so the tasks ask, in task_init, and
// behind pyxis in the container.

// Asks the drivers for the minors and UUIDs that `topology`, which is this machine's, lacks: an XML
// holds no minors, and a UUID is known only once the GPU was initialised.
void ask_drivers(NodeTopology& topology, const MachineRoots& roots = {});

// "/dev/nvidia0", "/dev/dri/renderD128" (each partition has its own). `dev`: where /dev is.
std::string device_file(GpuVendor vendor, std::uint32_t minor, const std::string& dev = "/dev");

// Indices into topology.gpus of those that this process can open, ascending: those that CUDA, ROCm
// and Level Zero count, from 0. Nothing: the minor of a GPU is not known. `dev`: where /dev is.
std::optional<std::vector<std::uint32_t>> usable_gpus(const NodeTopology& topology,
                                                      const std::string& dev = "/dev");

// Who owns the GPUs that a task sees. distgpu orders only those of the step alone.
enum class GpuOwner : std::uint8_t {
    step,  // every task of the step sees all of its GPUs
    task,  // GPUs were bound to tasks: each sees its own
    jobs,  // several jobs share them: MPS, shards
};

// From the variables of a task.
GpuOwner gpu_owner(const Environment& environment);

// In which Slurm names a task's GPUs, for each kind in gres.conf.
inline constexpr EnumWords<GpuVendor> gpu_lists{
    {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}};

// Those of them that are set; the first decides where they differ.
std::vector<std::string> gpu_variables(const Environment& environment);

// The value of the first of them; empty: none is set.
std::string visible_gpus(const Environment& environment);

// Whether CUDA counts GPUs by PCI address: false where CUDA_DEVICE_ORDER is set to another order.
bool counts_by_pci(const Environment& environment);

// What NVIDIA's kernel driver says of a GPU in driver/nvidia/gpus/PCI/information below `proc`. An
// empty text is not known; the UUID is known once the GPU was initialised.
struct NvidiaInformation {
    std::string model;
    std::string uuid;
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaMINOR
};
NvidiaInformation nvidia_information(const std::string& proc, const std::string& pci);

// Whether the driver has any GPU. CUDA then counts its GPUs alone: none of a virtual machine
// (vfio), and no virtual function.
bool drives_gpus(const std::string& proc);

// Whether the GPU is divided into MIG instances.
bool has_mig_instances(const std::string& proc, std::uint32_t minor);

}  // namespace distgpu

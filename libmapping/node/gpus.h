// A node's GPUs without hwloc: what NVIDIA's driver reports about them, their device files, which
// of them this process can open, and who owns the GPUs that a task sees.
#pragma once

#include "base/environment.h"
#include "base/values.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

namespace distgpu {

// A step has the GPUs that its processes can open, as limited by Slurm's device cgroup
// (ConstrainDevices) and a container's devices. SLURM_STEP_GPUS counts in the order of slurm.conf
// and gres.conf, which is neither that of minors nor that of PCI addresses. access(2) asks the
// kernel; open(2) would start the GPU. slurmstepd is outside the step's cgroup (version 2), so the
// tasks ask: in task_init, and therefore after pyxis, in the container.

// Reads from the drivers the minors and UUIDs that `topology` of this machine lacks: an XML has no
// minors, and a UUID is known only once the GPU was initialized.
void read_driver_ids(NodeTopology& topology, const MachineRoots& roots = {});

// "/dev/nvidia0", "/dev/dri/renderD128" (each partition has its own). `dev`: where /dev is.
std::string device_file(GpuVendor vendor, std::uint32_t minor, const std::string& dev = "/dev");

// Indices into topology.gpus of the GPUs that this process can open, ascending: CUDA, ROCm and
// Level Zero number these from 0. nullopt if a GPU's minor is unknown. `dev`: where /dev is.
std::optional<std::vector<std::uint32_t>> usable_gpus(const NodeTopology& topology,
                                                      const std::string& dev = "/dev");

// Who owns the GPUs that a task sees. distgpu orders them only if the step owns them.
enum class GpuOwner : std::uint8_t {
    step,  // every task of the step sees all of its GPUs
    task,  // GPUs were bound to tasks: each sees its own
    jobs,  // several jobs share them: MPS, shards
};

// From the variables of a task.
GpuOwner gpu_owner(const Environment& environment);

// The variables in which Slurm lists a task's GPUs, one per vendor.
inline constexpr EnumNames<GpuVendor> gpu_list_variables{
    {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}};

// Those of gpu_list_variables that are set; the first one counts if they differ.
std::vector<std::string> gpu_variables(const Environment& environment);

// The value of the first that is set; empty if none is.
std::string visible_gpus(const Environment& environment);

// Whether CUDA_VISIBLE_DEVICES hides every GPU from the program: it is set, and its list, which
// ends at the first item that is no GPU, has none: "", "-1", "NoDevFiles". HIP ignores an empty one
// (ROCclr's Device::init()).
bool hides_all_gpus(const Environment& environment, bool is_amd = false);

// Whether CUDA numbers GPUs by PCI address: false if CUDA_DEVICE_ORDER is set to another order.
bool uses_pci_order(const Environment& environment);

// What NVIDIA's kernel driver reports about a GPU in driver/nvidia/gpus/PCI/information below
// `proc`. Texts are empty if unknown; the UUID is known once the GPU was initialized.
struct NvidiaInformation {
    std::string model;
    std::string uuid;
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaMINOR
};
NvidiaInformation nvidia_information(const std::string& proc, const std::string& pci);

// Whether the driver has any GPU. CUDA then counts only the driver's GPUs: not those passed to a
// virtual machine (vfio), and no virtual functions.
bool nvidia_driver_has_gpus(const std::string& proc);

// Whether the GPU is divided into MIG instances.
bool has_mig_instances(const std::string& proc, std::uint32_t minor);

}  // namespace distgpu

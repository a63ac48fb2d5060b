// The device files of a node's GPUs, and which of them this process can open.
//
// Which GPUs a step has is what its processes can open: the cgroup of Slurm's ConstrainDevices and
// the devices of a container decide that. No number says it: SLURM_STEP_GPUS counts GPUs by
// slurm.conf's and gres.conf's order, which is neither the order of minors nor that of PCI
// addresses. The kernel is asked by access(2), which both versions of the device cgroup answer
// (inode_permission() calls devcgroup_inode_permission()); open(2) would start the GPU. It answers
// for the process that asks: slurmstepd itself is outside the step's cgroup (version 2), so the
// tasks ask, in task_init, and behind pyxis in the container.
//
// NVIDIA: /dev/nvidiaN, N from the driver. AMD and Intel: /dev/dri/renderDN, by which also AMD's
// compute driver decides who may use a GPU (kfd_devcgroup_check_permission()); each partition has
// its own.
#pragma once

#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Asks the drivers for the minors and UUIDs that `topology`, which is this machine's, lacks: an XML
// holds no minors, and a UUID is known only once the GPU was initialised.
void ask_drivers(NodeTopology& topology, const MachineRoots& roots = {});

// "/dev/nvidia0", "/dev/dri/renderD128". `dev`: where /dev is.
std::string device_file(GpuVendor vendor, std::uint32_t minor, const std::string& dev = "/dev");

// Indices into topology.gpus of those that this process can open, ascending: those that CUDA, ROCm
// and Level Zero count, from 0. Nothing: the minor of a GPU is not known. `dev`: where /dev is.
std::optional<std::vector<std::uint32_t>> usable_gpus(const NodeTopology& topology,
                                                      const std::string& dev = "/dev");

}  // namespace distgpu

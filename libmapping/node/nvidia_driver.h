// What NVIDIA's kernel driver says of its GPUs in /proc, without their being opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu {

struct NvidiaInformation {
    std::string model;                   // empty: not known
    std::string uuid;                    // the same; the driver knows it once a GPU was initialised
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaMINOR
};

// Of driver/nvidia/gpus/PCI/information below `proc`.
NvidiaInformation nvidia_information(const std::string& proc, const std::string& pci);

// Whether the driver has any GPU. Then CUDA counts only those that it has: not one that a virtual
// machine was given (vfio), nor a virtual function.
bool drives_gpus(const std::string& proc);

// Whether the GPU is divided into MIG instances.
bool has_mig_instances(const std::string& proc, std::uint32_t minor);

}  // namespace distgpu

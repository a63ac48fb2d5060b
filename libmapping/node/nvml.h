// NVML, NVIDIA's library for the state of GPUs, if it is installed: their MIG instances, memory,
// utilization, NVLink, energy and errors.
#pragma once

#include "mapping/topology/topology.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

struct GpuMemory {
    std::uint64_t total = 0;  // bytes
    std::uint64_t free = 0;   // at most total
};

// How busy a GPU was in one of the driver's sample periods.
struct GpuBusy {
    std::uint64_t time = 0;     // microseconds since 1970
    std::uint32_t percent = 0;  // at most 100
};

// A physical GPU now. What it does not report is empty or 0.
struct GpuState {
    bool is_lost = false;  // it has fallen off its bus; then all else is empty
    std::string uuid{};
    std::string model{};
    std::vector<GpuBusy> busy{};  // the samples of the driver's buffer, oldest first
    std::optional<GpuMemory> memory{};
    std::optional<std::uint64_t> millijoules{};  // since the driver was loaded
    std::vector<std::string> slow_clocks{};      // why its clocks are low: "power cap"
    std::uint32_t pcie_width = 0;
    std::uint32_t pcie_width_max = 0;
};

struct GpuXid {
    std::string pci;
    std::uint32_t number = 0;
};

class Nvml {
  public:
    explicit Nvml(const std::string& library = "libnvidia-ml.so.1");

    // In NVML's order; empty if the library is missing, lacks a function or fails.
    std::vector<MigInstance> mig_instances(const std::string& pci) const;

    // nullopt if the library is missing or does not report it.
    std::optional<GpuMemory> memory(const std::string& pci) const;

    // Percent of the last sample period (a sixth of a second to a second) in which a kernel ran.
    // nullopt as for memory().
    std::optional<std::uint32_t> utilization(const std::string& pci) const;

    // The samples are those after `since`, or the present utilization where the driver keeps none.
    // nullopt if the library is missing or does not know the GPU.
    std::optional<GpuState> state(const std::string& pci, std::uint64_t since) const;

    // The critical errors of these GPUs since the last call, of which the first only begins to
    // record them.
    std::vector<GpuXid> new_xids(const std::vector<std::string>& gpus);

    // Whether NVLink connects it to GPUs of other nodes (GB200 NVL72): it has joined a fabric that
    // has a UUID, which is NCCL's condition for using it. False if unknown.
    bool is_linked_to_other_nodes(const std::string& pci) const;

  private:
    struct Library;
    std::shared_ptr<const Library> library_;               // null if not usable
    std::shared_ptr<void> events_;                         // null until new_xids() records them
    std::vector<std::pair<void*, std::string>> recorded_;  // NVML's handle and address of each GPU
};

}  // namespace distgpu

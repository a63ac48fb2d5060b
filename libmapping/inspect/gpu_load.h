// How busy GPUs are, as NVIDIA's library tells it. It is asked in a process of its own: a driver
// that hangs keeps whoever asks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

using Busy = std::optional<std::uint32_t>;  // percent; nothing: not known

class GpuLoad {
  public:
    // PCI addresses, and this program.
    GpuLoad(std::vector<std::string> gpus, std::string command);

    // In the order of the GPUs. Takes up to 2 s, and another where the driver keeps the process
    // that asks; nobody is asked again after one that did not end, or found no library.
    std::vector<Busy> ask();

  private:
    std::vector<std::string> gpus_;
    std::string command_;
    bool answers_ = true;
};

// In that process: "0000:06:00.0 97" for each GPU that the library knows; empty: it is not there.
std::string gpu_load_lines(const std::string& gpus, const std::string& library);

// Of these lines, in the order of the GPUs.
std::vector<Busy> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus);

}  // namespace distgpu

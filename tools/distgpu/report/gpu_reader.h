// The sampler's side of the process that reads the GPUs (gpu_reading.h).
#pragma once

#include "base/io/descriptor.h"
#include "report/gpu_reading.h"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

class GpuReader {
  public:
    // Starts `command report --read-gpus`, which ends with this process.
    explicit GpuReader(const std::string& command);
    ~GpuReader();
    GpuReader(const GpuReader&) = delete;
    GpuReader& operator=(const GpuReader&) = delete;

    // Asks for the GPUs of these ranks' processes, unless the last answer is still missing, as
    // while the driver hangs. Returns whether it asked.
    bool ask(const std::vector<pid_t>& processes);

    // Where the answer comes; -1 if the process has ended.
    int fd() const { return answers_.fd(); }

    // Reads what has come; nullopt as long as that is no whole answer.
    std::optional<GpuReadings> take();

  private:
    UniqueFd questions_;
    UniqueFd answers_;
    pid_t pid_ = -1;
    std::string text_;  // of an answer that has begun
    bool is_waiting_ = false;
};

}  // namespace distgpu

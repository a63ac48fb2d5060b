// What the frameworks in a step's processes offer to who looks into it, as their variables say.
#pragma once

#include "inspect/process_facts.h"
#include "inspect/ras.h"

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

class Offers {
  public:
    // Of a rank's process.
    void take(const StartEnvironment& environment, std::uint32_t rank, pid_t pid);

    // Asks NCCL meanwhile, of rank 0's node alone: it answers for all ranks, and they are asked for
    // it in turn.
    void ask();

    // NCCL's status, or why there is none; empty: nobody was asked.
    std::string status();

    // Files that torch's flight recorder wrote for ranks of this node.
    std::vector<std::string> records() const;

  private:
    struct Record {
        pid_t pid = 0;
        std::string file;
    };

    std::optional<RasAddress> ras_;
    std::future<std::string> status_;
    std::vector<Record> records_;
};

}  // namespace distgpu

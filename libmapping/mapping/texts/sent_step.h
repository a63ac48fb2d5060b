// What srun tells the nodes about a step, as one value of the environment
// variable SLURM_DISTGPU_STEP: it asked slurmctld once, so that no node has to.
// A name that begins with SLURM arrives under every --export (seen on 22.05,
// 24.11 and 26.05). The value is under the user's control and is read so.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

struct SentStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    std::optional<StepLayout> layout;  // with the order of its nodes; absent: the nodes derive it
    std::string rank0_address;         // NodeAddr of rank 0's node; empty: not known
    bool refused = false;              // srun found the request impossible and said so
    HostList node_addresses{};         // NodeAddr of every node, in their order; empty: not known
    bool cpu_bind = false;             // the user gave srun --cpu-bind
    std::string plugin_file{};         // that srun loaded, for who has to name it; empty: not known
    std::uint32_t gpus = 0;            // srun --gpus, of all nodes together; 0: not given
    bool ntasks = false;               // --ntasks or SLURM_NTASKS says how many tasks there are
    bool helper = false;               // StepFacts::is_helper

    bool operator==(const SentStep&) const = default;
};

// The longest value that execve still takes beside its name (Linux's
// MAX_ARG_STRLEN is 131,072 for NAME=VALUE and its NUL; 22 bytes are the name's).
inline constexpr std::size_t max_sent_length = 131'000;

// "v2 17.0 cpu_bind gpus=6 rank0=10.0.0.1 layout=n[1-2] 0.2.4.1": a version, the step, and a word
// for each fact, the layout (layout_line.h) last. Without an address or a plugin's path that is
// none, without the nodes' addresses and then without the layout where they make it longer than
// max_sent_length.
std::string encode(const SentStep& step);

// The step of a node, as SPANK tells it.
struct KnownStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    StepSize size;  // nothing in it: no layout is read
};

// Reads what encode() wrote; words that a later release adds are passed over. Nothing for another
// version, which a newer or older srun side may send, and for another step: the nodes then derive.
// Error: not what encode() writes for a step of this size, a layout that contradicts itself or is
// larger. Memory is bound to the step's size, never to what the text claims.
Result<std::optional<SentStep>> decode(std::string_view text, const KnownStep& known);

// Whether the text is of this step, and either names a layout or refuses the step, so that nobody
// has to ask. For root, who compares it and reads nothing.
bool settles_layout(std::string_view text, std::uint32_t job, std::uint32_t step);

}  // namespace distgpu

// This process's rank and the rendezvous, as set by its launcher (srun --distgpu=..., or mpirun),
// and the names of ranks in messages.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

struct Membership {
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::uint32_t local_rank = 0;
    std::string host;     // name of this node
    std::string address;  // of rank 0's node
    std::uint16_t port = 0;
    std::string job;         // equal on all ranks of a run: "17.0"
    std::string switches{};  // above this node, from the top: "s1.s4"; empty: unknown

    bool operator==(const Membership&) const = default;
};

// Offset from MASTER_PORT to the port on which rank 0 listens. distgpu assigns slots of 16 ports. A
// framework's additional ports follow MASTER_PORT: Megatron's +1 and +2, TensorFlow's port for each
// local task. The last port of the slot is the least likely to collide.
inline constexpr std::uint16_t port_offset = 15;

// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; for the first three mpirun's
// OMPI_COMM_WORLD_* if RANK is unset. mpirun does not provide an address: without MASTER_ADDR all
// ranks must be on one node; without MASTER_PORT the port is torch's default, 29500. The switches
// come from SLURM_TOPOLOGY_ADDR, if Slurm's topology plugin knows them. Errors name the variable.
Result<Membership> read_membership(const Environment& environment, const std::string& host);

// The switches in SLURM_TOPOLOGY_ADDR ("s1.s4.node03": the switches from the top, then the node),
// made printable. Empty if it names none, or is longer than any real one.
std::string switches_above(std::string_view address);

// "rank 5 on node03", or "rank 5" if its node is unknown.
using RankNames = std::function<std::string(std::uint32_t rank)>;

// From the variables that Slurm and distgpu set, for ranks that have not connected yet.
RankNames names_of_step(const Environment& environment);

// Where a rank runs, as it reports.
struct Peer {
    std::string host;
    std::uint32_t local_rank = 0;
    std::string switches{};  // Membership::switches

    bool operator==(const Peer&) const = default;
};

// From the peers, by rank.
RankNames names_of_peers(std::vector<Peer> peers);

}  // namespace distgpu::scaling

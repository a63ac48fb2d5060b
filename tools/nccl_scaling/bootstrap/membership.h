// Which of the ranks this process is, and where they meet, as its launcher tells it (srun
// --distgpu=..., or mpirun); and what messages call a rank.
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
    std::string host;     // what this node is called
    std::string address;  // of rank 0's node
    std::uint16_t port = 0;
    std::string job;         // equal on all ranks of a run: "17.0"
    std::string switches{};  // above this node, from the top: "s1.s4"; empty: unknown

    bool operator==(const Membership&) const = default;
};

// From MASTER_PORT to the port on which rank 0 listens. distgpu deals ports in slots of 16, and
// what a framework opens beside MASTER_PORT lies at its start: Megatron's +1 and +2, TensorFlow's
// port for each local task. The last of the slot is the one reached last.
inline constexpr std::uint16_t port_offset = 15;

// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; for the first three mpirun's
// OMPI_COMM_WORLD_* where RANK is unset. mpirun tells no address: without MASTER_ADDR all ranks
// must be on one node; without MASTER_PORT it is torch's own, 29500.
// Errors name the variable. SLURM_TOPOLOGY_ADDR tells the switches where Slurm's topology plugin
// knows them.
Result<Membership> read_membership(const Environment& environment, const std::string& host);

// Of SLURM_TOPOLOGY_ADDR ("s1.s4.node03": the switches from the top, then the node) the switches,
// in characters that can be printed. Empty: it names none, or is longer than any real one.
std::string switches_above(std::string_view address);

// "rank 5 on node03", or "rank 5" where its node is not known.
using RankNames = std::function<std::string(std::uint32_t rank)>;

// From what Slurm and distgpu say of the step, before any rank has been heard of.
RankNames names_of_step(const Environment& environment);

// Where each rank runs, as it said itself.
struct Peer {
    std::string host;
    std::uint32_t local_rank = 0;
    std::string switches{};  // Membership::switches

    bool operator==(const Peer&) const = default;
};

// Those of ranks that are all known, by rank.
RankNames names_of_peers(std::vector<Peer> peers);

}  // namespace distgpu::scaling

#include "bootstrap/membership.h"

#include "base/format.h"
#include "base/values.h"
#include "node/step_variables.h"
#include "slurm/step_shape.h"

#include <limits>
#include <optional>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr const char* how_to_start = "start it with srun --distgpu=pytorch nccl-scaling";
constexpr std::uint16_t default_port = 29500;

// A number below `limit`.
Result<std::uint32_t> read_number(const Environment& environment, const std::string& name,
                                  std::uint32_t limit) {
    const auto text = environment.get(name);
    if (!text) return Error{name, "not set", how_to_start};
    const auto value = whole_number(*text);
    if (!value || *value >= limit) {
        return Error{formatted("{}={}", name, *text), formatted("not a number below {}", limit),
                     how_to_start};
    }
    return *value;
}

// From the variables of a framework, or of mpirun.
Result<Membership> read_ranks(const Environment& environment, bool mpirun) {
    const std::string prefix = mpirun ? "OMPI_COMM_WORLD_" : "";
    constexpr std::uint32_t most = 1U << 24U;
    const auto size = read_number(environment, mpirun ? prefix + "SIZE" : "WORLD_SIZE", most);
    if (!size) return size.error();
    const auto rank = read_number(environment, prefix + "RANK", *size);
    if (!rank) return rank.error();
    const auto local_rank = read_number(environment, prefix + "LOCAL_RANK", *size);
    if (!local_rank) return local_rank.error();
    return Membership{*rank, *size, *local_rank, {}, {}, 0, {}};
}

Result<std::string> read_address(const Environment& environment, bool mpirun) {
    if (auto address = environment.get("MASTER_ADDR")) return *std::move(address);
    if (!mpirun) return Error{"MASTER_ADDR", "not set", how_to_start};
    if (environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") != environment.get("OMPI_COMM_WORLD_SIZE")) {
        return Error{"MASTER_ADDR", "not set, and mpirun does not say which node runs rank 0",
                     "start it with mpirun -x MASTER_ADDR=HOST"};
    }
    return std::string("localhost");
}

Result<std::uint16_t> read_port(const Environment& environment, bool mpirun) {
    if (mpirun && !environment.get("MASTER_PORT")) return default_port + port_offset;
    constexpr std::uint32_t ports = std::numeric_limits<std::uint16_t>::max() + 1U;
    return read_number(environment, "MASTER_PORT", ports - port_offset)
        .transform(
            [](std::uint32_t port) { return static_cast<std::uint16_t>(port + port_offset); });
}

std::string rank_label(std::uint32_t rank) {
    return formatted("rank {}", rank);
}

std::string rank_on_node(std::uint32_t rank, const std::string& host) {
    return formatted("rank {} on {}", rank, host);
}

// Prefers distgpu's variable, because Slurm's variables do not contain the node order.
std::optional<StepLayout> layout_of_step(const Environment& environment) {
    if (auto layout = read_layout_variable(environment)) {
        return *layout ? std::optional(**std::move(layout)) : std::nullopt;
    }
    auto derived = derive_layout(environment);
    return derived ? *std::move(derived) : std::nullopt;
}

}  // namespace

std::string switches_above(std::string_view address) {
    constexpr std::size_t longest = 1024;
    const auto last_dot = address.rfind('.');
    if (last_dot == std::string_view::npos || address.size() > longest) return "";
    return printable(address.substr(0, last_dot));
}

Result<Membership> read_membership(const Environment& environment, const std::string& host) {
    const bool mpirun =
        !environment.get("RANK") && environment.get("OMPI_COMM_WORLD_RANK").has_value();
    auto membership = read_ranks(environment, mpirun);
    if (!membership) return membership;
    const auto address = read_address(environment, mpirun);
    if (!address) return address.error();
    const auto port = read_port(environment, mpirun);
    if (!port) return port.error();
    membership->address = *address;
    membership->port = *port;
    membership->host = environment.get("SLURMD_NODENAME").value_or(host);
    membership->switches = switches_above(environment.get("SLURM_TOPOLOGY_ADDR").value_or(""));
    membership->job = formatted("{}.{}", environment.get("SLURM_JOB_ID").value_or(""),
                                environment.get("SLURM_STEP_ID").value_or(""));
    return membership;
}

RankNames names_of_step(const Environment& environment) {
    auto layout = layout_of_step(environment);
    if (!layout) return rank_label;
    return [layout = *std::move(layout)](std::uint32_t rank) {
        if (rank >= layout.task_count()) return rank_label(rank);
        return rank_on_node(rank, layout.hosts().name(layout.place(GlobalRank{rank}).node));
    };
}

RankNames names_of_peers(std::vector<Peer> peers) {
    return [peers = std::move(peers)](std::uint32_t rank) {
        return rank_on_node(rank, peers[rank].host);
    };
}

}  // namespace distgpu::scaling

// See membership.h.
#include "bootstrap/membership.h"

#include "base/format.h"
#include "base/values.h"

#include <limits>

namespace distgpu::scaling {
namespace {

constexpr const char* how_to_start = "start it with srun --distgpu=pytorch nccl-scaling";
constexpr const char* default_port = "29500";

// Of a launcher, the names of what it tells.
struct Names {
    const char* rank;
    const char* world_size;
    const char* local_rank;
};
constexpr Names framework_names{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Names mpirun_names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK"};

// A number below `limit`.
Result<std::uint32_t> read_number(const Variables& variables, const std::string& name,
                                  std::uint32_t limit) {
    const auto text = variables(name);
    if (!text) return Error{name, "not set", how_to_start};
    const auto value = whole_number(*text);
    if (!value || *value >= limit) {
        return Error{formatted("{}={}", name, *text), formatted("not a number below {}", limit),
                     how_to_start};
    }
    return *value;
}

Result<Membership> read_ranks(const Variables& variables, const Names& names) {
    Membership membership;
    constexpr std::uint32_t most = 1U << 24U;
    const auto size = read_number(variables, names.world_size, most);
    if (!size) return size.error();
    const auto rank = read_number(variables, names.rank, *size);
    if (!rank) return rank.error();
    const auto local_rank = read_number(variables, names.local_rank, *size);
    if (!local_rank) return local_rank.error();
    membership.world_size = *size;
    membership.rank = *rank;
    membership.local_rank = *local_rank;
    return membership;
}

Result<std::string> read_address(const Variables& variables, bool mpirun) {
    if (auto address = variables("MASTER_ADDR")) return *std::move(address);
    if (!mpirun) return Error{"MASTER_ADDR", "not set", how_to_start};
    if (variables("OMPI_COMM_WORLD_LOCAL_SIZE") != variables("OMPI_COMM_WORLD_SIZE")) {
        return Error{"MASTER_ADDR", "not set, and mpirun does not say which node runs rank 0",
                     "start it with mpirun -x MASTER_ADDR=HOST"};
    }
    return std::string("localhost");
}

Result<std::uint16_t> read_port(const Variables& variables, bool mpirun) {
    const Variables defaulted = [&](const std::string& name) {
        auto value = variables(name);
        return value || !mpirun ? value : std::optional<std::string>(default_port);
    };
    constexpr std::uint32_t ports = std::numeric_limits<std::uint16_t>::max() + 1U;
    return read_number(defaulted, "MASTER_PORT", ports - port_offset)
        .transform(
            [](std::uint32_t port) { return static_cast<std::uint16_t>(port + port_offset); });
}

}  // namespace

Result<Membership> read_membership(const Variables& variables, const std::string& host) {
    const bool mpirun = !variables("RANK") && variables(mpirun_names.rank).has_value();
    auto membership = read_ranks(variables, mpirun ? mpirun_names : framework_names);
    if (!membership) return membership;
    const auto address = read_address(variables, mpirun);
    if (!address) return address.error();
    const auto port = read_port(variables, mpirun);
    if (!port) return port.error();
    membership->address = *address;
    membership->port = *port;
    membership->host = variables("SLURMD_NODENAME").value_or(host);
    membership->job = formatted("{}.{}", variables("SLURM_JOB_ID").value_or(""),
                                variables("SLURM_STEP_ID").value_or(""));
    return membership;
}

}  // namespace distgpu::scaling

// Which network devices NCCL uses by NCCL_SOCKET_IFNAME and NCCL_IB_HCA; RCCL reads them alike.
// Source: parseStringList() and matchIfList() (misc/utils.cc), findInterfaces() and
// ncclFindInterfaces() (misc/socket.cc), ncclIbInitDevices() (transport/net_ib.cc), NCCL 2.28.9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The value of such a variable: beginnings of names, each perhaps with ":PORT", between commas;
// whole names after a '='; names to leave out after a '^', which comes first. More names than NCCL
// reads are left out: 16 interfaces or 32 HCAs.
class NcclNames {
  public:
    static constexpr std::size_t max_interfaces = 16;
    static constexpr std::size_t max_hcas = 32;

    NcclNames(std::string_view value, std::size_t max_names);

    // Whether NCCL uses the device. `port`: of an HCA; nullopt for an interface. A value without a
    // name allows every device, and after a '^' none.
    bool allows(std::string_view name, std::optional<std::uint32_t> port = std::nullopt) const;

  private:
    struct Name {
        std::string text;
        int port = -1;  // -1: every port
    };

    bool excludes_ = false;
    bool whole_ = false;
    std::vector<Name> names_;
};

// Whether NCCL reads a value of NCCL_SOCKET_IFNAME at all: only one of more than one character.
inline bool chooses_interfaces(std::string_view value) {
    return value.size() > 1;
}

// The interfaces over which NCCL sends by sockets, the first of them also for its bootstrap.
// `value`: of NCCL_SOCKET_IFNAME. `running`: those that are up and have an address, in the kernel's
// order. Without a value that NCCL reads: those that begin with ib, else all but docker, lo and
// virbr, else the first of these that is there.
std::vector<std::string> nccl_interfaces(std::string_view value,
                                         std::span<const std::string> running);

}  // namespace distgpu

// Names and interfaces by which the ranks are to find each other.
#pragma once

#include "base/environment.h"
#include "base/io/deadline.h"
#include "check/finding.h"
#include "mapping/rendezvous/rendezvous.h"

#include <string>
#include <vector>

namespace distgpu {

// Whether NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME each name one of `interfaces`.
Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces);

// This node's interfaces that are up and have an address.
std::vector<std::string> usable_interfaces();

// The address at which the other nodes' NCCL or Gloo find this one: of the first of `interfaces`
// that NCCL_SOCKET_IFNAME names, else GLOO_SOCKET_IFNAME, else of `usual`, which has the node's
// address. Empty: there is none.
std::string communication_address(const Environment& environment,
                                  const std::vector<std::string>& interfaces,
                                  const std::string& usual);

struct NameCheck {
    std::string host;           // this node's host name
    bool several_nodes = true;  // whether anybody else needs to reach them
    bool runs_rank0 = false;    // on this node
};

// As findings name it: "rendezvous address node01".
std::string address_object(const Rendezvous& rendezvous);

// What the rendezvous address and this host's own name stand for, as this node sees it.
Findings check_names(const Environment& environment, const NameCheck& node,
                     const Rendezvous& rendezvous, Deadline deadline);

}  // namespace distgpu

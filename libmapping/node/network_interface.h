// The network interface through which the other nodes reach this one.
#pragma once

#include "base/io/deadline.h"
#include "base/io/resolve.h"
#include "base/result.h"

#include <string>

namespace distgpu {

struct NetworkInterface {
    std::string name;         // "eth0"; empty: none of this node's has the address
    std::string loopback;     // the address, where it is one of the loopback's: "127.0.1.1"
    bool unanswered = false;  // the name service did not tell the address in time

    bool operator==(const NetworkInterface&) const = default;
};

// IPv4, or IPv6 without brackets and scope: nothing has to be looked up.
bool is_ip_address(const std::string& text);

// `address`: a host name, an IPv4 or a bare IPv6 address; a name is looked up. Of several addresses
// that belong to this node, one that is not the loopback's.
NetworkInterface interface_of(const std::string& address, Deadline deadline);

// Whether this machine answers at it: an address of an interface, or routed to it all the same.
bool is_own_address(const Address& address);

// What to tell of an address that the name service does not tell `node`, whose own it is.
Error no_interface(const std::string& address, const std::string& node);

// Its IPv4 address, else one of IPv6 that needs no scope. Empty: it has none.
std::string address_of_interface(const std::string& name);

}  // namespace distgpu

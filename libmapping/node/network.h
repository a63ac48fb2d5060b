// This machine in the network: its interfaces and addresses, and the TCP ports that steps of this
// user have claimed.
#pragma once

#include "base/io/socket.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

namespace distgpu {

// The network interface through which the other nodes reach this one.
struct NetworkInterface {
    std::string name;            // "eth0"; empty if no interface of this node has the address
    std::string loopback;        // the address if it is a loopback address: "127.0.1.1"
    bool lookup_failed = false;  // the name service failed or did not answer in time

    bool operator==(const NetworkInterface&) const = default;
};

// IPv4, or IPv6 without brackets and scope: no name to look up.
bool is_ip_address(const std::string& text);

// `address`: a host name, which is looked up, or an IPv4 or bare IPv6 address. If several addresses
// belong to this node, prefers one that is not a loopback address.
NetworkInterface interface_of(const std::string& address, Deadline deadline);

// The warning if `node` cannot look up its own `address`.
Error unresolved_address_error(const std::string& address, const std::string& node);

// This node's interfaces that are up and have an address.
std::vector<std::string> usable_interfaces();

// Its IPv4 address, else an IPv6 address that needs no scope. Empty if it has neither.
std::string address_of_interface(const std::string& name);

// On rank 0's node: compares the address that the user chose (an exported MASTER_ADDR, or the host
// of master=) with those of this machine. Looks up a name other than the node's own, for up to
// name_lookup_timeout. Error: the address belongs to another machine, or the name is unknown. Only
// warns if the name service does not answer. Does not check a task without peers.
std::optional<Error> check_address(const Request& request, const StepLayout& layout,
                                   const RendezvousFacts& facts, std::vector<Error>& warnings);

// Whether this machine has the IP address, or answers there anyway. True where it cannot be known.
bool has_address(const std::string& ip_address);

// Claims ports of this node for a step of this user, from before its program listens there until
// its end. Without this, two steps with the same port= would both find it free, and their ranks
// would mix. A claim is two abstract Unix sockets, which end with the last process that holds them:
// one with the step's name, by which the step recognizes its own claim and others see the holder,
// and one with the port's name, which only one step can have. The names contain the user id.
// Another user who takes these names does not keep this user from the port.
class PortClaims {
  public:
    // `keep`: the program that this process execs holds the claims too.
    enum class OnExec { close, keep };

    explicit PortClaims(OnExec on_exec) : on_exec_(on_exec) {}

    // `step`: "JOB.STEP", or another text for processes that Slurm did not start. Waits a second
    // for a step that is ending. Returns who has the port, "step JOB.STEP" if known; nullopt if
    // this step has it, or the kernel gives no such name. Claims for the effective user.
    std::optional<std::string> claim(std::uint16_t port, const std::string& step);

    // Releases all claims, also in other processes that share them.
    void release();

  private:
    OnExec on_exec_;
    std::vector<Socket> sockets_;
};

}  // namespace distgpu

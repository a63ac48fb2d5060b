// This machine's place in the network: its interfaces and addresses, and its ports: which are free,
// and which a step of this user's has taken.
#pragma once

#include "base/io/socket.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

namespace distgpu {

// The network interface through which the other nodes reach this one.
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

// What to tell of an address that the name service does not tell `node`, whose own it is.
Error no_interface(const std::string& address, const std::string& node);

// This node's interfaces that are up and have an address.
std::vector<std::string> usable_interfaces();

// Its IPv4 address, else one of IPv6 that needs no scope. Empty: it has none.
std::string address_of_interface(const std::string& name);

// On rank 0's node: compares the address that the user chose (an exported MASTER_ADDR, or the host
// of master=) with those of this machine. A name other than the node's own is looked up, for as
// long as the start of a step waits for a name. Error: it is another machine's, or a name of none.
// Where the name service does not answer, it only warns. A task without others is not checked.
std::optional<Error> check_address(const Request& request, const StepLayout& layout,
                                   const RendezvousFacts& facts, std::vector<Error>& warnings);

// Ports that a step of this user's has on this node, from before its program listens there until
// its end: without it, two steps with one port= would both find it free, and their ranks would mix.
// Each is two names of abstract Unix sockets, which end with the last process that has them: that
// of the step, by which it knows its own claim and others tell whose it is, and that of the port,
// which one step alone can have. The names hold the user's id; who squats on another user's does
// not keep that user from the port.
class PortClaims {
  public:
    enum class Heirs { none, programs };  // `programs`: what this process becomes keeps them

    explicit PortClaims(Heirs heirs) : heirs_(heirs) {}

    // `step`: "JOB.STEP", or another text for what Slurm did not start. Waits a second for a step
    // that is ending. Returns who has the port, "step JOB.STEP" where that is known; nothing: it is
    // this step's, or the machine gives no such name. The effective user is the one who claims.
    std::optional<std::string> take(std::uint16_t port, const std::string& step);

    // Gives all of them up, in whichever process shares them.
    void release();

  private:
    Heirs heirs_;
    std::vector<Socket> sockets_;
};

}  // namespace distgpu

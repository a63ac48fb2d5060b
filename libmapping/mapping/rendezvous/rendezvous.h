// Where the processes of a step meet: the address and the port of rank 0's node.
#pragma once

#include "base/result.h"
#include "mapping/request/request.h"

namespace distgpu {

// A host name, an IPv4 or a bare IPv6 address: 1 to 253 letters, digits, '.', '-', '_' and ':', but
// not one colon alone (HOST:PORT).
bool is_host(std::string_view text);

// A TCP port of an ordinary user, 1024 .. 65535. An error's object is "<what>=<text>", shortened.
Result<std::uint16_t> parse_port(std::string_view what, std::string_view text);

// A contiguous range of TCP ports, both ends included.
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;

    bool operator==(const PortRange&) const = default;
};

// The range from which ports are derived where the administrator names none. It ends well below
// 32768, where Linux's ephemeral ports begin (net.ipv4.ip_local_port_range), so that no outgoing
// connection takes a rendezvous port, and below 29400 and 29500, torch's own defaults.
inline constexpr PortRange default_ports{24608, 29343};

// Reads "A-B" with 1024 <= A and at least 512 ports (32 slots of 16).
Result<PortRange> parse_port_range(std::string_view text);

// Who ran the step, as far as the port depends on it.
struct StepId {
    std::uint32_t job = 0;            // of a heterogeneous job: its leader's
    std::uint32_t step = 0;           // SLURM_STEP_ID
    std::uint32_t restart_count = 0;  // SLURM_RESTART_COUNT, so that a requeued job moves on

    bool operator==(const StepId&) const = default;
};

struct RendezvousFacts {
    StepId step;
    std::string rank0_address;                    // rank 0's NodeAddr; empty when it is not known
    std::optional<std::string> exported_address;  // MASTER_ADDR that the user exported
    std::optional<std::string> exported_port;     // MASTER_PORT that the user exported
    std::optional<std::string> reserved_ports;    // SLURM_STEP_RESV_PORTS, if valid on this node
    PortRange derived_ports = default_ports;      // the administrator's, or the default
    Master default_master;                        // the administrator's, or NodeAddr

    bool operator==(const RendezvousFacts&) const = default;
};

// What the step's layout and its framework ask of the rendezvous.
struct RendezvousNeeds {
    std::string rank0_name;            // NodeName of the node that runs rank 0
    std::uint32_t ports = 1;           // the master's own and the framework's next to it
    std::uint32_t tasks_per_node = 1;  // the most on one node

    bool operator==(const RendezvousNeeds&) const = default;
};

enum class PortSource {
    key,       // port=N
    exported,  // MASTER_PORT
    reserved,  // SLURM_STEP_RESV_PORTS
    derived,   // from job, step and restart count
};

struct Rendezvous {
    std::string address;  // a host name, an IPv4 or a bare IPv6 address
    std::uint16_t port = 0;
    PortSource port_source = PortSource::derived;

    bool operator==(const Rendezvous&) const = default;
};

// For messages: "port=29500" as the user wrote it, "the exported MASTER_PORT", ...
std::string source_of_port(const Rendezvous& rendezvous);

// What to do where another program listens on it.
std::string_view taken_port_remedy(PortSource source);

// How the other nodes reach the node with this NodeName and NodeAddr (empty: not known), in
// the form that the request or the administrator chose: name, name and suffix, or address.
std::string reachable_as(const Request& request, const RendezvousFacts& facts,
                         const std::string& name, const std::string& address);

// Address, the first that applies: the key master=, the exported MASTER_ADDR, the administrator's
// default (else NodeAddr). Port: the key port=, the exported MASTER_PORT, the first reserved ports
// that are contiguous and enough, the derived one. Errors: an exported one is no port or no host.
Result<Rendezvous> rendezvous(const Request& request, const RendezvousFacts& facts,
                              const RendezvousNeeds& needs);

// How many ports a step with these needs is dealt at the least.
std::uint32_t room_of(const RendezvousNeeds& needs);

// The port that job, step and restart count give within `ports`. The range is dealt in slots of 16
// ports, without the slots that hold a well-known service: 293 in the default range. Steps of one
// job and neighbouring jobs get different slots, two unrelated jobs on one node the same one in
// 0.34 % of cases. A step that needs room for more than 16 ports gets that many slots, of which
// there are fewer: 145 for 32 ports.
std::uint16_t derived_port(const StepId& step, PortRange ports, std::uint32_t room);

// The last port of the step's slots; nothing: its processes need them all.
std::optional<std::uint16_t> spare_port(const StepId& step, PortRange ports, std::uint32_t room);

// The first port of a stretch of `needed` contiguous ports in a list such as "20830-20832,20840"
// (the form of SLURM_STEP_RESV_PORTS); nothing when there is none or the text is not such a list.
std::optional<std::uint16_t> first_contiguous_port(std::string_view list, std::uint32_t needed);

}  // namespace distgpu

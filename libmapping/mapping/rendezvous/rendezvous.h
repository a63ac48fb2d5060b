// The rendezvous of a step's processes: the address and the port of rank 0's node.
#pragma once

#include "base/result.h"
#include "mapping/request/request.h"

namespace distgpu {

// True for a host name, an IPv4 or a bare IPv6 address: 1 to 253 letters, digits, '.', '-', '_' and
// ':', but not exactly one colon (HOST:PORT).
bool is_host(std::string_view text);

// Parses a TCP port for an ordinary user, 1024 .. 65535. An error's object is "<what>=<text>",
// shortened.
Result<std::uint16_t> parse_port(std::string_view what, std::string_view text);

// A contiguous range of TCP ports, both ends included.
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;

    bool operator==(const PortRange&) const = default;
};

// The range from which ports are derived if the administrator names none. It ends well below
// 32768, where Linux's ephemeral ports begin (net.ipv4.ip_local_port_range), so that no outgoing
// connection takes a rendezvous port, and below 29400 and 29500, torch's own defaults.
inline constexpr PortRange default_ports{24608, 29343};

// Parses "A-B" with 1024 <= A and at least 512 ports (32 slots of 16).
Result<PortRange> parse_port_range(std::string_view text);

// The numbers from which a step's port is derived.
struct StepId {
    std::uint32_t job = 0;            // of the leader, for a heterogeneous job
    std::uint32_t step = 0;           // SLURM_STEP_ID
    std::uint32_t restart_count = 0;  // SLURM_RESTART_COUNT: a requeued job gets another port

    bool operator==(const StepId&) const = default;
};

struct RendezvousFacts {
    StepId step;
    std::string rank0_address;                    // NodeAddr of rank 0's node; empty if unknown
    std::optional<std::string> exported_address;  // MASTER_ADDR that the user exported
    std::optional<std::string> exported_port;     // MASTER_PORT that the user exported
    std::optional<std::string> reserved_ports;    // SLURM_STEP_RESV_PORTS, if valid on this node
    PortRange derived_ports = default_ports;      // the administrator's, or the default
    MasterAddress default_master;                 // the administrator's, or NodeAddr

    bool operator==(const RendezvousFacts&) const = default;
};

// What the step's layout and its framework require of the rendezvous.
struct RendezvousNeeds {
    std::string rank0_name;            // NodeName of the node that runs rank 0
    std::uint32_t ports = 1;           // MASTER_PORT and those that the framework uses after it
    std::uint32_t tasks_per_node = 1;  // the largest number on any node

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
std::string port_source_text(const Rendezvous& rendezvous);

// What to do if another program already listens on the port.
std::string_view port_in_use_remedy(PortSource source);

// How other nodes reach the node with this NodeName and NodeAddr (empty if unknown), in the form
// that the request or the administrator chose: name, name and suffix, or address.
std::string reachable_address(const Request& request, const RendezvousFacts& facts,
                              const std::string& name, const std::string& address);

// Address, the first that applies: the key master=, the exported MASTER_ADDR, the administrator's
// default, NodeAddr. Port, likewise: the key port=, the exported MASTER_PORT, the first reserved
// ports that are contiguous and enough, the derived port. Errors: an invalid exported value.
Result<Rendezvous> choose_rendezvous(const Request& request, const RendezvousFacts& facts,
                                     const RendezvousNeeds& needs);

// The minimum number of ports that a step with these needs gets.
std::uint32_t min_port_count(const RendezvousNeeds& needs);

// The port within `ports` that job, step and restart count select. The range is divided into slots
// of 16 ports, and slots with the port of a well-known service are skipped: 293 remain of the
// default range. Steps of one job and neighbouring jobs get different slots, two unrelated jobs on
// one node the same slot in 0.34 % of cases. For a step that needs more than 16 ports the slots are
// as many times larger and fewer: 145 of 32 ports.
std::uint16_t derived_port(const StepId& step, PortRange ports, std::uint32_t min_ports);

// The last port of the step's slot; nullopt if its processes need all of them.
std::optional<std::uint16_t> spare_port(const StepId& step, PortRange ports,
                                        std::uint32_t min_ports);

// The first port of a run of `needed` contiguous ports in a list such as "20830-20832,20840" (the
// form of SLURM_STEP_RESV_PORTS); nullopt if there is no such run or the text is not such a list.
std::optional<std::uint16_t> first_contiguous_port(std::string_view list, std::uint32_t needed);

}  // namespace distgpu

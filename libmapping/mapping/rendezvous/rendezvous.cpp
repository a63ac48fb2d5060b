// Who decides the address and the port, in which order.
#include "mapping/rendezvous/rendezvous.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/rendezvous/host_port.h"

#include <algorithm>

namespace distgpu {
namespace {

std::string choose_address(const Request& request, const RendezvousFacts& facts,
                           const std::string& rank0_name) {
    if (!request.master && facts.exported_address) return *facts.exported_address;
    const Master& master = request.master ? *request.master : facts.default_master;
    if (master.form == Master::Form::host) return master.text;
    return reachable_as(request, facts, rank0_name, facts.rank0_address);
}

// The exported address goes into other variables' texts, TF_CONFIG among them, and into messages.
std::optional<Error> no_host(const Request& request, const RendezvousFacts& facts) {
    if (request.master || !facts.exported_address || is_host(*facts.exported_address)) {
        return std::nullopt;
    }
    return Error{formatted("MASTER_ADDR={}", excerpt(*facts.exported_address)),
                 "not a host name or address",
                 "export the name or address of a host alone, or unset it"};
}

}  // namespace

std::string reachable_as(const Request& request, const RendezvousFacts& facts,
                         const std::string& name, const std::string& address) {
    // An exported address or a host of master= is rank 0's: the others keep theirs.
    Master master;
    if (request.master) {
        master = *request.master;
    } else if (!facts.exported_address) {
        master = facts.default_master;
    }
    if (master.form == Master::Form::suffix) return name + master.text;
    // Slurm's own default: a node without NodeAddr is reached by its name.
    return master.form == Master::Form::name || address.empty() ? name : address;
}

std::string source_of_port(const Rendezvous& rendezvous) {
    switch (rendezvous.port_source) {
        case PortSource::key:
            return formatted("port={}", rendezvous.port);
        case PortSource::exported:
            return "the exported MASTER_PORT";
        case PortSource::reserved:
            return "Slurm's reservation (SLURM_STEP_RESV_PORTS)";
        case PortSource::derived:
            break;
    }
    return "job and step id";
}

std::string_view taken_port_remedy(PortSource source) {
    return source == PortSource::exported
               ? "choose another with the key port=N, or unset MASTER_PORT"
               : "choose another with the key port=N";
}

std::uint32_t room_of(const RendezvousNeeds& needs) {
    // Megatron-LM and others use up to eight ports after the master's, TensorFlow
    // one for each task of a node.
    constexpr std::uint32_t usual_room = 9;
    return std::max({usual_room, needs.ports, needs.tasks_per_node});
}

Result<Rendezvous> rendezvous(const Request& request, const RendezvousFacts& facts,
                              const RendezvousNeeds& needs) {
    if (auto error = no_host(request, facts)) return *std::move(error);
    Rendezvous result{choose_address(request, facts, needs.rank0_name), 0, PortSource::derived};
    if (request.port) {
        result.port = *request.port;
        result.port_source = PortSource::key;
        return result;
    }
    if (facts.exported_port) {
        return parse_port("MASTER_PORT", *facts.exported_port).transform([&](std::uint16_t port) {
            result.port = port;
            result.port_source = PortSource::exported;
            return result;
        });
    }
    if (facts.reserved_ports) {
        if (const auto port = first_contiguous_port(*facts.reserved_ports, needs.ports)) {
            result.port = *port;
            result.port_source = PortSource::reserved;
            return result;
        }
    }
    result.port = derived_port(facts.step, facts.derived_ports, room_of(needs));
    return result;
}

}  // namespace distgpu

#include "mapping/rendezvous/rendezvous.h"

#include "base/format.h"
#include "base/values.h"

#include <array>
#include <limits>
#include <numeric>

namespace distgpu {

bool is_host(std::string_view text) {
    constexpr std::size_t longest = 253;  // RFC 1035
    return !text.empty() && text.size() <= longest && std::ranges::count(text, ':') != 1 &&
           std::ranges::all_of(text, is_host_character);
}

Result<std::uint16_t> parse_port(std::string_view what, std::string_view text) {
    const auto port = whole_number(text);
    constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
    if (!port || *port < 1024 || *port > last) {
        return Error{formatted("{}={}", what, excerpt(text)),
                     "not a port that a user may listen on",
                     formatted("give a number from 1024 to {}", last)};
    }
    return static_cast<std::uint16_t>(*port);
}

namespace {

constexpr std::uint32_t slot_size = 16;

// Below it only root may listen.
constexpr std::uint16_t first_user_port = 1024;

// Ports inside the default range on which services of a compute node or of a
// management host are known to listen; a slot that holds one is never dealt.
// RabbitMQ's inter-node port, CockroachDB, MongoDB's three.
constexpr std::array<std::uint16_t, 5> service_ports{25672, 26257, 27017, 27018, 27019};

// "N" or "N-M" alone.
std::optional<PortRange> parse_range(std::string_view text) {
    constexpr std::size_t port_limit = 65536;
    const auto range = number_range_below(text, port_limit);
    if (!range || range->first < first_user_port) return std::nullopt;
    return PortRange{static_cast<std::uint16_t>(range->first),
                     static_cast<std::uint16_t>(range->last)};
}

// The number at or after `wish` that has no factor in common with `slots`:
// multiples of it reach every slot before they repeat.
std::uint64_t coprime_from(std::uint64_t wish, std::uint64_t slots) {
    while (std::gcd(wish, slots) != 1) ++wish;
    return wish;
}

// Whole slots, as many as hold `room` ports.
std::uint32_t ports_of_step(PortRange ports, std::uint32_t room) {
    const std::uint32_t size = static_cast<std::uint32_t>(ports.last) - ports.first + 1;
    const std::uint64_t slots = std::max(1U, room / slot_size + (room % slot_size != 0));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, slots * slot_size));
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
    constexpr int fewest = 512;
    const auto range = parse_range(text);
    if (!range || range->last - range->first + 1 < fewest) {
        return Error{formatted("ports={}", excerpt(text)), "not a range of ports",
                     formatted("give FIRST-LAST, FIRST at least {}, {} ports or more",
                               first_user_port, fewest)};
    }
    return *range;
}

std::optional<std::uint16_t> first_contiguous_port(std::string_view list, std::uint32_t needed) {
    std::optional<PortRange> stretch;
    std::optional<std::uint16_t> found;
    for (const std::string_view item : comma_items(list)) {
        const auto range = parse_range(item);
        if (!range) return std::nullopt;
        if (stretch && range->first == stretch->last + 1) {
            stretch->last = range->last;
        } else {
            stretch = range;
        }
        if (!found && stretch->last - stretch->first + 1U >= needed) found = stretch->first;
    }
    return found;
}

std::optional<std::uint16_t> spare_port(const StepId& step, PortRange ports, std::uint32_t room) {
    const std::uint32_t stride = ports_of_step(ports, room);
    if (room >= stride) return std::nullopt;
    return static_cast<std::uint16_t>(derived_port(step, ports, room) + stride - 1);
}

std::uint16_t derived_port(const StepId& step, PortRange ports, std::uint32_t room) {
    const std::uint32_t stride = ports_of_step(ports, room);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t first = ports.first; first + stride <= ports.last + 1U; first += stride) {
        if (std::ranges::none_of(service_ports, [&](std::uint32_t port) {
                return port >= first && port < first + stride;
            })) {
            slots.push_back(first);
        }
    }
    if (slots.empty()) return ports.first;
    // Neighbouring jobs are the golden section of all slots apart, restarts a third: 181 and 97 of
    // the default range's 293, where jobs j and j+1 meet only for steps 181 (or 112) apart. A step
    // id is used as it stands, so that steps of one job are neighbours and never meet.
    const std::uint64_t job_stride = coprime_from(slots.size() * 618 / 1000, slots.size());
    const std::uint64_t restart_stride = coprime_from(slots.size() / 3, slots.size());
    const std::uint64_t hash =
        job_stride * step.job + step.step + restart_stride * step.restart_count;
    return static_cast<std::uint16_t>(slots[hash % slots.size()]);
}

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
    const PortSource source = rendezvous.port_source;
    if (source == PortSource::key) return formatted("port={}", rendezvous.port);
    if (source == PortSource::exported) return "the exported MASTER_PORT";
    if (source == PortSource::reserved) return "Slurm's reservation (SLURM_STEP_RESV_PORTS)";
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
    const bool is_exported = !request.master && facts.exported_address;
    if (is_exported && !is_host(*facts.exported_address)) {
        // It goes into other variables' texts, TF_CONFIG among them, and into messages.
        return Error{formatted("MASTER_ADDR={}", excerpt(*facts.exported_address)),
                     "not a host name or address",
                     "export the name or address of a host alone, or unset it"};
    }
    const Master& master = request.master ? *request.master : facts.default_master;
    Rendezvous result;
    if (is_exported) {
        result.address = *facts.exported_address;
    } else if (master.form == Master::Form::host) {
        result.address = master.text;
    } else {
        result.address = reachable_as(request, facts, needs.rank0_name, facts.rank0_address);
    }
    const auto at = [&](std::uint16_t port, PortSource source) {
        result.port = port;
        result.port_source = source;
        return result;
    };
    if (request.port) return at(*request.port, PortSource::key);
    if (facts.exported_port) {
        return parse_port("MASTER_PORT", *facts.exported_port).transform([&](std::uint16_t port) {
            return at(port, PortSource::exported);
        });
    }
    const auto reserved = first_contiguous_port(facts.reserved_ports.value_or(""), needs.ports);
    if (reserved) return at(*reserved, PortSource::reserved);
    return at(derived_port(facts.step, facts.derived_ports, room_of(needs)), PortSource::derived);
}

}  // namespace distgpu

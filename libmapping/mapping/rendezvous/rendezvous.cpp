#include "mapping/rendezvous/rendezvous.h"

#include "base/format.h"
#include "base/values.h"

#include <array>
#include <limits>
#include <numeric>
#include <set>

namespace distgpu {

bool is_host(std::string_view text) {
    constexpr std::size_t max_length = 253;  // RFC 1035
    return !text.empty() && text.size() <= max_length && std::ranges::count(text, ':') != 1 &&
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

// Only root may listen on ports below it.
constexpr std::uint16_t first_user_port = 1024;

// Ports inside the default range on which well-known services of compute nodes or management hosts
// listen: RabbitMQ's inter-node port, CockroachDB, MongoDB's three. Their slots are not used.
constexpr std::array<std::uint16_t, 5> service_ports{25672, 26257, 27017, 27018, 27019};

// Parses "N" or "N-M".
std::optional<PortRange> parse_range(std::string_view text) {
    constexpr std::size_t port_limit = 65536;
    const auto range = number_range_below(text, port_limit);
    if (!range || range->first < first_user_port) return std::nullopt;
    return PortRange{static_cast<std::uint16_t>(range->first),
                     static_cast<std::uint16_t>(range->last)};
}

// The smallest number from `start` on that is coprime to `slots`: its multiples reach every slot
// before they repeat.
std::uint64_t coprime_from(std::uint64_t start, std::uint64_t slots) {
    while (std::gcd(start, slots) != 1) ++start;
    return start;
}

// `min_ports` rounded up to whole slots, at most the whole range.
std::uint32_t ports_per_step(PortRange ports, std::uint32_t min_ports) {
    const std::uint32_t size = static_cast<std::uint32_t>(ports.last) - ports.first + 1;
    const std::uint64_t slots = std::max(1U, min_ports / slot_size + (min_ports % slot_size != 0));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, slots * slot_size));
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
    constexpr int min_size = 512;
    const auto range = parse_range(text);
    if (!range || range->last - range->first + 1 < min_size) {
        return Error{formatted("ports={}", excerpt(text)), "not a range of ports",
                     formatted("give FIRST-LAST, FIRST at least {}, {} ports or more",
                               first_user_port, min_size)};
    }
    return *range;
}

std::optional<std::uint16_t> first_contiguous_port(std::string_view list, std::uint32_t needed) {
    std::optional<PortRange> run;
    std::optional<std::uint16_t> found;
    for (const std::string_view item : comma_items(list)) {
        const auto range = parse_range(item);
        if (!range) return std::nullopt;
        if (run && range->first == run->last + 1) {
            run->last = range->last;
        } else {
            run = range;
        }
        if (!found && run->last - run->first + 1U >= needed) found = run->first;
    }
    return found;
}

std::optional<std::uint16_t> spare_port(const StepId& step, PortRange ports,
                                        std::uint32_t min_ports) {
    const std::uint32_t stride = ports_per_step(ports, min_ports);
    if (min_ports >= stride) return std::nullopt;
    return static_cast<std::uint16_t>(derived_port(step, ports, min_ports) + stride - 1);
}

std::uint16_t derived_port(const StepId& step, PortRange ports, std::uint32_t min_ports) {
    const std::uint32_t stride = ports_per_step(ports, min_ports);
    const std::uint32_t all_slots = (ports.last + 1U - ports.first) / stride;
    std::set<std::uint32_t> unused;
    for (const std::uint32_t port : service_ports) {
        const std::uint32_t slot = (port - ports.first) / stride;
        if (port >= ports.first && slot < all_slots) unused.insert(slot);
    }
    const std::uint64_t slots = all_slots - unused.size();
    if (slots == 0) return ports.first;
    // Neighbouring jobs are the golden section of all slots apart, restarts a third: 181 and 97 of
    // the default range's 293, where jobs j and j+1 collide only for steps 181 (or 112) apart. The
    // step id is used unscaled, so that steps of one job are neighbours and never collide.
    const std::uint64_t job_stride = coprime_from(slots * 618 / 1000, slots);
    const std::uint64_t restart_stride = coprime_from(slots / 3, slots);
    const std::uint64_t hash =
        job_stride * step.job + step.step + restart_stride * step.restart_count;
    auto slot = static_cast<std::uint32_t>(hash % slots);
    for (const std::uint32_t skipped : unused) {  // in ascending order
        if (skipped <= slot) ++slot;
    }
    return static_cast<std::uint16_t>(ports.first + slot * stride);
}

std::string reachable_address(const Request& request, const RendezvousFacts& facts,
                              const std::string& name, const std::string& address) {
    // An exported address or a host given with master= is only for rank 0's node.
    MasterAddress master;
    if (request.master) {
        master = *request.master;
    } else if (!facts.exported_address) {
        master = facts.default_master;
    }
    if (master.form == MasterAddress::Form::suffix) return name + master.text;
    // Slurm's own default: without NodeAddr, a node is reached by its name.
    return master.form == MasterAddress::Form::name || address.empty() ? name : address;
}

std::string port_source_text(const Rendezvous& rendezvous) {
    const PortSource source = rendezvous.port_source;
    if (source == PortSource::key) return formatted("port={}", rendezvous.port);
    if (source == PortSource::exported) return "the exported MASTER_PORT";
    if (source == PortSource::reserved) return "Slurm's reservation (SLURM_STEP_RESV_PORTS)";
    return "job and step id";
}

std::string_view port_in_use_remedy(PortSource source) {
    return source == PortSource::exported
               ? "choose another with the key port=N, or unset MASTER_PORT"
               : "choose another with the key port=N";
}

std::uint32_t min_port_count(const RendezvousNeeds& needs) {
    // Megatron-LM and others use up to eight ports after MASTER_PORT, TensorFlow one for each task
    // of a node.
    constexpr std::uint32_t usual_ports = 9;
    return std::max({usual_ports, needs.ports, needs.tasks_per_node});
}

Result<Rendezvous> choose_rendezvous(const Request& request, const RendezvousFacts& facts,
                                     const RendezvousNeeds& needs) {
    const bool is_exported = !request.master && facts.exported_address;
    if (is_exported && !is_host(*facts.exported_address)) {
        // The address becomes part of other variables, such as TF_CONFIG, and of messages.
        return Error{formatted("MASTER_ADDR={}", excerpt(*facts.exported_address)),
                     "not a host name or address",
                     "export only a host name or address, or unset it"};
    }
    const MasterAddress& master = request.master ? *request.master : facts.default_master;
    Rendezvous result;
    if (is_exported) {
        result.address = *facts.exported_address;
    } else if (master.form == MasterAddress::Form::host) {
        result.address = master.text;
    } else {
        result.address = reachable_address(request, facts, needs.rank0_name, facts.rank0_address);
    }
    const auto with_port = [&](std::uint16_t port, PortSource source) {
        result.port = port;
        result.port_source = source;
        return result;
    };
    if (request.port) return with_port(*request.port, PortSource::key);
    if (facts.exported_port) {
        return parse_port("MASTER_PORT", *facts.exported_port).transform([&](std::uint16_t port) {
            return with_port(port, PortSource::exported);
        });
    }
    const auto reserved = first_contiguous_port(facts.reserved_ports.value_or(""), needs.ports);
    if (reserved) return with_port(*reserved, PortSource::reserved);
    return with_port(derived_port(facts.step, facts.derived_ports, min_port_count(needs)),
                     PortSource::derived);
}

}  // namespace distgpu

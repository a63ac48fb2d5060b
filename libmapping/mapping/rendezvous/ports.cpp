// Which port: ranges, Slurm's reservation, and the derivation from job and step.
#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/rendezvous/rendezvous.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace distgpu {
namespace {

constexpr std::uint32_t slot_size = 16;

// Below it only root may listen.
constexpr std::uint16_t first_user_port = 1024;

// Ports inside the default range on which services of a compute node or of a
// management host are known to listen; a slot that holds one is never dealt.
// RabbitMQ's inter-node port, CockroachDB, MongoDB's three.
constexpr std::array<std::uint16_t, 5> service_ports{25672, 26257, 27017, 27018, 27019};

bool holds_service(std::uint32_t first, std::uint32_t count) {
    return std::any_of(service_ports.begin(), service_ports.end(),
                       [&](std::uint32_t port) { return port >= first && port < first + count; });
}

// Reads "N" or "N-M" alone.
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
    while (true) {
        const std::size_t comma = list.find(',');
        const auto range = parse_range(list.substr(0, comma));
        if (!range) return std::nullopt;
        if (stretch && range->first == stretch->last + 1) {
            stretch->last = range->last;
        } else {
            stretch = range;
        }
        if (!found && stretch->last - stretch->first + 1U >= needed) found = stretch->first;
        if (comma == std::string_view::npos) return found;
        list.remove_prefix(comma + 1);
    }
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
        if (!holds_service(first, stride)) slots.push_back(first);
    }
    if (slots.empty()) return ports.first;
    // Neighbouring jobs are the golden section of all slots apart, restarts a
    // third: 181 and 97 of the default range's 293, where jobs j and j+1 meet only
    // for steps 181 (or 112) apart. A step id is used as it stands, so that
    // steps of one job are neighbours and never meet.
    const std::uint64_t job_stride = coprime_from(slots.size() * 618 / 1000, slots.size());
    const std::uint64_t restart_stride = coprime_from(slots.size() / 3, slots.size());
    const std::uint64_t hash =
        job_stride * step.job + step.step + restart_stride * step.restart_count;
    return static_cast<std::uint16_t>(slots[hash % slots.size()]);
}

}  // namespace distgpu

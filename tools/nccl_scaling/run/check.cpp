#include "run/check.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/flow.h"
#include "backend/number.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

// Of elements `first` to `first + count` of a pattern, whose `value(element)` is an integer.
template <class Value>
KnownData known(const Subject& operation, std::size_t first, std::size_t count,
                const Value& value) {
    const std::size_t size = row_of(operation.type).bytes;
    const std::size_t period = std::min(first + count, Pattern::period);
    KnownData data{std::vector<std::byte>(period * size), first % Pattern::period * size,
                   count * size};
    for (std::size_t element = 0; element < period; ++element) {
        store(operation.type, value(element), &data.table[element * size]);
    }
    return data;
}

}  // namespace

Check::Check(const Subject& operation, Seat seat)
    : operation_(operation),
      seat_(seat),
      extent_(extent_of(operation, seat.ranks)),
      pattern_(operation.type, operation.op, is_reduction(operation.collective) ? seat.ranks : 1,
               extent_.send) {}

bool Check::is_possible(const Subject& operation, std::uint32_t ranks) {
    return Pattern::is_exact(operation.type, operation.op, ranks);
}

KnownData Check::sent() const {
    return values(seat_.rank, 0, extent_.send);
}

std::uint32_t Check::parts() const {
    if (!is_reduction(operation_.collective)) return seat_.ranks;
    return operation_.collective == Collective::reduce && seat_.rank != 0 ? 0 : 1;
}

KnownData Check::received(std::uint32_t part) const {
    const std::size_t count = extent_.count;
    if (operation_.collective == Collective::reduce_scatter)
        return results(seat_.rank * count, count);
    if (is_reduction(operation_.collective)) return results(0, count);
    const Flow flow = flow_of(operation_.collective, part, seat_.rank, seat_.ranks, count);
    KnownData data = values(part, flow.sent_at, flow.count);
    data.at = flow.received_at;
    return data;
}

KnownData Check::values(std::uint32_t rank, std::size_t first, std::size_t count) const {
    return known(operation_, first, count,
                 [&](std::size_t element) { return pattern_.value(rank, element); });
}

KnownData Check::results(std::size_t first, std::size_t count) const {
    return known(operation_, first, count,
                 [&](std::size_t element) { return pattern_.result(element); });
}

}  // namespace distgpu::scaling

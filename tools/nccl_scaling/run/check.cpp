// See check.h.
#include "run/check.h"

#include "analysis/bus_bandwidth.h"
#include "backend/number.h"
#include "base/format.h"

namespace distgpu::scaling {

Check::Check(const Subject& operation, Seat seat)
    : operation_(operation),
      seat_(seat),
      extent_(extent_of(operation, seat.ranks)),
      pattern_(operation.type, is_reduction(operation.collective) ? seat.ranks : 1, extent_.send) {}

void Check::fill(std::span<std::byte> sent) const {
    const std::size_t size = row_of(operation_.type).bytes;
    for (std::size_t element = 0; element < extent_.send; ++element) {
        store(operation_.type, pattern_.value(seat_.rank, element), &sent[element * size]);
    }
}

std::optional<std::string> Check::first_wrong(std::span<const std::byte> received) const {
    if (operation_.collective == Collective::reduce && seat_.rank != 0) return std::nullopt;
    const std::size_t size = row_of(operation_.type).bytes;
    for (std::size_t element = 0; element < extent_.receive; ++element) {
        const double got = load(operation_.type, &received[element * size]);
        if (got == expected(element)) continue;
        return formatted("wrong data: element {} is {}, not {}", element, got, expected(element));
    }
    return std::nullopt;
}

std::uint32_t Check::expected(std::size_t element) const {
    const std::size_t part = extent_.count;
    switch (operation_.collective) {
        case Collective::all_reduce:
        case Collective::reduce:
            return pattern_.sum(element);
        case Collective::reduce_scatter:
            return pattern_.sum(seat_.rank * part + element);
        case Collective::all_gather:
            return pattern_.value(static_cast<std::uint32_t>(element / part), element % part);
        case Collective::all_to_all:
            return pattern_.value(static_cast<std::uint32_t>(element / part),
                                  seat_.rank * part + element % part);
        case Collective::broadcast:
            return pattern_.value(0, element);
        case Collective::send_recv:
            break;
    }
    return pattern_.value((seat_.rank + seat_.ranks - 1) % seat_.ranks, element);
}

}  // namespace distgpu::scaling

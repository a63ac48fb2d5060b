#include "run/operation.h"

#include "analysis/bus_bandwidth.h"

namespace distgpu::scaling {

Extent extent_of(const Subject& operation, std::uint32_t ranks) {
    const std::size_t all = operation.bytes / row_of(operation.type).bytes;
    const std::size_t part = all / ranks;
    switch (operation.collective) {
        case Collective::all_gather:
        case Collective::gather:
            return {part, part, part * ranks};
        case Collective::reduce_scatter:
        case Collective::scatter:
            return {part, part * ranks, part};
        case Collective::all_to_all:
        case Collective::all_to_all_v:
            return {part, part * ranks, part * ranks};
        case Collective::bisection:
            if (ranks % 2 != 0) return {};
            return {all, all, all};
        default:
            return {all, all, all};
    }
}

Call call_of(const Subject& operation, Seat seat, std::byte* send, std::byte* receive) {
    const Extent extent = extent_of(operation, seat.ranks);
    const std::size_t own_part = seat.rank * extent.count * row_of(operation.type).bytes;
    Call call{operation.collective, operation.type, extent.count, send, receive, operation.op};
    if (!operation.in_place) return call;
    call.send = receive;
    if (operation.collective == Collective::all_gather) call.send = receive + own_part;
    if (operation.collective == Collective::reduce_scatter) call.receive = receive + own_part;
    return call;
}

}  // namespace distgpu::scaling

#include "analysis/flow.h"

namespace distgpu::scaling {

Flow flow_of(Collective collective, std::uint32_t from, std::uint32_t to, std::uint32_t ranks,
             std::size_t count) {
    const auto all_if = [&](bool is_pair) { return Flow{0, 0, is_pair ? count : 0}; };
    switch (collective) {
        case Collective::all_gather:
            return {0, from * count, count};
        case Collective::all_to_all:
            return {to * count, from * count, count};
        case Collective::all_to_all_v:
            return {to * count, from * count, (count * quarters_of_room(from, to, ranks) + 3) / 4};
        case Collective::gather:
            return to == 0 ? Flow{0, from * count, count} : Flow{};
        case Collective::scatter:
            return from == 0 ? Flow{to * count, 0, count} : Flow{};
        case Collective::broadcast:
            return all_if(from == 0);
        case Collective::send_recv:
            return all_if(to == (from + 1) % ranks);
        case Collective::bisection:
            return all_if(to == (from + ranks / 2) % ranks);
        case Collective::all_reduce:
        case Collective::reduce_scatter:
        case Collective::reduce:
            break;
    }
    return {};
}

}  // namespace distgpu::scaling

// The values of the key order=.
#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/spec/request.h"

namespace distgpu {

Result<RankOrder> parse_rank_order(std::string_view text) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    using Source = RankOrder::Source;
    if (text == "slurm") return RankOrder{};
    if (text == "switch") return RankOrder{Source::switches};
    if (text.find('/') != std::string_view::npos) return RankOrder{Source::file, std::string(text)};
    const bool is_name = text.size() > 1 && text.front() == '$' &&
                         text.find_first_not_of(letters, 1) == std::string_view::npos;
    if (is_name) return RankOrder{Source::variable, std::string(text.substr(1))};
    return Error{formatted("order={}", excerpt(text)), "no order of the nodes",
                 "give slurm, switch, a file with its path (./FILE), or '$NAME' of a variable"};
}

bool reorders(const Request& request) {
    return request.order && request.order->source != RankOrder::Source::slurm;
}

std::string to_string(const RankOrder& order) {
    switch (order.source) {
        case RankOrder::Source::switches:
            return "switch";
        case RankOrder::Source::file:
            return order.text;
        case RankOrder::Source::variable:
            return "$" + order.text;
        case RankOrder::Source::slurm:
            break;
    }
    return "slurm";
}

}  // namespace distgpu

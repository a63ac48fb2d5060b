#include "mapping/request/request.h"

#include "base/format.h"

namespace distgpu {
namespace {

constexpr std::string_view end_word = ":end";

}  // namespace

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

std::string to_string(const Watch& watch, std::string_view unit) {
    if (watch.minutes == 0) return watch.on ? "on" : "off";
    return formatted("{}{}{}", watch.minutes, unit, watch.ends ? end_word : "");
}

bool take_end(std::string_view& text) {
    const bool ends = text.ends_with(end_word);
    if (ends) text.remove_suffix(end_word.size());
    return ends;
}

Watch watch_of(const Request& request) {
    return request.watch.value_or(Watch{});
}

}  // namespace distgpu

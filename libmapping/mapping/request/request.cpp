// See request.h.
#include "mapping/request/request.h"

#include "base/format.h"

namespace distgpu {

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

std::string to_string(const Watch& watch) {
    if (watch.minutes == 0) return watch.on ? "on" : "off";
    return formatted("{}{}", watch.minutes, watch.ends ? ":end" : "");
}

Watch watch_of(const Request& request) {
    return request.watch.value_or(Watch{});
}

}  // namespace distgpu

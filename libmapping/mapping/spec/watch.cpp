// The value of the key watch=.
#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/spec/request.h"

namespace distgpu {

Result<Watch> parse_watch(std::string_view text) {
    constexpr std::uint32_t most = 1440;  // a day
    constexpr std::string_view end = ":end";
    if (text == "off") return Watch{};
    if (text == "on") return Watch{.on = true};
    Watch watch{.on = true, .ends = text.ends_with(end)};
    const auto minutes = whole_number(text.substr(0, text.size() - (watch.ends ? end.size() : 0)));
    if (!minutes || *minutes == 0 || *minutes > most) {
        return Error{
            formatted("watch={}", excerpt(text)), "unknown value",
            formatted("give minutes from 1 to {}, as in watch=30 or watch=30:end, or on or "
                      "off",
                      most)};
    }
    watch.minutes = *minutes;
    return watch;
}

std::string to_string(const Watch& watch) {
    if (watch.minutes == 0) return watch.on ? "on" : "off";
    return formatted("{}{}", watch.minutes, watch.ends ? ":end" : "");
}

Watch watch_of(const Request& request) {
    return request.watch.value_or(Watch{});
}

}  // namespace distgpu

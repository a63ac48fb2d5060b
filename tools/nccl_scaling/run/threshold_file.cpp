#include "run/threshold_file.h"

#include "analysis/bus_bandwidth.h"
#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "run/sizes.h"

#include <algorithm>
#include <optional>

namespace distgpu::scaling {
namespace {

constexpr const char* form = "write collective, size, ranks, GB/s: all-reduce, 1G, 16, 180";

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return "";
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Without its comment.
std::string_view content_of(std::string_view line) {
    return trimmed(line.substr(0, line.find('#')));
}

// An error's object is the item; the caller knows the line.
Result<Threshold> parse_line(std::string_view line) {
    auto items = comma_items(line);
    if (items.size() != 4) return Error{"", formatted("{} items, not 4", items.size()), form};
    std::transform(items.begin(), items.end(), items.begin(), trimmed);
    const auto refuse = [](std::string_view item, const char* problem) {
        return Error{"", formatted("'{}' is {}", excerpt(item), problem), form};
    };
    const auto collective = collective_named(items[0]);
    if (!collective) return refuse(items[0], "not a collective");
    const auto bytes = parse_size(items[1]);
    if (!bytes) return refuse(items[1], "not a size");
    const auto ranks = whole_number(items[2]);
    if (!ranks || *ranks < 2) return refuse(items[2], "not a number of ranks from 2");
    const auto bandwidth = decimal(items[3]);
    constexpr double gb = 1e9;
    constexpr double most = 1e9;  // what a typing error has more of, in GB/s
    if (!bandwidth || *bandwidth <= 0 || *bandwidth > most) {
        return refuse(items[3], "not a bandwidth above 0");
    }
    Threshold threshold;
    threshold.collective = *collective;
    threshold.bytes = *bytes;
    threshold.ranks = *ranks;
    threshold.bandwidth = *bandwidth * gb;
    return threshold;
}

bool is_known(const std::vector<Threshold>& thresholds, const Threshold& other) {
    return std::any_of(thresholds.begin(), thresholds.end(), [&](const Threshold& one) {
        return one.collective == other.collective && one.bytes == other.bytes &&
               one.ranks == other.ranks;
    });
}

}  // namespace

Result<std::vector<Threshold>> parse_thresholds(std::string_view text, const std::string& name) {
    std::vector<Threshold> thresholds;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const auto line = content_of(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.empty()) continue;
        const std::string place = formatted("{}, line {}", name, number);
        auto threshold = parse_line(line);
        if (!threshold) return Error{place, threshold.error().problem, threshold.error().remedy};
        if (is_known(thresholds, *threshold)) {
            return Error{place, "an earlier line already has these", "keep one of the two"};
        }
        thresholds.push_back(*std::move(threshold));
    }
    if (thresholds.empty()) return Error{name, "contains no threshold", form};
    return thresholds;
}

}  // namespace distgpu::scaling

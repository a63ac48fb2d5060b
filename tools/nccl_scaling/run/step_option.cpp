#include "run/step_option.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "base/values.h"
#include "report/units.h"
#include "run/sizes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr const char* form = "write compute=120ms,allreduce=25M*40";

std::optional<double> parse_seconds(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, double>, 3> units{
        {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}}};
    for (const auto& [unit, size] : units) {
        if (!text.ends_with(unit)) continue;
        const auto number = decimal(text.substr(0, text.size() - unit.size()));
        return number && *number >= 0 ? std::optional(*number * size) : std::nullopt;
    }
    return std::nullopt;
}

std::string without_hyphens(std::string_view name) {
    std::string word(name);
    word.erase(std::remove(word.begin(), word.end(), '-'), word.end());
    return word;
}

std::optional<Collective> collective_like(std::string_view name) {
    const auto row = std::find_if(collectives.begin(), collectives.end(), [&](const auto& known) {
        return without_hyphens(known.name) == without_hyphens(name);
    });
    return row == collectives.end() ? std::nullopt : std::optional(row->collective);
}

// "25M*40"
Result<TrainingStep::Part> parse_part(Collective collective, std::string_view text) {
    const std::size_t star = text.find('*');
    const auto bytes = parse_size(text.substr(0, star));
    if (!bytes) return bytes.error();
    const auto count = star == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                      : whole_number(text.substr(star + 1));
    if (!count || *count == 0) return Error{std::string(text), "not a size, or SIZE*COUNT", form};
    return TrainingStep::Part{collective, *bytes, *count};
}

std::optional<Error> unmeasured(const TrainingStep::Part& part, const Wishes& wishes) {
    const auto name = row_of(part.collective).name;
    const auto& known = wishes.collectives;
    if (std::find(known.begin(), known.end(), part.collective) == known.end()) {
        return Error{formatted("--step {}", name), "this collective is not measured",
                     formatted("name it in --collective: {}", name)};
    }
    const bool too_large = part.bytes > wishes.sizes.back();
    if (!too_large && part.bytes >= wishes.sizes.front()) return std::nullopt;
    return Error{formatted("--step {} of {}", name, format_bytes(part.bytes)),
                 formatted("{} than the {} size measured, {}", too_large ? "larger" : "smaller",
                           too_large ? "largest" : "smallest",
                           format_bytes(too_large ? wishes.sizes.back() : wishes.sizes.front())),
                 formatted("measure {} that size with {} {}", too_large ? "up to" : "from",
                           too_large ? "-e" : "-b", part.bytes)};
}

std::optional<Error> add_item(TrainingStep& step, std::string_view item, const Wishes& wishes) {
    const std::size_t equals = item.find('=');
    const auto name = item.substr(0, equals);
    const auto value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    if (name == "compute") {
        const auto seconds = parse_seconds(value);
        if (!seconds) return Error{"--step " + std::string(item), "not a time", form};
        step.compute = *seconds;
        return std::nullopt;
    }
    const auto collective = collective_like(name);
    if (!collective) return Error{"--step " + std::string(item), "not a collective", form};
    const auto part = parse_part(*collective, value);
    if (!part) return part.error();
    step.parts.push_back(*part);
    return unmeasured(*part, wishes);
}

}  // namespace

Result<TrainingStep> parse_step(const std::string& text, const Wishes& wishes) {
    TrainingStep step;
    step.text = text;
    for (const auto item : comma_items(text)) {
        if (auto error = add_item(step, item, wishes)) return *std::move(error);
    }
    if (step.parts.empty() || step.compute <= 0) {
        return Error{"--step " + text, "needs compute and a collective", form};
    }
    return step;
}

}  // namespace distgpu::scaling

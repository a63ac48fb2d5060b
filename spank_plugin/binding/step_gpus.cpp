// See step_gpus.h.
#include "binding/step_gpus.h"

#include <algorithm>
#include <charconv>

namespace distgpu {
namespace {

// "0,2" as numbers below the limit, ascending; nothing where it is another text.
std::optional<std::vector<std::uint32_t>> numbers(std::string_view list, std::size_t limit) {
    std::vector<std::uint32_t> result;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        std::uint32_t number = 0;
        const char* const stop = list.data() + end;
        const auto [read, error] = std::from_chars(list.data() + at, stop, number);
        if (error != std::errc{} || read != stop || number >= limit) return std::nullopt;
        if (!result.empty() && number <= result.back()) return std::nullopt;
        result.push_back(number);
        at = end + 1;
    }
    return result;
}

}  // namespace

std::optional<StepGpus> step_gpus(std::string_view global, std::string_view visible,
                                  std::size_t node_gpus) {
    const auto indices = numbers(global, node_gpus);
    const auto named = numbers(visible, node_gpus);
    if (!indices || !named || indices->size() != named->size()) return std::nullopt;
    StepGpus gpus{*indices, {}};
    for (const std::uint32_t name : *named) gpus.names.push_back(std::to_string(name));
    return gpus;
}

std::uint32_t per_task(std::string_view tres_bind) {
    constexpr std::string_view word = "per_task:";
    const std::size_t at = tres_bind.find(word);
    std::uint32_t count = 0;
    if (at != std::string_view::npos) {
        const std::string_view number = tres_bind.substr(at + word.size());
        std::from_chars(number.data(), number.data() + number.size(), count);
    }
    return count;
}

}  // namespace distgpu

// See step_gpus.h.
#include "node/step_gpus.h"

#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

// "0,2" as numbers below the limit, ascending; nothing where it is another text.
std::optional<std::vector<std::uint32_t>> numbers(std::string_view list, std::size_t limit) {
    std::vector<std::uint32_t> result;
    for (const std::string_view item : comma_items(list)) {
        const auto number = number_below(item, limit);
        if (!number) return std::nullopt;
        if (!result.empty() && *number <= result.back()) return std::nullopt;
        result.push_back(*number);
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
    // One part for each kind of device: "gpu:verbose,per_task:2+nic:closest",
    // "gres/gpu:per_task:2".
    constexpr std::string_view gres = "gres/";
    constexpr std::string_view gpu = "gpu:";
    constexpr std::string_view word = "per_task:";
    std::uint32_t count = 0;
    for (std::size_t at = 0; at < tres_bind.size();) {
        const std::size_t end = std::min(tres_bind.find('+', at), tres_bind.size());
        std::string_view part = tres_bind.substr(at, end - at);
        if (part.substr(0, gres.size()) == gres) part.remove_prefix(gres.size());
        const std::size_t found = part.find(word);
        if (part.substr(0, gpu.size()) == gpu && found != std::string_view::npos) {
            count = whole_number(part.substr(found + word.size())).value_or(0);
        }
        at = end + 1;
    }
    return count;
}

}  // namespace distgpu

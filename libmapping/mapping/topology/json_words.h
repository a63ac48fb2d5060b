// The words of distgpu.topo/1 for the values of topology.h. What is not known has none: null.
#pragma once

#include "mapping/topology/topology.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace distgpu::json_words {

inline constexpr std::string_view schema = "distgpu.topo/1";

template <class Value>
struct Word {
    Value value;
    std::string_view word;
};

inline constexpr std::array vendors{Word<GpuVendor>{GpuVendor::nvidia, "nvidia"},
                                    Word<GpuVendor>{GpuVendor::amd, "amd"},
                                    Word<GpuVendor>{GpuVendor::intel, "intel"}};
inline constexpr std::array hca_kinds{Word<HcaKind>{HcaKind::verbs, "verbs"},
                                      Word<HcaKind>{HcaKind::efa, "efa"},
                                      Word<HcaKind>{HcaKind::slingshot, "slingshot"}};
inline constexpr std::array states{Word<HcaPort::State>{HcaPort::State::active, "active"},
                                   Word<HcaPort::State>{HcaPort::State::down, "down"}};
inline constexpr std::array links{Word<HcaPort::Link>{HcaPort::Link::infiniband, "infiniband"},
                                  Word<HcaPort::Link>{HcaPort::Link::ethernet, "ethernet"}};
inline constexpr std::array distances{
    Word<Distance>{Distance::pix, "PIX"}, Word<Distance>{Distance::pxb, "PXB"},
    Word<Distance>{Distance::phb, "PHB"}, Word<Distance>{Distance::node, "NODE"},
    Word<Distance>{Distance::sys, "SYS"}};

// Nothing: `words` has none for it.
template <class Words, class Value>
std::optional<std::string_view> word_of(const Words& words, Value value) {
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const auto& entry) { return entry.value == value; });
    return found == words.end() ? std::nullopt : std::optional(found->word);
}

// Nothing: `words` has no value of this word.
template <class Words>
auto value_of(const Words& words, std::string_view word) {
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const auto& entry) { return entry.word == word; });
    return found == words.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace distgpu::json_words

#include "mapping/texts/variables.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"

#include <algorithm>

namespace distgpu {
namespace {

// "0000:06:00.0". The text must not lead to other files of /proc or /sys.
bool is_pci_address(std::string_view text) {
    return !text.empty() && text.find("..") == std::string_view::npos &&
           text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

// The mark of a record that lists variables.
constexpr std::string_view version = "v2";

constexpr std::string_view given_prefix = "given.";
constexpr std::string_view kept_prefix = "kept.";

// Enough for the UUIDs of 24 GPUs.
constexpr std::size_t max_value_size = 1024;

bool is_recordable(std::string_view value) {
    return value.size() <= max_value_size &&
           std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
}

std::string variable_part(const BoundVariable& variable) {
    std::string name =
        formatted("{}{}", variable.is_given ? given_prefix : kept_prefix, variable.name);
    if (!variable.value || !is_recordable(*variable.value)) return name;
    return formatted("{}={}", name, *variable.value);
}

// nullopt if the part describes none of bound_variables().
std::optional<BoundVariable> parse_variable(std::string_view part) {
    const bool is_given = part.starts_with(given_prefix);
    if (!is_given && !part.starts_with(kept_prefix)) return std::nullopt;
    part.remove_prefix(is_given ? given_prefix.size() : kept_prefix.size());
    const bool has_value = part.find('=') != std::string_view::npos;
    const std::string_view name = cut_until(part, '=');
    if (std::ranges::count(bound_variables(), name) == 0) return std::nullopt;
    if (!has_value || !is_recordable(part)) return BoundVariable{std::string(name), {}, is_given};
    return BoundVariable{std::string(name), std::string(part), is_given};
}

}  // namespace

std::span<const std::string_view> bound_variables() {
    static const std::vector<std::string_view> names = [] {
        // HIP reads it in place of CUDA_VISIBLE_DEVICES; neither Slurm nor distgpu sets it.
        std::vector<std::string_view> all{"HIP_VISIBLE_DEVICES"};
        for (const SetVariable& variable : device_variables()) all.push_back(variable.name);
        return all;
    }();
    return names;
}

std::string bound_record_text(const CpuSet& cpus, const NodeFacts& facts,
                              std::span<const BoundVariable> variables) {
    std::vector<std::string> gpus;
    const auto& names = facts.gpu_names.names;
    if (facts.topology != nullptr && names.size() == facts.share.gpus.size()) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            gpus.push_back(
                formatted("{}@{}", names[i], facts.topology->gpus[facts.share.gpus[i]].pci));
        }
    }
    std::vector<std::string> parts{std::string(version)};
    if (!cpus.empty()) parts.push_back("cpus=" + cpus.to_string());
    if (!gpus.empty()) parts.push_back("gpus=" + join(gpus, ","));
    for (const BoundVariable& variable : variables) parts.push_back(variable_part(variable));
    return join(parts, " ");
}

BoundRecord read_bound_record(std::string_view text) {
    constexpr std::size_t max_gpus = 256;
    BoundRecord record;
    while (!text.empty()) {
        std::string_view part = cut_until(text, ' ');
        if (part == version) record.variables.emplace();
        if (auto variable = parse_variable(part); variable && record.variables) {
            const auto& known = *record.variables;
            if (std::ranges::count(known, variable->name, &BoundVariable::name) == 0) {
                record.variables->push_back(*std::move(variable));
            }
            continue;
        }
        const std::string_view name = cut_until(part, '=');
        if (name == "cpus") {
            if (auto cpus = CpuSet::parse(part)) record.cpus = *std::move(cpus);
        } else if (name == "gpus") {
            record.gpus.clear();
            for (std::string_view pci : comma_items(part)) {
                const std::string_view gpu = cut_until(pci, '@');
                if (!is_pci_address(pci) || record.gpus.size() == max_gpus) continue;
                record.gpus.push_back({std::string(gpu), std::string(pci)});
            }
        }
    }
    return record;
}

}  // namespace distgpu

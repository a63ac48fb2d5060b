#include "mapping/texts/bound_record.h"

#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"

namespace distgpu {
namespace {

std::vector<std::string> gpus_of(const NodeFacts& facts) {
    std::vector<std::string> gpus;
    const auto& names = facts.gpu_names.names;
    if (facts.topology == nullptr || names.size() != facts.share.gpus.size()) return gpus;
    for (std::size_t i = 0; i < names.size(); ++i) {
        gpus.push_back(formatted("{}@{}", names[i], facts.topology->gpus[facts.share.gpus[i]].pci));
    }
    return gpus;
}

// "0000:06:00.0", which names no other file of /proc or /sys.
bool is_pci_address(std::string_view text) {
    return !text.empty() && text.find("..") == std::string_view::npos &&
           text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

std::vector<BoundGpu> read_gpus(std::string_view list) {
    constexpr std::size_t most = 256;
    std::vector<BoundGpu> gpus;
    for (const std::string_view item : comma_items(list)) {
        const std::size_t at = item.find('@');
        if (at == std::string_view::npos || gpus.size() == most) continue;
        const std::string_view pci = item.substr(at + 1);
        if (is_pci_address(pci))
            gpus.push_back({std::string(item.substr(0, at)), std::string(pci)});
    }
    return gpus;
}

}  // namespace

std::string bound_text(const CpuSet& cpus, const NodeFacts& facts) {
    std::vector<std::string> parts;
    if (!cpus.empty()) parts.push_back("cpus=" + cpus.to_string());
    const auto gpus = gpus_of(facts);
    if (!gpus.empty()) parts.push_back("gpus=" + join(gpus, ","));
    return join(parts, " ");
}

BoundRecord read_bound(std::string_view text) {
    constexpr std::string_view of_cpus = "cpus=";
    constexpr std::string_view of_gpus = "gpus=";
    BoundRecord record;
    while (!text.empty()) {
        const std::string_view part = take_until(text, ' ');
        if (part.starts_with(of_cpus)) {
            if (auto cpus = CpuSet::parse(part.substr(of_cpus.size()))) {
                record.cpus = *std::move(cpus);
            }
        } else if (part.starts_with(of_gpus)) {
            record.gpus = read_gpus(part.substr(of_gpus.size()));
        }
    }
    return record;
}

}  // namespace distgpu

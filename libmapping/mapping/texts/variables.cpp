#include "mapping/texts/variables.h"

#include "base/format.h"
#include "base/values.h"

namespace distgpu {
namespace {

// "0000:06:00.0". The text must not lead to other files of /proc or /sys.
bool is_pci_address(std::string_view text) {
    return !text.empty() && text.find("..") == std::string_view::npos &&
           text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

}  // namespace

std::string bound_record_text(const CpuSet& cpus, const NodeFacts& facts) {
    std::vector<std::string> gpus;
    const auto& names = facts.gpu_names.names;
    if (facts.topology != nullptr && names.size() == facts.share.gpus.size()) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            gpus.push_back(
                formatted("{}@{}", names[i], facts.topology->gpus[facts.share.gpus[i]].pci));
        }
    }
    std::vector<std::string> parts;
    if (!cpus.empty()) parts.push_back("cpus=" + cpus.to_string());
    if (!gpus.empty()) parts.push_back("gpus=" + join(gpus, ","));
    return join(parts, " ");
}

BoundRecord read_bound_record(std::string_view text) {
    constexpr std::size_t max_gpus = 256;
    BoundRecord record;
    while (!text.empty()) {
        std::string_view part = cut_until(text, ' ');
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

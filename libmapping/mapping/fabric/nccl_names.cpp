#include "mapping/fabric/nccl_names.h"

#include "base/values.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace distgpu {
namespace {

bool cut_first(std::string_view& text, char first) {
    if (!text.starts_with(first)) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

NcclNames::NcclNames(std::string_view value, std::size_t max_names)
    : excludes_(cut_first(value, '^')), whole_(cut_first(value, '=')) {
    for (const std::string_view item : comma_items(value)) {
        const std::size_t colon = std::min(item.find(':'), item.size());
        if (colon == 0 || names_.size() == max_names) continue;
        Name name{std::string(item.substr(0, colon))};
        // NCCL reads the port as atoi(3) does, so that a word is port 0.
        const std::string port(item.substr(std::min(colon + 1, item.size())));
        if (colon < item.size())
            name.port = static_cast<int>(std::strtol(port.c_str(), nullptr, 10));
        names_.push_back(std::move(name));
    }
}

bool NcclNames::allows(std::string_view name, std::optional<std::uint32_t> port) const {
    const bool is_named =
        names_.empty() || std::ranges::any_of(names_, [&](const Name& each) {
            return (whole_ ? name == each.text : name.starts_with(each.text)) &&
                   (!port || each.port == -1 || each.port == static_cast<int>(*port));
        });
    return is_named != excludes_;
}

std::vector<std::string> nccl_interfaces(std::string_view value,
                                         std::span<const std::string> running) {
    const auto allowed = [running](std::string_view text) {
        const NcclNames names(text, NcclNames::max_interfaces);
        std::vector<std::string> found;
        for (const std::string& name : running) {
            if (names.allows(name) && found.size() < NcclNames::max_interfaces) {
                found.push_back(name);
            }
        }
        return found;
    };
    if (chooses_interfaces(value)) return allowed(value);
    for (const char* usual : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"}) {
        if (auto found = allowed(usual); !found.empty()) return found;
    }
    return {};
}

}  // namespace distgpu

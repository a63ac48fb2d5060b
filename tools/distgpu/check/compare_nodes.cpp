#include "check/compare_nodes.h"

#include "base/format.h"
#include "check/check_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Nodes = std::set<std::uint32_t>;
using ByValue = std::map<std::string, Nodes>;

std::string names_of(const Nodes& nodes, const StepLayout& layout) {
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const std::uint32_t node : nodes) names.push_back(layout.hosts().name(NodeIndex{node}));
    return HostList::from_names(names).to_string();
}

ByValue::const_iterator most(const ByValue& values) {
    return std::max_element(values.begin(), values.end(), [](const auto& left, const auto& right) {
        if (left.second.size() != right.second.size()) {
            return left.second.size() < right.second.size();
        }
        return *left.second.begin() > *right.second.begin();
    });
}

Finding finding_of(const NodeTrait& trait, const std::string& value, const Nodes& nodes,
                   const std::pair<const std::string, Nodes>& usual, const StepLayout& layout) {
    const std::string others = usual.second.size() == 1
                                   ? names_of(usual.second, layout) + " has"
                                   : counted(usual.second.size(), "other node") + " have";
    return {trait.weight,
            {trait.name, formatted("{}, but {} {}", value, others, usual.first),
             formatted("make them alike, or leave out what differs with --exclude={}",
                       names_of(nodes, layout))},
            std::string(nodes_check.name)};
}

}  // namespace

void compare_nodes(std::vector<Report>& reports, const StepLayout& layout) {
    std::map<std::string, ByValue> traits;
    std::map<std::string, NodeTrait> first;
    for (const Report& report : reports) {
        for (const NodeTrait& trait : report.traits) {
            traits[trait.name][trait.value].insert(report.node);
            first.emplace(trait.name, trait);
        }
    }
    for (const auto& [name, values] : traits) {
        const auto usual = most(values);
        for (auto value = values.begin(); value != values.end(); ++value) {
            if (value == usual) continue;
            const Finding finding =
                finding_of(first[name], value->first, value->second, *usual, layout);
            for (Report& report : reports) {
                if (value->second.contains(report.node)) report.findings.push_back(finding);
            }
        }
    }
}

}  // namespace distgpu

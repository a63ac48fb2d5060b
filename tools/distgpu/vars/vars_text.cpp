// See vars_text.h.
#include "vars/vars_text.h"

#include "base/format.h"
#include "mapping/spec/request.h"
#include "vars/wrapped_table.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace distgpu {
namespace {

using Json = nlohmann::ordered_json;
using Variables = std::span<const SetVariable>;

constexpr std::size_t width = 100;
constexpr std::size_t indent = 2;

// The keys that every mode takes.
std::vector<std::string_view> common_keys() {
    std::vector<std::string_view> names;
    for (const SpecKey& key : spec_keys()) {
        if (!key.special) names.push_back(key.name);
    }
    return names;
}

std::string section(std::string_view heading, const std::vector<Row>& rows) {
    return formatted("\n{}:\n", heading) + wrapped_table(rows, indent, width);
}

std::string set_section(std::string_view heading, Variables variables) {
    std::vector<Row> rows;
    for (const SetVariable& variable : variables) {
        rows.push_back({std::string(variable.name), std::string(variable.meaning)});
    }
    return section(heading, rows);
}

std::string unset_section(std::span<const UnsetVariable> variables) {
    std::vector<Row> rows;
    for (const UnsetVariable& variable : variables) {
        rows.push_back({std::string(variable.name), std::string(variable.reason)});
    }
    return section("Removed", rows);
}

// What every mode sets besides `own`, and which of all these are the user's.
std::string besides(Variables own) {
    std::vector<std::string_view> users_own;
    for (const Variables variables : {own, common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            if (variable.users_own) users_own.push_back(variable.name);
        }
    }
    return set_section("Set in every mode", common_variables()) +
           set_section("Set in every mode where the node's topology is known", device_variables()) +
           '\n' +
           wrapped_table({{"Left alone where you exported them:", join(users_own, ", ")}}, 0,
                         width);
}

Json set_json(Variables variables) {
    Json json = Json::array();
    for (const SetVariable& variable : variables) {
        json.push_back({{"name", variable.name},
                        {"meaning", variable.meaning},
                        {"users_own", variable.users_own}});
    }
    return json;
}

Json contract_json(const Framework& contract) {
    Json unset = Json::array();
    for (const UnsetVariable& variable : contract.unsets) {
        unset.push_back({{"name", variable.name}, {"reason", variable.reason}});
    }
    return {{"mode", contract.mode},          {"aliases", contract.aliases},
            {"keys", contract.keys},          {"summary", contract.summary},
            {"set", set_json(contract.sets)}, {"unset", unset}};
}

}  // namespace

std::vector<const Framework*> contracts() {
    std::vector<const Framework*> all;
    for (const Framework* framework : frameworks()) {
        all.push_back(framework);
        for (const Variant& variant : framework->variants) {
            if (find_framework(variant.framework->mode) == nullptr)
                all.push_back(variant.framework);
        }
    }
    return all;
}

std::string modes_table() {
    std::vector<Row> rows{{"MODE", "ALIASES", "KEYS", "SUMMARY"}};
    for (const Framework* contract : contracts()) {
        rows.push_back({std::string(contract->mode), join(contract->aliases, ", "),
                        join(contract->keys, ", "), std::string(contract->summary)});
    }
    return wrapped_table(rows, 0, width) + '\n' +
           wrapped_table({{"Keys of every mode:", join(common_keys(), ", ")}}, 0, width) +
           besides({});
}

std::string contract_table(const Framework& contract) {
    std::string text =
        wrapped_table({{formatted("{}:", contract.mode), std::string(contract.summary)}}, 0, width);
    text += set_section("Set", contract.sets);
    if (!contract.unsets.empty()) text += unset_section(contract.unsets);
    return text + besides(contract.sets);
}

std::string vars_json(std::span<const Framework* const> contracts) {
    Json modes = Json::array();
    for (const Framework* contract : contracts) modes.push_back(contract_json(*contract));
    const Json json{{"schema", "distgpu.vars/1"},
                    {"modes", modes},
                    {"keys", common_keys()},
                    {"common", set_json(common_variables())},
                    {"devices", set_json(device_variables())}};
    constexpr int spaces = 1;
    return json.dump(spaces) + '\n';
}

}  // namespace distgpu

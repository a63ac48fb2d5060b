#include "vars/vars_text.h"

#include "base/format.h"
#include "base/json_text.h"
#include "mapping/binding/device_values.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "table.h"

#include <string_view>
#include <utility>

namespace distgpu {
namespace {

using Variables = std::span<const SetVariable>;

constexpr TableForm page{.width = 100};
constexpr TableForm section_form{.indent = 2, .width = page.width};

// The keys that every mode takes.
std::vector<std::string_view> common_keys() {
    std::vector<std::string_view> names;
    for (const SpecKey& key : spec_keys()) {
        if (!key.special) names.push_back(key.name);
    }
    return names;
}

std::string section(std::string_view heading, std::vector<Row> rows) {
    return formatted("\n{}:\n", heading) + table(std::move(rows), section_form);
}

std::string set_section(std::string_view heading, Variables variables) {
    std::vector<Row> rows;
    for (const SetVariable& variable : variables) {
        rows.push_back({std::string(variable.name), std::string(variable.meaning)});
    }
    return section(heading, std::move(rows));
}

std::string unset_section(std::span<const UnsetVariable> variables) {
    std::vector<Row> rows;
    for (const UnsetVariable& variable : variables) {
        rows.push_back({std::string(variable.name), std::string(variable.reason)});
    }
    return section("Removed", std::move(rows));
}

std::string option_section(const Service& service) {
    std::vector<Row> rows;
    for (const ProgramOption& option : service.options) {
        rows.push_back({std::string(option.name), std::string(option.meaning)});
    }
    const std::string heading =
        service.companion.empty()
            ? "Options that distgpu exec adds, unless you wrote them"
            : formatted("Options of the {} that distgpu exec starts on every node",
                        join(service.companion, " "));
    return section(heading, std::move(rows));
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
           set_section("Set in every mode if the node's topology is known", device_variables()) +
           '\n' + table({{"Left alone if you exported them:", join(users_own, ", ")}}, page);
}

JsonText set_json(Variables variables) {
    return JsonText::list(variables, [](const SetVariable& variable) -> JsonText {
        return {{"name", variable.name},
                {"meaning", variable.meaning},
                {"users_own", variable.users_own}};
    });
}

JsonText unset_json(const UnsetVariable& variable) {
    return {{"name", variable.name}, {"reason", variable.reason}};
}

JsonText option_json(const ProgramOption& option) {
    return {{"name", option.name}, {"meaning", option.meaning}};
}

JsonText contract_json(const Framework* contract) {
    std::vector<JsonMember> json{{"mode", contract->mode},
                                 {"aliases", JsonText::list(contract->aliases)},
                                 {"keys", JsonText::list(contract->keys)},
                                 {"summary", contract->summary},
                                 {"set", set_json(contract->sets)},
                                 {"unset", JsonText::list(contract->unsets, unset_json)}};
    if (contract->service != nullptr) {
        json.push_back({"options", JsonText::list(contract->service->options, option_json)});
    }
    return json;
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
    return table(std::move(rows), page) + '\n' +
           table({{"Keys of every mode:", join(common_keys(), ", ")}}, page) + besides({});
}

std::string contract_table(const Framework& contract) {
    std::string text =
        table({{formatted("{}:", contract.mode), std::string(contract.summary)}}, page);
    text += set_section("Set", contract.sets);
    if (!contract.unsets.empty()) text += unset_section(contract.unsets);
    if (contract.service != nullptr) text += option_section(*contract.service);
    return text + besides(contract.sets);
}

std::string vars_json(std::span<const Framework* const> contracts) {
    const JsonText json{{"schema", "distgpu.vars/1"},
                        {"modes", JsonText::list(contracts, contract_json)},
                        {"keys", JsonText::list(common_keys())},
                        {"common", set_json(common_variables())},
                        {"devices", set_json(device_variables())}};
    return json.indented() + '\n';
}

}  // namespace distgpu

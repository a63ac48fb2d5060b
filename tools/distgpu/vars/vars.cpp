// `distgpu vars`: which variables the tasks of each mode get, and which must go.
#include "vars/vars.h"

#include "base/format.h"
#include "base/json.h"
#include "command_line.h"
#include "mapping/binding/device_values.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "output.h"
#include "table.h"

#include <array>
#include <memory>

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

// A row of each, with its name and what is said of it.
template <class Item>
std::string section(std::string_view heading, std::span<const Item> items,
                    std::string_view Item::*text) {
    std::vector<Row> rows;
    for (const Item& item : items) {
        rows.push_back({std::string(item.name), std::string(item.*text)});
    }
    return formatted("\n{}:\n", heading) + table(std::move(rows), section_form);
}

std::string set_section(std::string_view heading, Variables variables) {
    return section(heading, variables, &SetVariable::meaning);
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

// The same in JSON.
template <class Item>
JsonText list_json(std::span<const Item> items, std::string_view key,
                   std::string_view Item::*text) {
    return JsonText::list(items, [&](const Item& item) -> JsonText {
        return {{"name", item.name}, {key, item.*text}};
    });
}

JsonText contract_json(const Framework* contract) {
    std::vector<JsonMember> json{
        {"mode", contract->mode},
        {"aliases", JsonText::list(contract->aliases)},
        {"keys", JsonText::list(contract->keys)},
        {"summary", contract->summary},
        {"set", set_json(contract->sets)},
        {"unset", list_json(contract->unsets, "reason", &UnsetVariable::reason)}};
    if (contract->service != nullptr) {
        json.push_back(
            {"options", list_json(contract->service->options, "meaning", &ProgramOption::meaning)});
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
    if (!contract.unsets.empty()) {
        text += section("Removed", contract.unsets, &UnsetVariable::reason);
    }
    if (const Service* const service = contract.service) {
        text += section(service->companion.empty()
                            ? "Options that distgpu exec adds, unless you wrote them"
                            : formatted("Options of the {} that distgpu exec starts on every node",
                                        join(service->companion, " ")),
                        service->options, &ProgramOption::meaning);
    }
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

namespace {

struct Arguments {
    std::optional<std::string> mode;  // nothing: all
    std::string format = "table";
};

ExitCode run_vars(const Arguments& arguments) {
    const bool json = arguments.format == "json";
    if (!arguments.mode) {
        return print_or_complain(json ? vars_json(contracts()) : modes_table(), ExitCode::done);
    }
    const auto request = parse_spec("", *arguments.mode);
    if (!request) return complain(request.error(), ExitCode::usage);
    if (request->help) return print_or_complain(spec_help(), ExitCode::done);
    const Framework* const framework = request->framework;
    if (framework == nullptr) {
        return complain({*arguments.mode, "sets nothing", "give the mode of a framework"},
                        ExitCode::usage);
    }
    return print_or_complain(json ? vars_json(std::array{framework}) : contract_table(*framework),
                             ExitCode::done);
}

}  // namespace

Subcommand vars_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "vars",
            .help = "Show which variables each mode sets and removes.",
            .options = {{"MODE", &arguments->mode,
                         "MODE[,KEY[=VALUE]]... shows only this mode, help shows the keys "
                         "(default: all modes)"},
                        format_option(arguments->format)},
            .run = [arguments] { return run_vars(*arguments); }};
}

}  // namespace distgpu

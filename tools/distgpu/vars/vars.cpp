// `distgpu vars`: shows which variables the tasks of each mode get, and which are removed.
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

constexpr TableFormat page_format{.width = 100};
constexpr TableFormat section_format{.indent = 2, .width = page_format.width};

// The keys that every mode accepts.
std::vector<std::string_view> common_keys() {
    std::vector<std::string_view> names;
    for (const SpecKey& key : spec_keys()) {
        if (!key.special) names.push_back(key.name);
    }
    return names;
}

// A heading, and a row for each item with its name and the member `text`.
template <class Item, class Member>
std::string section(std::string_view heading, std::span<const Item> items, Member Item::*text) {
    std::vector<Row> rows;
    for (const Item& item : items) {
        rows.push_back({std::string(item.name), std::string(item.*text)});
    }
    return formatted("\n{}:\n", heading) + table(std::move(rows), section_format);
}

std::string set_section(std::string_view heading, Variables variables) {
    return section(heading, variables, &SetVariable::meaning);
}

// The variables that every mode sets, and those of them and of `own` that the user may set instead.
std::string common_sections(Variables own) {
    std::vector<std::string_view> users_own;
    for (const Variables variables : {own, common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            if (variable.users_own) users_own.push_back(variable.name);
        }
    }
    return set_section("Set in every mode", common_variables()) +
           set_section("Set in every mode if the node's topology is known", device_variables()) +
           '\n' + table({{"Left alone if you exported them:", join(users_own, ", ")}}, page_format);
}

JsonText set_json(Variables variables) {
    return JsonText::list(variables, [](const SetVariable& variable) -> JsonText {
        return {{"name", variable.name},
                {"meaning", variable.meaning},
                {"users_own", variable.users_own}};
    });
}

// A JSON list of the items, each with its name and the member `text`.
template <class Item, class Member>
JsonText list_json(std::span<const Item> items, std::string_view key, Member Item::*text) {
    return JsonText::list(items, [&](const Item& item) -> JsonText {
        return {{"name", item.name}, {key, item.*text}};
    });
}

JsonText framework_json(const Framework* framework) {
    std::vector<JsonMember> json{
        {"mode", framework->mode},
        {"aliases", JsonText::list(framework->aliases)},
        {"keys", JsonText::list(framework->keys)},
        {"summary", framework->summary},
        {"set", set_json(framework->sets)},
        {"unset", list_json(framework->unsets, "reason", &UnsetVariable::reason)}};
    if (framework->service != nullptr) {
        json.push_back({"options", list_json(framework->service->options, "meaning",
                                             &ProgramOption::meaning)});
    }
    return json;
}

}  // namespace

std::vector<const Framework*> listed_frameworks() {
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
    for (const Framework* framework : listed_frameworks()) {
        rows.push_back({std::string(framework->mode), join(framework->aliases, ", "),
                        join(framework->keys, ", "), std::string(framework->summary)});
    }
    return table(std::move(rows), page_format) + '\n' +
           table({{"Keys of every mode:", join(common_keys(), ", ")}}, page_format) +
           common_sections({});
}

std::string framework_table(const Framework& framework) {
    std::string text =
        table({{formatted("{}:", framework.mode), std::string(framework.summary)}}, page_format);
    text += set_section("Set", framework.sets);
    if (!framework.unsets.empty()) {
        text += section("Removed", framework.unsets, &UnsetVariable::reason);
    }
    if (const Service* const service = framework.service) {
        text += section(service->companion.empty()
                            ? "Options that distgpu exec adds, unless you wrote them"
                            : formatted("Options of the {} that distgpu exec starts on every node",
                                        join(service->companion, " ")),
                        service->options, &ProgramOption::meaning);
    }
    return text + common_sections(framework.sets);
}

std::string vars_json(std::span<const Framework* const> selected) {
    const JsonText json{{"schema", "distgpu.vars/1"},
                        {"modes", JsonText::list(selected, framework_json)},
                        {"keys", JsonText::list(common_keys())},
                        {"common", set_json(common_variables())},
                        {"devices", set_json(device_variables())}};
    return json.indented() + '\n';
}

namespace {

struct Arguments {
    std::optional<std::string> mode;  // nullopt: all modes
    std::string format = "table";
};

ExitCode run_vars(const Arguments& arguments) {
    const bool json = arguments.format == "json";
    if (!arguments.mode) {
        return print_result(json ? vars_json(listed_frameworks()) : modes_table(), ExitCode::done);
    }
    const auto request = parse_spec("", *arguments.mode);
    if (!request) return report_error(request.error(), ExitCode::usage);
    if (request->help) return print_result(spec_help(), ExitCode::done);
    const Framework* const framework = request->framework;
    if (framework == nullptr) {
        return report_error({*arguments.mode, "sets nothing", "give the mode of a framework"},
                            ExitCode::usage);
    }
    return print_result(json ? vars_json(std::array{framework}) : framework_table(*framework),
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

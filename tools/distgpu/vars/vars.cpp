// `distgpu vars`: which variables the tasks of each mode get, and which must go.
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "output.h"
#include "subcommands.h"
#include "vars/vars_text.h"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

struct Arguments {
    std::optional<std::string> mode;  // nothing: all
    std::string format = "table";
};

Result<std::string> contract_text(const Request& request, const Arguments& arguments) {
    if (request.help) return spec_help();
    if (request.framework == nullptr) {
        return Error{*arguments.mode, "sets nothing", "give the mode of a framework"};
    }
    if (arguments.format == "json") return vars_json(std::array{request.framework});
    return contract_table(*request.framework);
}

Result<std::string> text_of(const Arguments& arguments) {
    if (arguments.mode) {
        return parse_spec("", *arguments.mode).and_then([&](const Request& request) {
            return contract_text(request, arguments);
        });
    }
    return arguments.format == "json" ? vars_json(contracts()) : modes_table();
}

ExitCode run_vars(const Arguments& arguments) {
    const auto text = text_of(arguments);
    if (!text) return complain(text.error(), ExitCode::usage);
    const auto printed = print(*text);
    return printed ? ExitCode::done : complain(printed.error(), ExitCode::environment);
}

}  // namespace

Subcommand vars_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "vars",
            .help = "Show which variables each mode sets and removes.",
            .options = {{.name = "MODE",
                         .target = &arguments->mode,
                         .help = "MODE[,KEY[=VALUE]]... shows only this mode, help shows the keys "
                                 "(default: all modes)"},
                        {.name = "--format",
                         .target = &arguments->format,
                         .help = "table (the default) or json",
                         .type = "FORMAT",
                         .words = {"table", "json"}}},
            .run = [arguments] { return run_vars(*arguments); }};
}

}  // namespace distgpu

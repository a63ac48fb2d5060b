// `distgpu convert`: today's batch script or Azure ML job as one with --distgpu.
#include "base/format.h"
#include "base/io/file_text.h"
#include "convert/conversion.h"
#include "output.h"
#include "subcommands.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

struct Arguments {
    std::string file;
    std::optional<std::string> output;
};

void say_notes(const std::string& file, const std::vector<Note>& notes) {
    for (const Note& note : notes) {
        const std::string place = note.line == 0 ? "" : formatted(":{}", note.line);
        say(formatted("{}{}: {}", file, place, note.text));
    }
}

// Never over a file that is there.
ExitCode write_new(const std::string& path, const std::string& text) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
        return complain({path, "is there already", "name another file with --output"},
                        ExitCode::usage);
    }
    const auto written = replace_file(path, text, Readers::by_umask);
    return written ? ExitCode::done : complain(written.error(), ExitCode::environment);
}

ExitCode run_convert(const Arguments& arguments) {
    const std::string& file = arguments.file;
    const auto text = read_regular_file(file);
    if (!text) return complain(text.error(), ExitCode::usage);
    const auto conversion = convert_file(file, *text);
    if (!conversion) return complain(conversion.error(), ExitCode::check_failed);
    say_notes(file, conversion->notes);
    if (conversion->script.empty()) {
        return complain({file, "nothing in it is started in a way that is understood",
                         "see docs/frameworks.md for the line of each framework"},
                        ExitCode::check_failed);
    }
    if (arguments.output) return write_new(*arguments.output, conversion->script);
    const std::string& shown = conversion->diff.empty() ? conversion->script : conversion->diff;
    return print_or_complain(shown, ExitCode::done);
}

}  // namespace

Subcommand convert_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "convert",
            .help =
                "Rewrite a batch script that sets up its ranks by hand, or an Azure ML job, "
                "with --distgpu.",
            .options = {{.name = "FILE",
                         .target = &arguments->file,
                         .help = "A batch script, or an Azure ML job: .yml (v2) or .py (v1, v2)",
                         .required = true},
                        {.name = "-o,--output",
                         .target = &arguments->output,
                         .help = "Write the new script to NEW instead of showing what changes",
                         .type = "NEW"}},
            .run = [arguments] { return run_convert(*arguments); }};
}

}  // namespace distgpu

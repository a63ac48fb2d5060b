// `distgpu convert`: becomes distgpu-convert, a program in Python (tools/convert), which asks this
// one for Slurm's options and the modes.
#include "base/io/programs.h"
#include "command_line.h"
#include "node/own_task.h"
#include "output.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace distgpu {
namespace {

struct Arguments {
    std::string file;
    std::optional<std::string> output;
};

ExitCode run_convert(const Arguments& arguments) {
    const std::string name = "distgpu-convert";
    const std::string own = own_program_path();
    std::vector<std::string> words{name};
    if (arguments.output) words.push_back("--output=" + *arguments.output);
    words.insert(words.end(), {"--", arguments.file});
    if (own.starts_with('/')) {
        setenv("DISTGPU", own.c_str(), 1);
        words.front() = own.substr(0, own.rfind('/') + 1) + name;
        replace_process(words);
        words.front() = name;
    }
    const int problem = replace_process(words);
    return report_error({name, problem == ENOENT ? "not found" : std::strerror(problem),
                         "install it: pipx install distgpu-convert"},
                        ExitCode::environment);
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
                         .value_name = "NEW"}},
            .run = [arguments] { return run_convert(*arguments); }};
}

}  // namespace distgpu

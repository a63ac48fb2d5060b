// `distgpu why`: which rank of a running step hangs, and where.
#include "base/format.h"
#include "base/values.h"
#include "inspect/all_nodes.h"
#include "inspect/answers.h"
#include "inspect/gpu_load.h"
#include "inspect/look_here.h"
#include "node/process_environment.h"
#include "output.h"
#include "slurm/running_step.h"
#include "subcommands.h"
#include "why/diagnosis.h"
#include "why/diagnosis_output.h"
#include "why/diagnosis_page.h"
#include "why/watch.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t usual_length = 3;  // seconds
constexpr std::uint32_t longest = 600;

struct Arguments {
    std::string step;
    std::optional<std::string> repeat;
    std::string format = "text";
    std::optional<std::string> watch;
    std::optional<std::string> html;
    bool node = false;
    std::optional<std::string> gpus;
};

ExitCode look_for_others(const Arguments& arguments, seconds length) {
    const ProcessEnvironment environment;
    const std::string node = environment.get("SLURMD_NODENAME").value_or("");
    const auto look = look_here(node, arguments.step, length, environment);
    if (!look) return complain(look.error(), ExitCode::environment);
    return print_or_complain(answer_lines(node, to_json(*look).line()), ExitCode::done);
}

ExitCode why(const Arguments& arguments, seconds length) {
    const auto step = find_running_step(arguments.step, ProcessEnvironment());
    if (!step) return complain(step.error(), ExitCode::environment);
    const auto looks = look_at_all(*step, length);
    if (!looks) return complain(looks.error(), ExitCode::environment);
    const Diagnosis diagnosis =
        diagnose(looks->nodes, looks->silent, step->tasks, step->is_component());
    if (arguments.html) {
        const auto written =
            replace_file(*arguments.html, diagnosis_page(step->id, diagnosis), Readers::by_umask);
        return written ? ExitCode::done : complain(written.error(), ExitCode::environment);
    }
    return print_or_complain(arguments.format == "json"
                                 ? diagnosis_json(step->id, diagnosis)
                                 : diagnosis_text(step->id, diagnosis, wants_colour()),
                             ExitCode::done);
}

ExitCode run_why(const Arguments& arguments) {
    if (arguments.watch) {
        const auto time = parse_watch_time(*arguments.watch);
        if (time) return watch_step(arguments.step, *time);
        return complain({"--watch " + *arguments.watch, "not a time of up to a day",
                         "write it as in --watch 30m or --watch 30m:end"},
                        ExitCode::usage);
    }
    const auto length =
        arguments.repeat ? seconds_in(*arguments.repeat, longest) : std::optional(usual_length);
    if (!length) {
        return complain({"--repeat " + *arguments.repeat, "not a time of up to 10 minutes",
                         "write it as in --repeat 30s"},
                        ExitCode::usage);
    }
    if (arguments.gpus) {
        return print_or_complain(gpu_load_lines(*arguments.gpus, "libnvidia-ml.so.1"),
                                 ExitCode::done);
    }
    const seconds time{*length};
    return arguments.node ? look_for_others(arguments, time) : why(arguments, time);
}

}  // namespace

Subcommand why_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "why",
            .help =
                "Say which rank of a running step of yours hangs, and where. Looks from a step "
                "of its own, which overlaps yours.",
            .options = {{.name = "STEP",
                         .target = &arguments->step,
                         .help = "JOB or JOB.STEP, as squeue --me --steps lists them",
                         .required = true},
                        {.name = "--repeat",
                         .target = &arguments->repeat,
                         .help = "Look for that long, as in 30s or 2m, and say what moved (3s)",
                         .type = "TIME"},
                        {.name = "--format",
                         .target = &arguments->format,
                         .help = "text (the default) or json",
                         .type = "FORMAT",
                         .words = {"text", "json"}},
                        {.name = "--html",
                         .target = &arguments->html,
                         .help = "Write a page into FILE instead",
                         .type = "FILE",
                         .excludes = {"--format"}},
                        {.name = "--watch",
                         .target = &arguments->watch,
                         .help = "What the key watch runs beside rank 0, until that ends",
                         .type = "TIME"},
                        {.name = "--node",
                         .target = &arguments->node,
                         .help = "What the overlapping step runs on each node"},
                        {.name = "--gpus",
                         .target = &arguments->gpus,
                         .help = "What it runs there for the GPUs' load, of these PCI addresses",
                         .type = "LIST"}},
            .run = [arguments] { return run_why(*arguments); }};
}

}  // namespace distgpu

// `distgpu why`: finds which rank of a running step hangs, and where, or which is slow.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "command_line.h"
#include "found_job.h"
#include "inspect/node_sample.h"
#include "inspect/rank_gpus.h"
#include "inspect/sample_all_nodes.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/find_running_step.h"
#include "why/diagnosis.h"
#include "why/look.h"
#include "why/watch.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t max_length = 600;  // seconds

struct Arguments {
    std::string step;
    std::optional<std::string> repeat;
    bool slow = false;
    std::string format = "text";
    std::optional<std::string> watch;
    std::optional<std::string> html;
    bool node = false;
    std::optional<std::string> gpus;
};

// What sample_step() runs on each node.
ExitCode print_node_sample(const Arguments& arguments, seconds length) {
    const ProcessEnvironment environment;
    const std::string node = environment.text("SLURMD_NODENAME");
    const auto sample = sample_this_node(node, arguments.step, length, environment);
    if (!sample) return report_error(sample.error(), ExitCode::environment);
    return print_result(answer_lines(node, to_json(*sample).line()), ExitCode::done);
}

// Of a step that runs; otherwise what its job does instead.
Result<Diagnosis> diagnose(const FoundStep& found, std::optional<seconds> length) {
    if (found.step) return length ? look_at(*found.step, *length) : look_at(*found.step);
    Diagnosis diagnosis;
    diagnosis.findings = {found.sentence};
    return diagnosis;
}

ExitCode print_diagnosis(const Arguments& arguments, std::optional<seconds> length) {
    const ProcessEnvironment environment;
    const auto found = find_step(arguments.step, environment);
    if (!found) return report_step_error(arguments.step, found.error());
    const bool is_text = arguments.format == "text" && !arguments.html;
    if (!found->step && is_text) return print_result(found->sentence + "\n", ExitCode::done);
    const ResultHead head = is_text ? ResultHead() : result_head(*found, environment);
    const auto diagnosis = diagnose(*found, length);
    if (!diagnosis) return report_error(diagnosis.error(), ExitCode::environment);
    if (arguments.html) {
        const auto written =
            replace_file(*arguments.html, diagnosis_page(head, *diagnosis), Readers::by_umask);
        return written ? ExitCode::done : report_error(written.error(), ExitCode::environment);
    }
    return print_result(is_text ? diagnosis_text(found->step->id, *diagnosis, has_colour_output())
                                : diagnosis_json(head, *diagnosis),
                        ExitCode::done);
}

ExitCode run_why(const Arguments& arguments) {
    if (arguments.watch) return watch_step(arguments.step, *arguments.watch);
    if (arguments.gpus) {
        return print_result(gpu_load_lines(*arguments.gpus, "libnvidia-ml.so.1"), ExitCode::done);
    }
    std::optional<seconds> length;
    if (arguments.slow) length = slow_look;
    if (arguments.repeat) {
        const auto time = seconds_in(*arguments.repeat, max_length);
        if (!time) {
            return report_error({"--repeat " + *arguments.repeat, "not a time of up to 10 minutes",
                                 "write it as in --repeat 30s"},
                                ExitCode::usage);
        }
        length = seconds(*time);
    }
    return arguments.node ? print_node_sample(arguments, length.value_or(seconds(0)))
                          : print_diagnosis(arguments, length);
}

}  // namespace

Subcommand why_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {
        .name = "why",
        .help =
            "Show which rank of your running step hangs, and where. Samples the step's "
            "processes in an extra step that overlaps it.",
        .options =
            {step_option(arguments->step),
             {.name = "--repeat",
              .target = &arguments->repeat,
              .help = "Sample for this long, such as 30s or 2m, and show what moved (default: 3s, "
                      "or longer if that does not tell)",
              .value_name = "TIME"},
             {.name = "--slow",
              .target = &arguments->slow,
              .help = "Sample for 20s, and show for which ranks the others wait",
              .excludes = {"--repeat"}},
             format_option(arguments->format),
             {.name = "--html",
              .target = &arguments->html,
              .help = "Write an HTML page to FILE instead",
              .value_name = "FILE",
              .excludes = {"--format"}},
             {.name = "--watch",
              .target = &arguments->watch,
              .help = "Internal: run by the key watch next to rank 0, until that ends",
              .value_name = "TIME"},
             {.name = "--node",
              .target = &arguments->node,
              .help = "Internal: run by the extra step on each node"},
             {.name = "--gpus",
              .target = &arguments->gpus,
              .help = "Internal: print the load of the GPUs with these PCI addresses",
              .value_name = "LIST"}},
        .run = [arguments] { return run_why(*arguments); }};
}

}  // namespace distgpu

// `distgpu plan`: what the tasks of a step would get.
#include "base/format.h"
#include "base/io/file_text.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "node/discovery/hwloc_environment.h"
#include "node/process_environment.h"
#include "node/step_variables.h"
#include "output.h"
#include "plan/plan_formats.h"
#include "plan/plan_input.h"
#include "plan/plan_order.h"
#include "plan/step_picture.h"
#include "plan/step_topologies.h"
#include "slurm/script_lines.h"
#include "slurm/slurm_shape.h"
#include "slurm/srun_line.h"
#include "slurm/step_query.h"
#include "subcommands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> line;  // behind "srun", which is then the spec
    ShapeOptions shape;
    std::vector<std::string> topologies;
    std::string format = "table";
    std::optional<std::uint32_t> rank;
    std::string node;
    std::optional<std::string> svg;
    std::optional<std::string> html;
};

// As a word of the command line.
constexpr std::string_view typed_alone;

Result<Request> read_spec(std::string_view origin, const std::string& spec) {
    return parse_spec(origin, spec).and_then([&](Request request) -> Result<Request> {
        if (request.framework != nullptr) return request;
        return Error{origin.empty() ? spec : formatted("{}={}", origin, spec), "plans nothing",
                     "give the mode of a framework"};
    });
}

// What distgpu handed on to this step's tasks comes before any question.
Result<StepLayout> layout_in_slurm(const SlurmShape& shape) {
    const ProcessEnvironment environment;
    auto handed = shape.own_step ? handed_layout(environment) : std::nullopt;
    if (handed) return *std::move(handed);
    if (shape.order == NodeOrder::of_step) return ask_slurm(environment)(shape.step);
    return parse_layout(shape.options.layout);
}

Error order_unknown() {
    return {"order of the nodes",
            "Slurm 26.05 and newer deal a block step's tasks in the order of the cluster's "
            "topology, known only once the step runs, and this plan follows the node list",
            "run distgpu plan in the step, or use srun -m plane=N"};
}

// Fills in which tasks are asked for.
std::optional<Error> select(const Arguments& arguments, PlanInput& input) {
    const StepLayout& layout = input.shape.layout();
    if (arguments.rank) {
        if (*arguments.rank >= layout.task_count()) {
            return Error{formatted("--rank {}", *arguments.rank),
                         formatted("the step has ranks 0 to {}", layout.task_count() - 1), ""};
        }
        input.rank = GlobalRank{*arguments.rank};
    } else if (arguments.format == "env") {
        return Error{"--format env", "no rank is given", "add --rank N"};
    }
    if (arguments.node.empty()) return std::nullopt;
    input.node = layout.hosts().find(arguments.node);
    if (input.node) return std::nullopt;
    return Error{"--node " + arguments.node, "not a node of the step",
                 formatted("its nodes are {}", layout.hosts().to_string())};
}

ExitCode write_plan(const Arguments& arguments, const PlanInput& input) {
    bool begun = false;
    const Writer write = [&begun](std::string_view text) {
        begun = true;
        return print(text);
    };
    const auto done = arguments.format == "json"  ? write_plan_json(input, write)
                      : arguments.format == "env" ? write_plan_shell(input, write)
                                                  : write_plan_table(input, wants_colour(), write);
    if (done) return ExitCode::done;
    return complain(done.error(), begun ? ExitCode::environment : ExitCode::usage);
}

ExitCode draw_plan(const Arguments& arguments, const PlanInput& input) {
    const auto step = picture_of(input);
    if (!step) return complain(step.error(), ExitCode::usage);
    for (const std::string& warning : step->warnings) say(warning);
    if (arguments.svg && step->kinds.size() > 1) {
        say(formatted("distgpu: {}: shows {}; --html shows the other {} of nodes too",
                      *arguments.svg, step->kinds.front().picture.title,
                      counted(step->kinds.size() - 1, "kind")));
    }
    const auto write = [](const std::optional<std::string>& path, const std::string& text) {
        return path ? replace_file(*path, text, Readers::by_umask) : Result<Done>(Done{});
    };
    const auto done = write(arguments.svg, to_svg(*step)).and_then([&](Done) {
        return write(arguments.html, to_html(*step));
    });
    return done ? ExitCode::done : complain(done.error(), ExitCode::environment);
}

ExitCode write_plan_of(const Arguments& arguments, PlanInput input) {
    if (const auto error = select(arguments, input)) return complain(*error, ExitCode::usage);
    if (arguments.svg || arguments.html) return draw_plan(arguments, input);
    return write_plan(arguments, input);
}

void add_left_out(PlanInput& input) {
    if (const auto& error = input.shape.left_out()) input.warnings.insert(error->message());
}

// Outside any job: what stands there is all that Slurm would know.
ExitCode plan_srun_line(const Arguments& arguments, Result<SrunLine> line) {
    if (!line) return complain(line.error(), ExitCode::usage);
    auto request = read_spec("--distgpu", line->spec);
    if (!request) return complain(request.error(), ExitCode::usage);
    auto layout = parse_layout(line->shape.layout).and_then([&](StepLayout slurms) {
        return ordered(*request, std::move(slurms));
    });
    if (!layout) return complain(layout.error(), ExitCode::usage);
    auto topologies = load_topologies(arguments.topologies, layout->layout);
    if (!topologies) return complain(topologies.error(), ExitCode::environment);
    auto shape = Shape::make(line->shape, std::move(layout->layout), *std::move(topologies));
    if (!shape) return complain(shape.error(), ExitCode::usage);
    PlanInput input{*std::move(request), *std::move(shape)};
    input.order = std::move(layout->text);
    input.facts.program = std::move(line->program);
    input.facts.tasks_from = line->tasks_from;
    const Step step{input.shape.layout(), input.facts};
    for (const Error& error : line->left_out) input.warnings.insert(error.message());
    add_left_out(input);
    for (const Error& error : step_warnings(input.request, step)) {
        input.warnings.insert(error.message());
    }
    return write_plan_of(arguments, std::move(input));
}

ExitCode plan_typed_line(const Arguments& arguments) {
    std::vector<std::string> words{arguments.spec};
    words.insert(words.end(), arguments.line.begin(), arguments.line.end());
    return plan_srun_line(arguments, read_srun_line(words));
}

// One step after the other, each below its line.
ExitCode plan_script(const Arguments& arguments) {
    const auto text = read_regular_file(arguments.spec);
    if (!text) return complain(text.error(), ExitCode::usage);
    auto lines = read_script_lines(arguments.spec, *text);
    if (!lines) return complain(lines.error(), ExitCode::usage);
    for (const Error& unclear : lines->unclear) say(unclear.message());
    ExitCode worst = lines->steps.empty() ? ExitCode::usage : ExitCode::done;
    std::string_view gap;
    for (ScriptLine& step : lines->steps) {
        const std::string title = formatted("{}: {}", step.where, step.text);
        if (arguments.format != "table") {
            say(title);
        } else if (const auto printed = print(formatted("{}{}\n", gap, title)); !printed) {
            return complain(printed.error(), ExitCode::environment);
        }
        gap = "\n";
        worst = std::max(worst, plan_srun_line(arguments, std::move(step.srun)));
    }
    return worst;
}

ExitCode plan_without_slurm(const Arguments& arguments) {
    if (arguments.shape == ShapeOptions{}) {
        return arguments.spec == "srun" ? plan_typed_line(arguments) : plan_script(arguments);
    }
    return complain({"command line", "options of the step's shape before an srun line or a script",
                     "write them behind srun, or in the script"},
                    ExitCode::usage);
}

// A mode comes before a file that is named like it, and no mode has a dot or a slash.
bool is_script(const std::string& spec) {
    if (parse_spec(typed_alone, spec)) return false;
    std::error_code error;
    return spec.substr(0, spec.find(',')).find_first_of("./") != std::string::npos ||
           std::filesystem::is_regular_file(spec, error);
}

ExitCode run_plan(const Arguments& arguments) {
    take_hwloc_environment();
    if (arguments.spec == "srun") return plan_without_slurm(arguments);
    if (!arguments.line.empty()) {
        return complain({"command line", formatted("not expected: {}", join(arguments.line, " ")),
                         "see distgpu plan --help"},
                        ExitCode::usage);
    }
    if (is_script(arguments.spec)) return plan_without_slurm(arguments);
    auto request = read_spec(typed_alone, arguments.spec);
    if (!request) return complain(request.error(), ExitCode::usage);
    const auto slurm = complete_from_slurm(arguments.shape, ProcessEnvironment());
    if (!slurm) return complain(slurm.error(), ExitCode::usage);
    if (*slurm) say(formatted("distgpu: read {}", join((*slurm)->read, ", ")));
    const ShapeOptions& options = *slurm ? (*slurm)->options : arguments.shape;
    const NodeOrder order = *slurm ? (*slurm)->order : NodeOrder::known;
    auto slurms = *slurm ? layout_in_slurm(**slurm) : parse_layout(options.layout);
    auto layout = std::move(slurms).and_then(
        [&](StepLayout found) { return ordered(*request, std::move(found)); });
    if (!layout) {
        return complain(layout.error(),
                        order == NodeOrder::of_step ? ExitCode::environment : ExitCode::usage);
    }
    auto topologies = load_topologies(arguments.topologies, layout->layout);
    if (!topologies) return complain(topologies.error(), ExitCode::environment);
    auto shape = Shape::make(options, std::move(layout->layout), *std::move(topologies));
    if (!shape) return complain(shape.error(), ExitCode::usage);
    PlanInput input{*std::move(request), *std::move(shape), *slurm ? (*slurm)->step : StepId{}};
    input.order = std::move(layout->text);
    add_left_out(input);
    if (order == NodeOrder::topology && depends_on_slurms_order(input.shape.layout())) {
        input.warnings.insert(order_unknown().message());
    }
    return write_plan_of(arguments, std::move(input));
}

std::vector<Option> shape_options(ShapeOptions& shape) {
    LayoutText& layout = shape.layout;
    const auto option = [](const char* name, std::string& value, const char* type,
                           const char* help) {
        return Option{name, &value, help, type};
    };
    return {
        option("-w,--nodelist", layout.nodelist, "NODES", "The step's nodes, such as node[01-02]"),
        option("-N,--nodes", layout.nodes, "N",
               "Number of nodes, instead of --nodelist: node1 to nodeN"),
        option("--tasks-per-node,--ntasks-per-node", layout.tasks_per_node, "COUNTS",
               "Tasks on each node, such as 4(x2),1; a single number applies to every node"),
        option("-n,--ntasks", layout.ntasks, "N",
               "Total number of tasks, divided evenly, instead of --tasks-per-node"),
        option("-m,--distribution", layout.distribution, "HOW",
               "block (the default), cyclic, plane=N, or arbitrary=NODE,NODE,... for each task"),
        option("--gpus-per-node,--gres", shape.gpus_per_node, "N",
               "The first N GPUs of each node (default: all); also gpu:N"),
        option("-G,--gpus", shape.gpus, "N",
               "The step's GPUs on all nodes together, divided evenly; also h100:N"),
        option("--gpu-list", shape.gpu_list, "LIST", "These GPUs of each node, such as 2,3"),
        option("-c,--cpus-per-task", shape.cpus_per_task, "N",
               "CPUs that each task asked for (default: 1)"),
        option("--cpu-masks", shape.cpu_masks, "LISTS",
               "CPUs on which the tasks of a node may run: one list for all tasks or one per task, "
               "such as 0-3:4-7 (default: all CPUs of the node)")};
}

std::vector<Option> output_options(Arguments& arguments) {
    return {{.name = "--topology",
             .target = &arguments.topologies,
             .help = "Topology of every node, or of some nodes with NODES=FILE: XML from hwloc's "
                     "lstopo, or JSON from distgpu topo; without it, nothing is bound",
             .type = "[NODES=]FILE"},
            {.name = "--rank",
             .target = &arguments.rank,
             .help = "Only this rank, with its variables",
             .type = "N"},
            {.name = "--node",
             .target = &arguments.node,
             .help = "Only the ranks of this node",
             .type = "NODE",
             .excludes = {"--rank"}},
            {.name = "--format",
             .target = &arguments.format,
             .help = "table (the default), json, or env for a shell",
             .type = "FORMAT",
             .words = {"table", "json", "env"}},
            {.name = "--svg",
             .target = &arguments.svg,
             .help = "Draw a node with what its ranks get into FILE instead",
             .type = "FILE",
             .excludes = {"--format", "--rank"}},
            {.name = "--html",
             .target = &arguments.html,
             .help = "Write a page with every kind of node into FILE instead",
             .type = "FILE",
             .excludes = {"--format", "--rank"}}};
}

}  // namespace

Subcommand plan_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    std::vector<Option> options{
        {.name = "SPEC",
         .target = &arguments->spec,
         .help = "The value of --distgpu=: MODE[,KEY[=VALUE]]...; or a batch script; or, after "
                 "--, srun",
         .required = true},
        {.name = "LINE",
         .target = &arguments->line,
         .help = "What stands behind srun: its options and the program"}};
    for (auto& more : {shape_options(arguments->shape), output_options(*arguments)}) {
        options.insert(options.end(), more.begin(), more.end());
    }
    return {.name = "plan",
            .help =
                "Show what each task of a step would get. Inside a job, the shape comes from "
                "Slurm's variables.",
            .options = std::move(options),
            .run = [arguments] { return run_plan(*arguments); }};
}

}  // namespace distgpu

// `distgpu plan`: shows what the tasks of a step would get.
#include "base/format.h"
#include "base/io/files.h"
#include "base/json.h"
#include "command_line.h"
#include "mapping/fabric/nccl_network.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/node_order.h"
#include "mapping/spec/parse_spec.h"
#include "node/discovery/discover.h"
#include "node/machine.h"
#include "node/step_variables.h"
#include "plan/formats.h"
#include "slurm/rank_order.h"
#include "slurm/script_lines.h"
#include "slurm/slurm_options.h"
#include "slurm/slurm_queries.h"
#include "slurm/srun_line.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> line;  // the words after "srun", which is then the spec
    ShapeOptions shape;
    std::vector<std::string> topologies;
    std::string format = "table";
    std::optional<std::uint32_t> rank;
    std::string node;
    std::optional<std::string> svg;
    std::optional<std::string> html;
};

// The command line of srun or sbatch.
std::vector<std::string> command_words(const Arguments& arguments) {
    std::vector<std::string> words{arguments.spec};
    words.insert(words.end(), arguments.line.begin(), arguments.line.end());
    return words;
}

// Origin of a spec that is a positional argument, as parse_spec() expects it.
constexpr std::string_view positional;

Result<Request> read_spec(std::string_view origin, const std::string& spec) {
    return parse_spec(origin, spec).and_then([&](Request request) -> Result<Request> {
        if (request.framework != nullptr) return request;
        return Error{origin.empty() ? spec : formatted("{}={}", origin, spec), "plans nothing",
                     "give the mode of a framework"};
    });
}

// Orders the nodes as the request asks, unless the step was started in an order. The text describes
// the order; empty if there is none. Errors: as read_order_list() and apply_order().
Result<OrderedLayout> ordered_layout(const Request& request, StepLayout layout) {
    if (!layout.order().empty()) {
        std::string text = formatted("order: {}", excerpt(order_text(layout)));
        return OrderedLayout{std::move(layout), std::move(text)};
    }
    if (!reorders_nodes(request)) return OrderedLayout{std::move(layout), ""};
    const ProcessEnvironment environment;
    return read_order_list(*request.order, environment).and_then([&](const HostList& list) {
        return apply_order(*request.order, list, layout, environment);
    });
}

// Whether the plan depends on the order in which Slurm distributes the tasks: not if the ranks have
// their own order and each node has equally many tasks.
bool depends_on_slurm_order(const StepLayout& layout) {
    const bool is_even = layout.min_tasks_per_node() == layout.max_tasks_per_node();
    return layout.node_count() > 1 && (layout.order().empty() || !is_even);
}

// Loads the values of --topology: FILE, for all nodes, or NODES=FILE, in any order; the last one
// for a node counts. Errors: a file is not a topology, the step has no such node.
Result<StepTopologies> load_topologies(const std::vector<std::string>& values,
                                       const StepLayout& layout) {
    StepTopologies topologies;
    for (const std::string& value : values) {
        // A path may contain '=', but node names contain no '/'.
        const std::size_t equals = value.find('=');
        const bool has_nodes = equals != std::string::npos && value.find('/') > equals;
        const auto names =
            HostList::parse(has_nodes ? std::string_view(value).substr(0, equals) : "all");
        if (!names) return names.error();
        auto topology = load_topology(has_nodes ? value.substr(equals + 1) : value);
        if (!topology) return topology.error();
        for (std::uint32_t i = 0; has_nodes && i < names->size(); ++i) {
            const std::string name = names->name(NodeIndex{i});
            const auto node = layout.hosts().find(name);
            if (!node) {
                return Error{"--topology " + value, formatted("{} is not a node of the step", name),
                             formatted("its nodes are {}", layout.hosts().to_string())};
            }
            topologies.by_node.insert_or_assign(node->value, *topology);
        }
        if (!has_nodes) topologies.fallback = *std::move(topology);
    }
    return topologies;
}

// Prefers the layout in the task's variables to a query of Slurm.
Result<StepLayout> layout_from_slurm(const SlurmShape& shape) {
    const ProcessEnvironment environment;
    auto recorded = shape.is_own_step ? read_layout_variable(environment) : std::nullopt;
    if (recorded) return *std::move(recorded);
    if (shape.order == NodeOrder::of_step) return layout_query(environment)(shape.step);
    return parse_layout(shape.options.layout);
}

Error unknown_order_warning() {
    return {"order of the nodes",
            "Slurm 26.05 and newer deal a block step's tasks in the order of the cluster's "
            "topology, known only once the step runs, and this plan follows the node list",
            "run distgpu plan in the step, or use srun -m plane=N"};
}

// Selects the tasks of --rank or --node.
std::optional<Error> select_tasks(const Arguments& arguments, PlanInput& input) {
    const StepLayout& layout = input.shape.layout;
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

ExitCode write_plan(const Arguments& arguments, PlanInput input) {
    if (const auto error = select_tasks(arguments, input))
        return report_error(*error, ExitCode::usage);
    if (arguments.svg || arguments.html) return draw_plan(input, arguments.svg, arguments.html);
    bool has_output = false;
    const Writer write = [&has_output](std::string_view text) {
        has_output = true;
        return print(text);
    };
    const auto done = arguments.format == "json" ? write_plan_json(input, write)
                      : arguments.format == "env"
                          ? write_plan_shell(input, write)
                          : write_plan_table(input, has_colour_output(), write);
    if (done) return ExitCode::done;
    return report_error(done.error(), has_output ? ExitCode::environment : ExitCode::usage);
}

// What NCCL takes between nodes with a fabric that it cannot use itself; empty if there is none.
std::string plugin_network(const Shape& shape) {
    const NodeTopology* const topology = shape.topologies.of(rank0_node(shape.layout));
    if (topology == nullptr || shape.layout.node_count() == 1) return "";
    const NetPlugin unknown{.file = "", .is_unknown = true};
    const NcclNetwork network = nccl_network(EnvironmentCopy(), {{unknown}, "", {}, topology});
    return network.kind == NcclNetwork::Kind::libfabric ? network.text : "";
}

// Makes the plan's input from the layout that Slurm would use. Returns nullopt if it has reported
// an error; `code` is then the exit status. On entry `code` is the exit status for a refused
// layout.
std::optional<PlanInput> make_input(const Arguments& arguments, Request request,
                                    Result<StepLayout> slurm_layout, const ShapeOptions& options,
                                    ExitCode& code) {
    const auto fail = [&](const Error& error, ExitCode status) {
        code = report_error(error, status);
        return std::nullopt;
    };
    auto layout = std::move(slurm_layout).and_then([&](StepLayout found) {
        return ordered_layout(request, std::move(found));
    });
    if (!layout) return fail(layout.error(), code);
    auto topologies = load_topologies(arguments.topologies, layout->layout);
    if (!topologies) return fail(topologies.error(), ExitCode::environment);
    auto shape = Shape::make(options, std::move(layout->layout), *std::move(topologies));
    if (!shape) return fail(shape.error(), ExitCode::usage);
    PlanInput input{std::move(request), *std::move(shape)};
    input.order_text = std::move(layout->text);
    if (const auto& error = input.shape.gpus_warning) input.warnings.insert(error->message());
    input.network = plugin_network(input.shape);
    return input;
}

// Plans the line as outside of any job: Slurm's variables are not read.
ExitCode plan_srun_line(const Arguments& arguments, Result<SrunLine> line) {
    if (!line) return report_error(line.error(), ExitCode::usage);
    auto request = read_spec("--distgpu", line->spec);
    if (!request) return report_error(request.error(), ExitCode::usage);
    ExitCode code = ExitCode::usage;
    auto input = make_input(arguments, *std::move(request), parse_layout(line->shape.layout),
                            line->shape, code);
    if (!input) return code;
    input->facts.program = std::move(line->program);
    input->facts.task_count_source = line->task_count_source;
    for (const Error& error : line->left_out) input->warnings.insert(error.message());
    const Step step{input->shape.layout, input->facts};
    for (const Error& error : step_warnings(input->request, step)) {
        input->warnings.insert(error.message());
    }
    return write_plan(arguments, *std::move(input));
}

// Plans the steps of a batch script one after the other, each below its line.
ExitCode plan_script(const Arguments& arguments) {
    const auto text = read_regular_file(arguments.spec);
    if (!text) return report_error(text.error(), ExitCode::usage);
    auto lines = read_script_lines(arguments.spec, *text);
    if (!lines) return report_error(lines.error(), ExitCode::usage);
    for (const Error& unclear : lines->unclear) print_error_line(unclear.message());
    if (lines->deaf_ranks) print_error_line(lines->deaf_ranks->error.message());
    ExitCode worst = lines->steps.empty() ? ExitCode::usage : ExitCode::done;
    std::string_view gap;
    for (ScriptLine& step : lines->steps) {
        const std::string title = formatted("{}: {}", step.where, step.text);
        if (arguments.format != "table") {
            print_error_line(title);
        } else if (const auto printed = print(formatted("{}{}\n", gap, title)); !printed) {
            return report_error(printed.error(), ExitCode::environment);
        }
        gap = "\n";
        worst = std::max(worst, plan_srun_line(arguments, std::move(step.srun)));
    }
    return worst;
}

ExitCode plan_without_slurm(const Arguments& arguments) {
    if (arguments.shape != ShapeOptions{}) {
        return report_error(
            {"command line", "options of the step's shape before an srun line or a script",
             "write them after srun, or in the script"},
            ExitCode::usage);
    }
    if (arguments.spec != "srun") return plan_script(arguments);
    return plan_srun_line(arguments, read_srun_line(command_words(arguments)));
}

// Prints how srun or sbatch parses the line, for programs that edit it.
ExitCode print_parsed_line(const Arguments& arguments) {
    const bool is_sbatch = arguments.spec == "sbatch";
    if (!is_sbatch && arguments.spec != "srun") {
        return report_error(
            {"--format line", formatted("not available for {}", excerpt(arguments.spec)),
             "write distgpu plan --format line -- srun ..., or sbatch ..."},
            ExitCode::usage);
    }
    const auto [options, program] = parse_slurm_line(
        command_words(arguments), is_sbatch ? SlurmCommand::sbatch : SlurmCommand::srun);
    const auto each = [](const SlurmOption& option) {
        return JsonText{{"name", option.name},
                        {"value", option.value},
                        {"word", option.word},
                        {"known", option.kind == SlurmOption::Kind::known},
                        {"certain", option.kind != SlurmOption::Kind::lacks_value &&
                                        !option.may_take_next_word()}};
    };
    const JsonText parsed{{"schema", "distgpu.line/1"},
                          {"options", JsonText::list(options.list, each)},
                          {"program", program}};
    return print_result(parsed.line() + "\n", ExitCode::done);
}

// A mode is preferred to a file with the same name; no mode has a dot or a slash in its name.
bool is_script(const std::string& spec) {
    if (parse_spec(positional, spec)) return false;
    std::error_code error;
    return spec.substr(0, spec.find(',')).find_first_of("./") != std::string::npos ||
           std::filesystem::is_regular_file(spec, error);
}

ExitCode run_plan(const Arguments& arguments) {
    unset_hwloc_variables();
    if (arguments.format == "line") return print_parsed_line(arguments);
    if (arguments.spec == "srun") return plan_without_slurm(arguments);
    if (!arguments.line.empty()) {
        return report_error(
            {"command line", formatted("not expected: {}", join(arguments.line, " ")),
             "see distgpu plan --help"},
            ExitCode::usage);
    }
    if (is_script(arguments.spec)) return plan_without_slurm(arguments);
    auto request = read_spec(positional, arguments.spec);
    if (!request) return report_error(request.error(), ExitCode::usage);
    const auto slurm = complete_from_slurm(arguments.shape, ProcessEnvironment());
    if (!slurm) return report_error(slurm.error(), ExitCode::usage);
    if (*slurm) print_error_line(formatted("distgpu: read {}", join((*slurm)->read, ", ")));
    const ShapeOptions& options = *slurm ? (*slurm)->options : arguments.shape;
    const NodeOrder order = *slurm ? (*slurm)->order : NodeOrder::known;
    ExitCode code = order == NodeOrder::of_step ? ExitCode::environment : ExitCode::usage;
    auto input = make_input(arguments, *std::move(request),
                            *slurm ? layout_from_slurm(**slurm) : parse_layout(options.layout),
                            options, code);
    if (!input) return code;
    if (*slurm) input->step = (*slurm)->step;
    if (order == NodeOrder::topology && depends_on_slurm_order(input->shape.layout)) {
        input->warnings.insert(unknown_order_warning().message());
    }
    return write_plan(arguments, *std::move(input));
}

std::vector<Option> shape_options(ShapeOptions& shape) {
    LayoutText& layout = shape.layout;
    return {
        {"-w,--nodelist", &layout.nodelist, "The step's nodes, such as node[01-02]", "NODES"},
        {"-N,--nodes", &layout.nodes, "Number of nodes, instead of --nodelist: node1 to nodeN",
         "N"},
        {"--tasks-per-node,--ntasks-per-node", &layout.tasks_per_node,
         "Tasks on each node, such as 4(x2),1; a single number applies to every node", "COUNTS"},
        {"-n,--ntasks", &layout.ntasks,
         "Total number of tasks, divided evenly, instead of --tasks-per-node", "N"},
        {"-m,--distribution", &layout.distribution,
         "block (the default), cyclic, plane=N, or arbitrary=NODE,NODE,... for each task", "HOW"},
        {"--gpus-per-node,--gres", &shape.gpus_per_node,
         "The first N GPUs of each node (default: all); also gpu:N", "N"},
        {"-G,--gpus", &shape.gpus,
         "The step's GPUs on all nodes together, divided evenly; also h100:N", "N"},
        {"--gpu-list", &shape.gpu_list, "These GPUs of each node, such as 2,3", "LIST"},
        {"-c,--cpus-per-task", &shape.cpus_per_task, "CPUs that each task asked for (default: 1)",
         "N"},
        {"--cpu-masks", &shape.cpu_masks,
         "CPUs on which the tasks of a node may run: one list for all tasks or one per task, "
         "such as 0-3:4-7 (default: all CPUs of the node)",
         "LISTS"}};
}

std::vector<Option> output_options(Arguments& arguments) {
    return {{"--topology", &arguments.topologies,
             "Topology of every node, or of some nodes with NODES=FILE: XML from hwloc's "
             "lstopo, or JSON from distgpu topo; without it, nothing is bound",
             "[NODES=]FILE"},
            {"--rank", &arguments.rank, "Only this rank, with its variables", "N"},
            {.name = "--node",
             .target = &arguments.node,
             .help = "Only the ranks of this node",
             .value_name = "NODE",
             .excludes = {"--rank"}},
            {.name = "--format",
             .target = &arguments.format,
             .help = "table (the default), json, env for a shell, or line: srun's options",
             .value_name = "FORMAT",
             .allowed_values = {"table", "json", "env", "line"}},
            {.name = "--svg",
             .target = &arguments.svg,
             .help = "Write an SVG picture of a node and what its ranks get to FILE instead",
             .value_name = "FILE",
             .excludes = {"--format", "--rank"}},
            {.name = "--html",
             .target = &arguments.html,
             .help = "Write an HTML page with every kind of node to FILE instead",
             .value_name = "FILE",
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
        {"LINE", &arguments->line, "The rest of the srun command: its options and the program"}};
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

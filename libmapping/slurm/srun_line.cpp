#include "slurm/srun_line.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/layout_text.h"
#include "mapping/spec/misplaced_option.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

// "4" of "gpu:h100:4,license:a".
std::string gpus_of(std::string_view gres) {
    for (const std::string_view item : comma_items(gres)) {
        if (item.substr(0, 3) == "gpu") return std::string(item);
    }
    return "";
}

// In a script, where nothing has replaced the variables.
bool is_unexpanded(std::string_view word) {
    return word.find_first_of("$`") != std::string_view::npos;
}

// The text of the plan that the option's value becomes; nullptr: it has no part in a plan.
std::string* text_of(std::string_view name, StepOptions& options) {
    ShapeOptions& shape = options.shape;
    const std::array<std::pair<std::string_view, std::string*>, 11> texts{{
        {"distgpu", &options.spec},
        {"nodes", &shape.layout.nodes},
        {"nodelist", &shape.layout.nodelist},
        {"ntasks", &shape.layout.ntasks},
        {"ntasks-per-node", &shape.layout.tasks_per_node},
        {"distribution", &shape.layout.distribution},
        {"cpus-per-task", &shape.cpus_per_task},
        {"gpus-per-node", &shape.gpus_per_node},
        {"gres", &shape.gpus_per_node},
        {"gpus", &shape.gpus},
        {"gpus-per-task", &options.gpus_per_task},
    }};
    const auto* const found =
        std::ranges::find(texts, name, &std::pair<std::string_view, std::string*>::first);
    return found == texts.end() ? nullptr : found->second;
}

std::optional<Error> bad_option(const SlurmOption& option, SlurmCommand command) {
    const std::string word = excerpt(option.word);
    if (option.kind == SlurmOption::Kind::lacks_value) {
        return Error{word, "it needs a value", "give one, as in -N2"};
    }
    if (option.kind == SlurmOption::Kind::known) return std::nullopt;
    const bool hides_program = command == SlurmCommand::srun && option.may_take_next_word();
    if (!hides_program) return std::nullopt;
    return Error{word, "no option of srun, and a plugin's may have the next word for its value",
                 formatted("write {}=VALUE if it takes one, or leave it out here", word)};
}

Error passed_over(const SlurmOption& option, SlurmCommand command) {
    const std::string_view name = command == SlurmCommand::srun ? "srun" : "sbatch";
    const auto nearest = nearest_slurm_option(option.name, command);
    return {excerpt(option.word), formatted("no option of {}, so taken for another plugin's", name),
            nearest ? formatted("write --{} if you mean that", *nearest)
                    : formatted("check its spelling if {} refuses it", name)};
}

std::optional<Error> add(const SlurmOption& option, SlurmCommand command, StepOptions& options) {
    if (auto error = bad_option(option, command)) return error;
    if (option.kind == SlurmOption::Kind::unknown) {
        options.passed_over.push_back(passed_over(option, command));
        return std::nullopt;
    }
    constexpr std::string_view only_slurm_deals =
        "het-group multi-prog nodefile ntasks-per-core ntasks-per-gpu ntasks-per-socket "
        "ntasks-per-tres relative";
    if (has_word(only_slurm_deals, option.name)) {
        return Error{
            excerpt(option.word), "only Slurm knows how it deals the tasks",
            "leave it out here, or see the plan of the step itself with --distgpu=...,dry-run"};
    }
    std::string* const text = text_of(option.name, options);
    if (text == nullptr) return std::nullopt;
    if (text != &options.spec && is_unexpanded(option.value)) {
        const bool is_apart = option.word.find(option.value) == std::string::npos;
        return Error{
            excerpt(is_apart ? formatted("{} {}", option.word, option.value) : option.word),
            "only the shell knows this value", "write it out to see the plan"};
    }
    *text = option.name == "gres" ? gpus_of(option.value) : option.value;
    // Of "cyclic:block", how the tasks are dealt to the nodes.
    if (option.name == "distribution") text->resize(std::min(text->find(':'), text->size()));
    return std::nullopt;
}

// "2" of "2-4", "2,4" and "2-8:2".
std::string fewest_nodes(const std::string& nodes) {
    const bool is_range = nodes.find_first_not_of("0123456789-,:") == std::string::npos;
    return is_range ? nodes.substr(0, nodes.find_first_of("-,:")) : nodes;
}

const std::string& first_given(const std::string& value, const std::string& otherwise) {
    return value.empty() ? otherwise : value;
}

// 0: unclear, which parse_layout() will say.
std::uint32_t node_count(const LayoutText& layout) {
    const auto nodes = parse_layout({.nodelist = layout.nodelist, .nodes = layout.nodes});
    return nodes ? nodes->node_count() : 0;
}

// One node, or as many as the tasks need.
void add_nodes(LayoutText& layout) {
    if (!layout.nodelist.empty()) layout.nodes.clear();
    if (!layout.nodelist.empty() || !layout.nodes.empty()) return;
    const std::uint32_t tasks = whole_number(layout.ntasks).value_or(0);
    const std::uint32_t each = whole_number(layout.tasks_per_node).value_or(0);
    layout.nodes = std::to_string(tasks == 0 || each == 0 ? 1 : (tasks - 1) / each + 1);
}

// sbatch sets SLURM_NTASKS also for --ntasks-per-node.
void add_tasks_of_job(LayoutText& layout) {
    const std::uint64_t each = whole_number(layout.tasks_per_node).value_or(0);
    if (!layout.ntasks.empty() || each == 0) return;
    layout.ntasks = std::to_string(each * node_count(layout));
}

std::uint64_t product(const LayoutText& layout) {
    return std::uint64_t{node_count(layout)} * whole_number(layout.tasks_per_node).value_or(0);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos;) {
        text.replace(at, what.size(), by);
        at = text.find(what, at + by.size());
    }
}

// $SLURM_NTASKS and others in a script's words: what sbatch sets from its options.
void expand(std::vector<std::string>& words, const StepOptions& job) {
    LayoutText layout = job.shape.layout;
    add_nodes(layout);
    add_tasks_of_job(layout);
    const std::string nodes = std::to_string(node_count(layout));
    // The longer name first.
    const std::array<std::pair<std::string_view, std::string_view>, 5> values{{
        {"SLURM_NTASKS_PER_NODE", layout.tasks_per_node},
        {"SLURM_NTASKS", layout.ntasks},
        {"SLURM_JOB_NUM_NODES", nodes},
        {"SLURM_NNODES", nodes},
        {"SLURM_CPUS_PER_TASK", job.shape.cpus_per_task},
    }};
    for (const auto& [name, value] : values) {
        if (value.empty()) continue;
        for (std::string& word : words) {
            replace_all(word, formatted("${{{}}}", name), value);
            replace_all(word, formatted("${}", name), value);
        }
    }
}

// What srun takes from its job where it has no option of its own.
void inherit(const StepOptions& job, StepOptions& step, std::vector<Error>& left_out) {
    LayoutText given = job.shape.layout;
    add_nodes(given);
    add_tasks_of_job(given);
    LayoutText& layout = step.shape.layout;
    const bool own_nodes = !layout.nodes.empty() || !layout.nodelist.empty();
    const bool own_tasks = !layout.ntasks.empty();
    const bool own_each = !layout.tasks_per_node.empty();
    if (layout.nodes.empty() && node_count(layout) != node_count(given)) {
        if (own_nodes) {
            left_out.push_back({formatted("--nodelist={}", excerpt(layout.nodelist)),
                                "not in this plan: srun adds other nodes of the job to it",
                                "add --nodes=N"});
        }
        layout.nodes = given.nodes;
        layout.nodelist = given.nodelist;
    }
    layout.ntasks = first_given(layout.ntasks, given.ntasks);
    layout.tasks_per_node = first_given(layout.tasks_per_node, given.tasks_per_node);
    layout.distribution = first_given(layout.distribution, given.distribution);
    if (!own_tasks && (own_nodes || own_each) && !layout.ntasks.empty() &&
        product(layout) != whole_number(layout.ntasks).value_or(0)) {
        left_out.push_back(
            {formatted("srun inherits --ntasks={} from the job", excerpt(layout.ntasks)),
             formatted("these are not --ntasks-per-node on each of its {}",
                       counted(node_count(layout), "node")),
             "add --ntasks=N"});
    }
    step.spec = first_given(step.spec, job.spec);
    step.shape.gpus = first_given(step.shape.gpus, job.shape.gpus);
    step.gpus_per_task = first_given(step.gpus_per_task, job.gpus_per_task);
    step.shape.gpus_per_node = first_given(step.shape.gpus_per_node, job.shape.gpus_per_node);
}

// srun gives no node less than one task, and with --ntasks, --ntasks-per-node is the most on a
// node.
void divide_tasks(LayoutText& layout, std::vector<Error>& left_out) {
    if (layout.ntasks.empty()) return;
    const std::uint32_t tasks = whole_number(layout.ntasks).value_or(0);
    if (layout.nodelist.empty() && tasks > 0 && tasks < whole_number(layout.nodes).value_or(0)) {
        layout.nodes = layout.ntasks;
    }
    const std::uint64_t in_all = product(layout);
    layout.tasks_per_node.clear();
    const std::uint32_t nodes = node_count(layout);
    if (nodes == 1 || tasks == nodes || tasks == in_all) return;
    left_out.push_back({formatted("--ntasks={}", excerpt(layout.ntasks)),
                        "divided evenly here, but Slurm counts the free CPUs of each node",
                        "use --ntasks-per-node=N"});
}

}  // namespace

Result<std::vector<std::string>> add_options(const std::vector<std::string>& words,
                                             StepOptions& options) {
    const bool is_job = !words.empty() && words.front() == "sbatch";
    const SlurmCommand command = is_job ? SlurmCommand::sbatch : SlurmCommand::srun;
    const SlurmLine line = parse_slurm_line(words, command);
    for (const SlurmOption& option : line.options.list) {
        if (auto error = add(option, command, options)) return *std::move(error);
    }
    return std::vector(words.begin() + static_cast<std::ptrdiff_t>(line.program), words.end());
}

Result<SrunLine> read_srun_line(std::vector<std::string> words, std::optional<StepOptions> job) {
    SrunLine line;
    StepOptions step;
    std::string range;  // of nodes, as it was written
    const auto take_fewest = [&](std::string& nodes) {
        std::string fewest = fewest_nodes(nodes);
        if (fewest != nodes) range = std::exchange(nodes, std::move(fewest));
    };
    if (job) {
        take_fewest(job->shape.layout.nodes);
        expand(words, *job);
    }
    auto program = add_options(words, step);
    if (!program) return program.error();
    line.program = *std::move(program);
    line.left_out = step.passed_over;
    take_fewest(step.shape.layout.nodes);
    if (!line.program.empty() && is_unexpanded(line.program.front())) {
        line.left_out.push_back({excerpt(line.program.front()), "only the shell knows what it is",
                                 "options of srun that it may hold are not in this plan"});
    }
    if (!step.shape.layout.ntasks.empty()) line.tasks_from = TasksFrom::line;
    if (job) inherit(*job, step, line.left_out);
    if (!step.shape.layout.ntasks.empty() && line.tasks_from == TasksFrom::nodes) {
        line.tasks_from = TasksFrom::job;
    }
    if (step.spec.empty()) {
        if (auto lost = option_behind_program(line.program)) return *std::move(lost);
        return Error{"srun", "it has no --distgpu", "add --distgpu=MODE before the program"};
    }
    line.spec = step.spec;
    line.shape = step.shape;
    add_nodes(line.shape.layout);
    divide_tasks(line.shape.layout, line.left_out);
    if (!range.empty() && line.shape.layout.nodes == fewest_nodes(range)) {
        line.left_out.push_back(
            {formatted("--nodes={}", excerpt(range)),
             formatted("only Slurm knows how many nodes it will give; this is the plan for {}",
                       line.shape.layout.nodes),
             "write --nodes=N to see another"});
    }
    if (!step.gpus_per_task.empty()) {
        line.left_out.push_back({formatted("--gpus-per-task={}", excerpt(step.gpus_per_task)),
                                 "not in this plan, which needs each node's GPUs",
                                 "use --gpus-per-node=N or --gres=gpu:N"});
    }
    return line;
}

}  // namespace distgpu

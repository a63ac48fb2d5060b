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

// "gpu:h100:4" of "gpu:h100:4,license:a".
std::string gpus_of(std::string_view gres) {
    for (const std::string_view item : comma_items(gres)) {
        if (item.substr(0, 3) == "gpu") return std::string(item);
    }
    return "";
}

// Scripts have variables and command substitutions that only the shell expands.
bool is_unexpanded(std::string_view word) {
    return word.find_first_of("$`") != std::string_view::npos;
}

// The field for the option's value; nullptr if it does not matter for a plan.
std::string* text_of(std::string_view name, StepOptions& options) {
    ShapeOptions& shape = options.shape;
    const std::array<std::pair<std::string_view, std::string*>, 12> texts{{
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
        {"signal", &options.signal},
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
    return Error{word, "srun has no such option, and the next word may be its value",
                 formatted("write {}=VALUE if it takes one, or leave it out here", word)};
}

Error unknown_option(const SlurmOption& option, SlurmCommand command) {
    const std::string_view name = command == SlurmCommand::srun ? "srun" : "sbatch";
    const auto nearest = nearest_slurm_option(option.name, command);
    return {excerpt(option.word),
            formatted("{} has no such option, so it may be another plugin's", name),
            nearest ? formatted("write --{} if you mean that", *nearest)
                    : formatted("check its spelling if {} refuses it", name)};
}

std::optional<Error> add_option(const SlurmOption& option, SlurmCommand command,
                                StepOptions& options) {
    if (auto error = bad_option(option, command)) return error;
    if (option.kind == SlurmOption::Kind::unknown) {
        options.unknown_options.push_back(unknown_option(option, command));
        return std::nullopt;
    }
    constexpr std::string_view distributed_by_slurm =
        "het-group multi-prog nodefile ntasks-per-core ntasks-per-gpu ntasks-per-socket "
        "ntasks-per-tres relative";
    if (has_word(distributed_by_slurm, option.name)) {
        return Error{
            excerpt(option.word), "only Slurm knows how it distributes the tasks",
            "leave it out here, or see the plan of the step itself with --distgpu=...,dry-run"};
    }
    std::string* const text = text_of(option.name, options);
    if (text == nullptr) return std::nullopt;
    if (text != &options.spec && is_unexpanded(option.value)) {
        const bool is_next_word = option.word.find(option.value) == std::string::npos;
        return Error{
            excerpt(is_next_word ? formatted("{} {}", option.word, option.value) : option.word),
            "only the shell knows this value", "write it out to see the plan"};
    }
    *text = option.name == "gres" ? gpus_of(option.value) : option.value;
    // Of "cyclic:block", only the first part distributes tasks over nodes.
    if (option.name == "distribution") text->resize(std::min(text->find(':'), text->size()));
    return std::nullopt;
}

// "2" for "2-4", "2,4" and "2-8:2".
std::string fewest_nodes(const std::string& nodes) {
    const bool is_range = nodes.find_first_not_of("0123456789-,:") == std::string::npos;
    return is_range ? nodes.substr(0, nodes.find_first_of("-,:")) : nodes;
}

const std::string& value_or(const std::string& value, const std::string& fallback) {
    return value.empty() ? fallback : value;
}

// 0 if unclear; parse_layout() then reports the error.
std::uint32_t node_count(const LayoutText& layout) {
    const auto nodes = parse_layout({.nodelist = layout.nodelist, .nodes = layout.nodes});
    return nodes ? nodes->node_count() : 0;
}

// If none are given: one node, or as many as the tasks need.
void add_nodes(LayoutText& layout) {
    if (!layout.nodelist.empty()) layout.nodes.clear();
    if (!layout.nodelist.empty() || !layout.nodes.empty()) return;
    const std::uint32_t tasks = whole_number(layout.ntasks).value_or(0);
    const std::uint32_t per_node = whole_number(layout.tasks_per_node).value_or(0);
    layout.nodes = std::to_string(tasks == 0 || per_node == 0 ? 1 : (tasks - 1) / per_node + 1);
}

// sbatch sets SLURM_NTASKS for --ntasks-per-node too.
void add_tasks_of_job(LayoutText& layout) {
    const std::uint64_t per_node = whole_number(layout.tasks_per_node).value_or(0);
    if (!layout.ntasks.empty() || per_node == 0) return;
    layout.ntasks = std::to_string(per_node * node_count(layout));
}

// Nodes times tasks per node.
std::uint64_t task_count(const LayoutText& layout) {
    return std::uint64_t{node_count(layout)} * whole_number(layout.tasks_per_node).value_or(0);
}

void replace_all(std::string& text, std::string_view old_text, std::string_view new_text) {
    for (std::size_t at = text.find(old_text); at != std::string::npos;) {
        text.replace(at, old_text.size(), new_text);
        at = text.find(old_text, at + new_text.size());
    }
}

// Replaces $SLURM_NTASKS and other variables that sbatch sets from its options.
void expand_variables(std::vector<std::string>& words, const StepOptions& job) {
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

// Sets what srun inherits from its job where it does not have the option itself.
void inherit_from_job(const StepOptions& job, StepOptions& step, std::vector<Error>& left_out) {
    LayoutText job_layout = job.shape.layout;
    add_nodes(job_layout);
    add_tasks_of_job(job_layout);
    LayoutText& layout = step.shape.layout;
    const bool has_nodes = !layout.nodes.empty() || !layout.nodelist.empty();
    const bool has_tasks = !layout.ntasks.empty();
    const bool has_tasks_per_node = !layout.tasks_per_node.empty();
    if (layout.nodes.empty() && node_count(layout) != node_count(job_layout)) {
        if (has_nodes) {
            left_out.push_back({formatted("--nodelist={}", excerpt(layout.nodelist)),
                                "not in this plan: srun adds other nodes of the job to it",
                                "add --nodes=N"});
        }
        layout.nodes = job_layout.nodes;
        layout.nodelist = job_layout.nodelist;
    }
    layout.ntasks = value_or(layout.ntasks, job_layout.ntasks);
    layout.tasks_per_node = value_or(layout.tasks_per_node, job_layout.tasks_per_node);
    layout.distribution = value_or(layout.distribution, job_layout.distribution);
    if (!has_tasks && (has_nodes || has_tasks_per_node) && !layout.ntasks.empty() &&
        task_count(layout) != whole_number(layout.ntasks).value_or(0)) {
        left_out.push_back(
            {formatted("srun inherits --ntasks={} from the job", excerpt(layout.ntasks)),
             formatted("not --ntasks-per-node times its {}", counted(node_count(layout), "node")),
             "add --ntasks=N"});
    }
    step.spec = value_or(step.spec, job.spec);
    step.shape.gpus = value_or(step.shape.gpus, job.shape.gpus);
    step.gpus_per_task = value_or(step.gpus_per_task, job.gpus_per_task);
    step.shape.gpus_per_node = value_or(step.shape.gpus_per_node, job.shape.gpus_per_node);
}

// srun gives every node at least one task. With --ntasks, --ntasks-per-node is only a maximum.
void divide_tasks(LayoutText& layout, std::vector<Error>& left_out) {
    if (layout.ntasks.empty()) return;
    const std::uint32_t tasks = whole_number(layout.ntasks).value_or(0);
    if (layout.nodelist.empty() && tasks > 0 && tasks < whole_number(layout.nodes).value_or(0)) {
        layout.nodes = layout.ntasks;
    }
    const std::uint64_t max_tasks = task_count(layout);
    layout.tasks_per_node.clear();
    const std::uint32_t nodes = node_count(layout);
    if (nodes == 1 || tasks == nodes || tasks == max_tasks) return;
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
        if (auto error = add_option(option, command, options)) return *std::move(error);
    }
    return std::vector(words.begin() + static_cast<std::ptrdiff_t>(line.program), words.end());
}

Result<SrunLine> read_srun_line(std::vector<std::string> words, std::optional<StepOptions> job) {
    SrunLine line;
    StepOptions step;
    std::string range;  // of nodes, as written
    const auto replace_range = [&](std::string& nodes) {
        std::string fewest = fewest_nodes(nodes);
        if (fewest != nodes) range = std::exchange(nodes, std::move(fewest));
    };
    if (job) {
        replace_range(job->shape.layout.nodes);
        expand_variables(words, *job);
    }
    auto program = add_options(words, step);
    if (!program) return program.error();
    line.program = *std::move(program);
    line.left_out = step.unknown_options;
    replace_range(step.shape.layout.nodes);
    if (!line.program.empty() && is_unexpanded(line.program.front())) {
        line.left_out.push_back({excerpt(line.program.front()), "only the shell knows what it is",
                                 "srun options in it are not in this plan"});
    }
    if (!step.shape.layout.ntasks.empty()) line.task_count_source = TaskCountSource::command_line;
    if (job) inherit_from_job(*job, step, line.left_out);
    if (!step.shape.layout.ntasks.empty() && line.task_count_source == TaskCountSource::per_node) {
        line.task_count_source = TaskCountSource::job;
    }
    if (step.spec.empty()) {
        if (auto lost = option_after_program(line.program)) return *std::move(lost);
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

// See srun_line.h. getopt_long(3) reads the options, as in srun itself.
#include "plan/srun_line.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/layout_text.h"
#include "mapping/spec/misplaced_option.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <getopt.h>
#include <optional>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// What getopt_long() answers for options without a letter of their own.
enum Code : int { spec = 256, tasks_per_node, gpus_per_node, gpus_per_task, gres, dealt, skipped };

// slurm_opt.c of 22.05 and 26.05.
constexpr const char* letters =
    "+:A:a:B:bC:c:D:d:Ee:F:G:HhI::i:J:jK::kL:lM:m:N:n:Oo:p:Qq:r:S:sT:t:uVvW:w:Xx:Z";
constexpr std::array planned{
    option{"distgpu", required_argument, nullptr, spec},
    option{"nodes", required_argument, nullptr, 'N'},
    option{"nodelist", required_argument, nullptr, 'w'},
    option{"ntasks", required_argument, nullptr, 'n'},
    option{"ntasks-per-node", required_argument, nullptr, tasks_per_node},
    option{"tasks-per-node", required_argument, nullptr, tasks_per_node},
    option{"distribution", required_argument, nullptr, 'm'},
    option{"cpus-per-task", required_argument, nullptr, 'c'},
    option{"gpus", required_argument, nullptr, 'G'},
    option{"gpus-per-node", required_argument, nullptr, gpus_per_node},
    option{"gpus-per-task", required_argument, nullptr, gpus_per_task},
    option{"gres", required_argument, nullptr, gres},
    option{"nodefile", required_argument, nullptr, 'F'},
    option{"relative", required_argument, nullptr, 'r'},
    option{"het-group", required_argument, nullptr, dealt},
    option{"ntasks-per-core", required_argument, nullptr, dealt},
    option{"ntasks-per-gpu", required_argument, nullptr, dealt},
    option{"ntasks-per-socket", required_argument, nullptr, dealt},
    option{"multi-prog", no_argument, nullptr, dealt},
};
// That say nothing of a plan.
constexpr std::string_view with_value =
    "account acctg-freq array batch bb bbf begin chdir cluster clusters cluster-constraint comment "
    "constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq "
    "cpus-per-gpu deadline delay-boot dependency epilog error exclude export export-file "
    "extra-node-info gid gpu-bind gpu-freq gpus-per-socket gres-flags hint input "
    "job-name jobid licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu "
    "mem-per-gpu mincpus mpi msg-timeout network open-mode output partition power prefer "
    "priority profile prolog qos reservation signal slurmd-debug sockets-per-node "
    "switches task-epilog task-prolog thread-spec threads threads-per-core time time-min "
    "tmp tres-bind tres-per-task uid wait wckey container-image container-mounts "
    "container-name container-workdir container-env container-save container-entrypoint-log";
constexpr std::string_view without_value =
    "accel-bind bcast compress disable-status exact exclusive hold immediate join "
    "kill-on-bad-exit label nice no-allocate no-kill overcommit overlap oversubscribe "
    "preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs "
    "spread-job stepmgr unbuffered use-min-nodes verbose whole x11 container-mount-home "
    "container-writable container-readonly container-remap-root container-entrypoint "
    "no-container-mount-home no-container-remap-root no-container-entrypoint get-user-env "
    "ignore-pbs kill-on-invalid-dep no-requeue parsable requeue test-only";

// Every option that srun or sbatch has.
class Options {
  public:
    Options() {
        add(with_value, required_argument);
        add(without_value, optional_argument);
        list_.assign(planned.begin(), planned.end());
        for (const auto& [name, has_value] : names_) {
            list_.push_back({name.c_str(), has_value, nullptr, skipped});
        }
        list_.push_back({});
    }

    const option* list() const { return list_.data(); }

  private:
    void add(std::string_view names, int has_value) {
        for (std::size_t at = 0; at < names.size();) {
            const std::size_t end = std::min(names.find(' ', at), names.size());
            names_.emplace_back(names.substr(at, end - at), has_value);
            at = end + 1;
        }
    }

    std::vector<std::pair<std::string, int>> names_;
    std::vector<option> list_;
};

Error unknown_deal(std::string_view word) {
    return {excerpt(word), "only Slurm knows how it deals the tasks",
            "leave it out here, or see the plan of the step itself with --distgpu=...,dry-run"};
}

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

Error unexpanded(const std::string& word, const std::string& value) {
    const bool is_word_of_its_own = word.find(value) == std::string::npos;
    return {excerpt(is_word_of_its_own ? formatted("{} {}", word, value) : word),
            "only the shell knows this value", "write it out to see the plan"};
}

bool is_wrong(int code) {
    return code == '?' || code == ':';
}

Error wrong_option(int code, std::string_view word) {
    if (code == ':') return {excerpt(word), "it needs a value", "give one, as in -N2"};
    return {excerpt(word), "no option of srun",
            "write it as srun has it, with the program behind all options"};
}

// Hands each option to `take_option`, until that has an error; the place of the first word behind
// them.
template <class Take>
Result<std::size_t> read_options(const std::vector<std::string>& words, Take take_option) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));  // getopt changes none of the texts
    }
    const auto count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    const Options known;
    optind = 0;  // begins anew
    while (true) {
        const auto at = static_cast<std::size_t>(std::max(optind, 1));
        const int code = getopt_long(count, arguments.data(), letters, known.list(), nullptr);
        if (code == -1) break;
        const std::string value = optarg == nullptr ? "" : optarg;
        if (auto error = take_option(code, value, words[at])) return *std::move(error);
    }
    return static_cast<std::size_t>(optind);
}

// Takes one option; the error where the plan cannot follow it.
std::optional<Error> take(int code, const std::string& value, std::string_view word,
                          StepOptions& options) {
    LayoutText& layout = options.shape.layout;
    switch (code) {
        case spec:
            options.spec = value;
            break;
        case 'N':
            layout.nodes = value;
            break;
        case 'w':
            layout.nodelist = value;
            break;
        case 'n':
            layout.ntasks = value;
            break;
        case tasks_per_node:
            layout.tasks_per_node = value;
            break;
        case 'm':
            layout.distribution = value.substr(0, value.find(':'));
            break;
        case 'c':
            options.shape.cpus_per_task = value;
            break;
        case 'G':
            options.gpus = value;
            break;
        case gpus_per_task:
            options.gpus_per_task = value;
            break;
        case gpus_per_node:
            options.shape.gpus_per_node = value;
            break;
        case gres:
            options.shape.gpus_per_node = gpus_of(value);
            break;
        case 'F':
        case 'r':
        case dealt:
            return unknown_deal(word);
        default:
            break;
    }
    return std::nullopt;
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
    step.gpus = first_given(step.gpus, job.gpus);
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

void leave_out_gpus(const StepOptions& options, std::vector<Error>& left_out) {
    const auto leave_out = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        left_out.push_back({formatted("{}={}", name, excerpt(value)),
                            "not in this plan, which needs each node's GPUs",
                            "use --gpus-per-node=N or --gres=gpu:N"});
    };
    leave_out("--gpus", options.gpus);
    leave_out("--gpus-per-task", options.gpus_per_task);
}

}  // namespace

Result<std::size_t> program_at(const std::vector<std::string>& words) {
    return read_options(words, [](int code, const std::string& /*value*/, const std::string& word) {
        return is_wrong(code) ? std::optional(wrong_option(code, word)) : std::nullopt;
    });
}

Result<std::vector<std::string>> add_options(const std::vector<std::string>& words,
                                             StepOptions& options) {
    const auto take_known = [&](int code, const std::string& value, const std::string& word) {
        if (is_wrong(code)) return std::optional(wrong_option(code, word));
        if (code != spec && code != skipped && is_unexpanded(value)) {
            return std::optional(unexpanded(word, value));
        }
        return take(code, value, word, options);
    };
    return read_options(words, take_known).transform([&](std::size_t program) {
        return std::vector(words.begin() + static_cast<std::ptrdiff_t>(program), words.end());
    });
}

Result<SrunLine> read_srun_line(std::vector<std::string> words,
                                const std::optional<StepOptions>& job) {
    SrunLine line;
    StepOptions step;
    if (job) expand(words, *job);
    auto program = add_options(words, step);
    if (!program) return program.error();
    line.program = *std::move(program);
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
    leave_out_gpus(step, line.left_out);
    return line;
}

}  // namespace distgpu

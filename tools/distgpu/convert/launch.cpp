#include "convert/launch.h"

#include "base/file_name.h"
#include "base/format.h"
#include "base/values.h"
#include "convert/assignments.h"
#include "convert/launcher_options.h"
#include "convert/modes.h"
#include "convert/names.h"
#include "convert/shell_text.h"
#include "convert/started.h"
#include "convert/step_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

TextEdit insertion(std::size_t place, std::string text) {
    return {{place, place}, std::move(text)};
}

using Kind = LauncherRecord::Kind;

// A range of nodes needs a rendezvous that counts who is there.
bool is_elastic(const LauncherCall& call) {
    return call.value("--nnodes").find(':') != std::string::npos;
}

class Converter {
  public:
    Converter(std::string_view script, const StartedCommand& started, const LaunchContext& context)
        : script_(script), started_(started), command_(started.command()), context_(context) {}

    std::optional<Launch> convert() {
        const auto call = read_launcher(command_.words, started_.program);
        if (!call) return convert_python();
        if (call->program >= command_.words.size()) return std::nullopt;
        if (auto why = not_understood(*call)) return left_alone(*std::move(why));
        return convert_launcher(*call);
    }

  private:
    void note(std::string text) {
        launch_.notes.push_back({started_.outer->line, std::move(text)});
    }

    std::optional<Launch> answer() {
        if (launch_.edits.empty() && launch_.notes.empty()) return std::nullopt;
        return std::move(launch_);
    }

    std::optional<Launch> left_alone(std::string why) {
        launch_ = {};
        note(std::move(why) + "; the command stays as it is");
        return answer();
    }

    std::string_view raw(std::size_t word) const {
        const TextSpan& span = command_.spans[word];
        return script_.substr(span.begin, span.end - span.begin);
    }

    void insert_before(std::size_t word, std::string text) {
        launch_.edits.push_back(insertion(command_.spans[word].begin, std::move(text)));
    }

    void remove(std::size_t word) { launch_.edits.push_back({command_.spans[word], ""}); }

    void replace(std::size_t word, std::string text) {
        launch_.edits.push_back({command_.spans[word], std::move(text)});
    }

    // Behind srun's options, or with an srun that was not there.
    void add_spec(const std::string& spec, const std::string& shape) {
        launch_.spec = spec;
        if (!started_.has_srun) {
            insert_before(started_.program, formatted("srun {}--distgpu={} ", shape, spec));
            return;
        }
        launch_.edits.push_back(insertion(started_.outer->spans[started_.step].begin,
                                          formatted("--distgpu={} ", spec)));
        remove_inner_assignments();
        if (!started_.asks_for_cpus && !context_.gives_cpus &&
            !context_.job.shape.cpus_per_task.empty()) {
            note(
                "srun does not inherit --cpus-per-task on every release; add "
                "--cpus-per-task=$SLURM_CPUS_PER_TASK");
        }
    }

    // What the task's shell does first, if the mode does it.
    void remove_inner_assignments() {
        if (!started_.text) return;
        const std::vector<ShellCommand>& commands = started_.text->commands;
        for (std::size_t i = 0; i < started_.text->main; ++i) {
            if (!sets_only_ranks(commands[i].words)) break;
            const auto names = names_set(commands[i].words);
            const bool by_mode = std::all_of(
                names.begin(), names.end(),
                [&](const std::string& name) { return gives_variable(launch_.spec, name); });
            if (!by_mode) break;
            launch_.edits.push_back(
                {{commands[i].spans.front().begin, commands[i + 1].spans.front().begin}, ""});
        }
    }

    // Why a launcher stays as it is.
    std::optional<std::string> not_understood(const LauncherCall& call) const {
        const std::string& name = command_.words[call.begin];
        const bool on_each_node =
            call.record->kind == Kind::reads_variables || call.record->kind == Kind::needs_options;
        if (is_elastic(call)) return "a range of nodes is for elastic training";
        if (started_.names_nodes)
            return "srun is told the node, so the script starts each node by itself";
        if (on_each_node && counts_nodes(call)) {
            return "the script gives each node its rank, and starts it by itself";
        }
        if (!started_.has_srun && mentions_task()) {
            return "each task seems to run this script; give --distgpu to the srun that starts it";
        }
        if (!started_.has_srun && runs_in_background(script_, *started_.outer)) {
            return "it runs beside others, and steps of srun would wait for each other";
        }
        if (on_each_node) return std::nullopt;
        if (started_.has_srun) return name + " within srun starts all ranks in each task";
        if (!call.others.empty()) {
            return formatted("{} of {} is not understood", command_.words[call.others.front()],
                             name);
        }
        const std::string& program = command_.words[call.program];
        if (program.starts_with('$')) return formatted("{} may be options of {}", program, name);
        if (std::find(command_.words.begin(), command_.words.end(), ":") != command_.words.end()) {
            return name + " starts several programs";
        }
        return std::nullopt;
    }

    // With a number, or by a variable of a loop; by what Slurm or the mode gives each task, it is
    // not the script that counts.
    static bool counts_nodes(const LauncherCall& call) {
        const bool is_torchrun = call.record->kind == Kind::reads_variables;
        const std::string rank = call.value(is_torchrun ? "--node-rank" : "--machine-rank");
        const std::string nodes = call.value("--nnodes");
        if (rank.empty() || (is_torchrun && (nodes.empty() || nodes == "1"))) return false;
        return rank.find("SLURM") == std::string::npos && rank.find("RANK") == std::string::npos;
    }

    bool mentions_task() const {
        return std::any_of(started_.outer->words.begin(), started_.outer->words.end(),
                           [](const std::string& word) {
                               return word.find("SLURM_PROCID") != std::string::npos ||
                                      word.find("SLURM_NODEID") != std::string::npos;
                           });
    }

    std::optional<Launch> convert_launcher(const LauncherCall& call) {
        switch (call.record->kind) {
            case Kind::reads_variables:
                return convert_torchrun(call);
            case Kind::needs_options:
                return convert_accelerate(call);
            case Kind::starts_each_rank:
                return convert_deepspeed(call);
            case Kind::starts_all_nodes:
                break;
        }
        return convert_mpirun(call);
    }

    // A number, or a variable that the script sets to one; else the text.
    std::string number_of(const std::string& text) const {
        const auto known = context_.numbers.find(std::string(name_alone(text)));
        return known == context_.numbers.end() ? text : known->second;
    }

    std::optional<Launch> convert_torchrun(const LauncherCall& call) {
        const std::string count = number_of(call.value("--nproc-per-node"));
        const bool is_number = whole_number(count).has_value();
        // The node's GPUs are what the mode starts by itself.
        const bool is_gpus = count.empty() || count == "gpu" || count == "auto" ||
                             name_alone(count) == "SLURM_GPUS_ON_NODE" ||
                             name_alone(count) == "SLURM_GPUS_PER_NODE" ||
                             count == gpus_of(context_.job);
        for (std::size_t i = 0; i < call.replaced.size(); ++i) {
            const std::string& word = command_.words[call.replaced[i]];
            const bool is_count = word.starts_with("--nproc") && !is_number && !is_gpus;
            if (!is_count) {
                remove(call.replaced[i]);
            } else if (word.find('=') == std::string::npos) {
                ++i;
            }
        }
        // Which by itself gives the script an argument --local-rank, unless told not to.
        const std::size_t module = call.options - 1;
        if (command_.words[module] == "torch.distributed.launch" && call.has("--use-env")) {
            replace(module, "torch.distributed.run");
        }
        note_single_node(call);
        add_spec(is_number && !is_gpus ? "torchrun,nproc=" + count : "torchrun",
                 launchers_options(context_.job));
        return answer();
    }

    void note_single_node(const LauncherCall& call) {
        const std::string& program = command_.words[call.program];
        if (program.starts_with('$')) {
            note(program + " may hold options of the launcher; they stay");
            return;
        }
        const std::string nodes = call.value("--nnodes");
        const auto of_job = whole_number(context_.job.shape.layout.nodes);
        if (started_.asks_for_nodes || !of_job || *of_job < 2 || (!nodes.empty() && nodes != "1"))
            return;
        note(
            formatted("it trained on one node alone; with --distgpu=torchrun the {} nodes of the "
                      "job train together",
                      *of_job));
    }

    // Its launcher reads no variables, so that the task's shell has to put them in.
    std::optional<Launch> convert_accelerate(const LauncherCall& call) {
        const bool has_machines =
            std::any_of(command_.words.begin(), command_.words.end(), [](const std::string& word) {
                return word.starts_with("--num_machines") || word.starts_with("--num-machines");
            });
        add_spec(std::string(call.record->mode), launchers_options(context_.job));
        if (!has_machines) return answer();
        for (const std::size_t word : call.replaced) remove(word);
        const bool is_single = started_.text && started_.text->quote == '\'';
        const char* const options =
            is_single ? "--machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR "
                        "--main_process_port $MASTER_PORT "
                      : "--machine_rank \\$NODE_RANK --main_process_ip \\$MASTER_ADDR "
                        "--main_process_port \\$MASTER_PORT ";
        if (!started_.text && !wrap(call.begin, call.program)) {
            return left_alone(
                "its options have quotes in them, and the task's shell has to fill "
                "in the machine's rank");
        }
        insert_before(call.program, options);
        return answer();
    }

    // In bash -c "...", without what redirects the whole. False: its text means another thing
    // there, or has a bracket of what is around it.
    bool wrap(std::size_t begin, std::size_t program) {
        const auto redirections = redirections_at(script_, command_, program + 1);
        if (!redirections) return false;
        const std::size_t first = command_.spans[begin].begin;
        const std::size_t end = command_.spans[*redirections - 1].end;
        if (!means_the_same_in_quotes(script_.substr(first, end - first))) return false;
        launch_.edits.push_back(insertion(first, "bash -c \""));
        launch_.edits.push_back(insertion(end, "\""));
        return true;
    }

    std::optional<Launch> convert_deepspeed(const LauncherCall& call) {
        for (const char* option : {"--include", "-i", "--exclude", "-e"}) {
            if (call.has(option)) return left_alone(option + std::string(" chooses the GPUs"));
        }
        const bool has_hosts = call.has("--hostfile") || call.has("-H");
        if (!has_hosts && whole_number(context_.job.shape.layout.nodes).value_or(1) > 1) {
            return left_alone("without --hostfile it is not known whether it uses all nodes");
        }
        const auto gpus = whole_number(call.has("--num-gpus") ? number_of(call.value("--num-gpus"))
                                                              : gpus_of(context_.job));
        if (!gpus || *gpus == 0) return left_alone("how many GPUs a node has is not known");
        for (const std::size_t word : call.replaced) remove(word);
        launch_.spec = call.record->mode;
        replace(call.begin, formatted("srun {}--distgpu={} python3",
                                      ranks_options(*gpus, context_.job), launch_.spec));
        note("the launcher gave the program --local_rank=N; now LOCAL_RANK has it");
        return answer();
    }

    std::optional<Launch> convert_mpirun(const LauncherCall& call) {
        const bool is_horovodrun = call.record->mode == "horovod";
        const bool gloo = is_horovodrun && call.has("--gloo");
        launch_.spec = gloo                                               ? "horovod,backend=gloo"
                       : is_horovodrun || context_.framework == "horovod" ? "horovod"
                                                                          : "ompi";
        std::string count;
        for (const char* name : {"-np", "-n", "-c", "--np", "--n", "--num-proc"}) {
            if (call.has(name)) count = call.value(name);
        }
        for (const std::size_t word : call.replaced) remove(word);
        replace(call.begin, formatted("{}srun {}{}--distgpu={}{}", variables_before(call),
                                      gloo ? "" : "--mpi=pmix ",
                                      tasks_options(count, tasks_on_node(call), context_.job),
                                      launch_.spec, gloo ? " horovod-rendezvous" : ""));
        for (const auto& [name, value] : call.values) {
            if (name.ends_with("map-by") || name.ends_with("bind-to")) {
                note("its mapping and binding are left out: srun and distgpu place the tasks");
                break;
            }
        }
        return answer();
    }

    static std::string tasks_on_node(const LauncherCall& call) {
        std::string count;
        for (const char* name : {"-npernode", "--npernode", "-N", "-ppn"}) {
            if (call.has(name)) count = call.value(name);
        }
        for (const char* name : {"-map-by", "--map-by"}) {  // ppr:4:node
            const std::string by = call.value(name);
            if (by.starts_with("ppr:") && by.ends_with(":node"))
                count = by.substr(4, by.size() - 9);
        }
        return count;
    }

    // mpirun's -x NAME=VALUE and MPI's parameters; srun hands all variables on, so that -x NAME is
    // nothing.
    std::string variables_before(const LauncherCall& call) const {
        std::string text;
        for (const std::size_t word : call.exported) {
            if (raw(word).find('=') != std::string_view::npos) text += formatted("{} ", raw(word));
        }
        for (const std::size_t word : call.parameters) {
            text += formatted("OMPI_MCA_{}={} ", raw(word), raw(word + 1));
        }
        const bool is_plain = call.begin == 0 && text.find_first_of("\"'") == std::string::npos;
        return text.empty() || is_plain ? text : "env " + text;
    }

    // srun python3 train.py, where the script has set up what the ranks are told.
    std::optional<Launch> convert_python() {
        const bool sets_ranks =
            context_.sets_ranks ||
            (started_.text &&
             std::any_of(started_.text->commands.begin(), started_.text->commands.end(),
                         [](const ShellCommand& each) { return sets_only_ranks(each.words); }));
        if (!started_.has_srun || !sets_ranks || started_.names_nodes) return std::nullopt;
        if (!file_name(command_.words[started_.program]).starts_with("python")) return std::nullopt;
        const std::string_view framework = context_.framework;
        add_spec(std::string(framework), "");
        note(framework == "pytorch"
                 ? "the script names no framework, so the mode is pytorch; distgpu vars help "
                   "lists the others"
                 : formatted("the script names a framework of the mode {}; distgpu vars help "
                             "lists the others",
                             framework));
        return answer();
    }

    std::string_view script_;
    const StartedCommand& started_;
    const ShellCommand& command_;  // where its program is
    const LaunchContext& context_;
    Launch launch_;
};

}  // namespace

std::optional<Launch> convert_launch(std::string_view script, const ShellCommand& command,
                                     const LaunchContext& context) {
    const auto started = read_started(script, command);
    if (!started) {
        const Error& error = started.error();
        return Launch{"", {}, {{command.line, error.object + ": " + error.problem}}};
    }
    return *started ? Converter(script, **started, context).convert() : std::nullopt;
}

}  // namespace distgpu

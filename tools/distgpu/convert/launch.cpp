// See launch.h.
#include "convert/launch.h"

#include "base/format.h"
#include "base/values.h"
#include "convert/assignments.h"
#include "convert/launcher_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <span>
#include <utility>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// Of "gpu:h100:4", "4".
std::string gpus_of(const StepOptions& job) {
    const std::string& text = job.shape.gpus_per_node;
    return text.substr(text.rfind(':') + 1);
}

TextEdit insertion(std::size_t place, std::string text) {
    return {{place, place}, std::move(text)};
}

using Kind = LauncherRecord::Kind;

// What torchrun is told of its node: the GPUs are the default.
std::string torchrun_spec(const LauncherCall& call, const StepOptions& job) {
    const std::string count = call.value("--nproc-per-node");
    return whole_number(count) && count != gpus_of(job) ? "torchrun,nproc=" + count : "torchrun";
}

// A range of nodes needs a rendezvous that counts who is there.
bool is_elastic(const LauncherCall& call) {
    return call.value("--nnodes").find(':') != std::string::npos;
}

std::string spec_of(const LauncherCall& call, const LaunchContext& context) {
    std::string mode(call.record->mode);
    if (mode == "torchrun") return torchrun_spec(call, context.job);
    if (mode == "horovod" && call.values.contains("--gloo")) return "horovod,backend=gloo";
    return mode == "ompi" && context.horovod ? "horovod" : mode;
}

// How many tasks srun starts where a launcher of all nodes was told so.
std::string ntasks_option(const LauncherCall& call, const StepOptions& job) {
    std::string count;
    for (const char* name : {"-np", "-n", "-c", "--np", "--n", "--num-proc"}) {
        if (const std::string value = call.value(name); !value.empty()) count = value;
    }
    const LayoutText& layout = job.shape.layout;
    const auto nodes = whole_number(layout.nodes);
    const auto each = whole_number(layout.tasks_per_node);
    const bool same = count == layout.ntasks ||
                      (nodes && each && count == std::to_string(std::uint64_t{*nodes} * *each));
    if (count.empty() || same || count.find("SLURM_NTASKS") != std::string::npos) return "";
    return formatted("--ntasks={} ", count);
}

// One launcher on each node, whatever the job's tasks.
std::string launchers_option(const StepOptions& job) {
    const LayoutText& layout = job.shape.layout;
    const bool one_each = (layout.ntasks.empty() || layout.ntasks == layout.nodes) &&
                          (layout.tasks_per_node.empty() || layout.tasks_per_node == "1");
    return one_each ? "" : "--ntasks=$SLURM_NNODES --ntasks-per-node=1 ";
}

// A task for each of a node's GPUs, which share the CPUs of the job's tasks on it.
std::string ranks_option(std::uint32_t gpus, const StepOptions& job) {
    const LayoutText& layout = job.shape.layout;
    if (whole_number(layout.tasks_per_node) == gpus) return "";
    std::string options =
        formatted("--ntasks=$((SLURM_NNODES * {})) --ntasks-per-node={} ", gpus, gpus);
    const std::uint32_t cpus = whole_number(job.shape.cpus_per_task).value_or(0);
    if (cpus >= gpus) options += formatted("--cpus-per-task={} ", cpus / gpus);
    return options;
}

std::string cpus_option(const StepOptions& job) {
    return job.shape.cpus_per_task.empty() ? "" : "--cpus-per-task=$SLURM_CPUS_PER_TASK ";
}

// mpirun's -x NAME=VALUE; srun hands all variables on, so that -x NAME is nothing.
std::string exported_before(const LauncherCall& call) {
    const std::string assignment = call.value("-x");
    return assignment.find('=') == std::string::npos ? "" : assignment + " ";
}

bool has_option(std::span<const std::string> words, std::initializer_list<std::string_view> names) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return std::any_of(names.begin(), names.end(),
                           [&](std::string_view name) { return word.starts_with(name); });
    });
}

class Converter {
  public:
    Converter(std::string_view script, const ShellCommand& command, const LaunchContext& context)
        : script_(script), outer_(command), command_(&command), context_(context) {}

    std::optional<Launch> convert() {
        const Words& words = outer_.words;
        const std::size_t begin = first_word(words);
        if (begin == words.size()) return std::nullopt;
        program_ = begin;
        has_srun_ = file_name(words[begin]) == "srun";
        if (has_srun_ && !read_srun(begin)) return answer();
        if (program_ >= words.size()) return std::nullopt;
        outer_program_ = program_;
        if (is_shell() && !enter_shell_text()) return std::nullopt;
        const auto call = read_launcher(command_->words, program_);
        if (!call) return convert_python();
        if (call->program >= command_->words.size()) return std::nullopt;
        return convert_launcher(*call);
    }

  private:
    // False: nothing more to be done with it.
    bool read_srun(std::size_t begin) {
        const Words line(outer_.words.begin() + static_cast<std::ptrdiff_t>(begin),
                         outer_.words.end());
        if (has_option(line, {"--distgpu"})) return false;
        const auto program = program_at(line);
        if (!program) {
            note(program.error().object + ": " + program.error().problem);
            return false;
        }
        program_ = begin + *program;
        asks_for_cpus_ = has_option(std::span(line).first(*program), {"-c", "--cpus-per-task"});
        return true;
    }

    bool is_shell() const {
        const Words& words = outer_.words;
        const std::string_view name = file_name(words[program_]);
        return (name == "bash" || name == "sh") && program_ + 3 == words.size() &&
               words[program_ + 1] == "-c";
    }

    // The program is then the one that the shell starts last. False: it is not understood.
    bool enter_shell_text() {
        const TextSpan span = outer_.spans[program_ + 2];
        quote_ = script_[span.begin];
        if ((quote_ != '"' && quote_ != '\'') || script_[span.end - 1] != quote_) return false;
        // Read as it stands: what is escaped between double quotes means the same to the shell.
        const std::size_t begin = span.begin + 1;
        inner_ = shell_commands(script_.substr(begin, span.end - 1 - begin));
        for (ShellCommand& command : inner_) {
            for (TextSpan& word : command.spans) {
                word.begin += begin;
                word.end += begin;
            }
        }
        while (inner_.size() > 1 && sets_only_ranks(inner_.front().words)) {
            launch_.edits.push_back(
                {{inner_[0].spans.front().begin, inner_[1].spans.front().begin}, ""});
            inner_.erase(inner_.begin());
        }
        if (inner_.size() != 1 || !has_srun_) return false;
        command_ = &inner_.front();
        program_ = first_word(command_->words);
        return program_ < command_->words.size();
    }

    void note(std::string text) { launch_.notes.push_back({outer_.line, std::move(text)}); }

    std::optional<Launch> answer() {
        if (launch_.edits.empty() && launch_.notes.empty()) return std::nullopt;
        return std::move(launch_);
    }

    std::optional<Launch> left_alone(std::string why) {
        launch_ = {};
        note(std::move(why) + "; the command stays as it is");
        return answer();
    }

    void insert_before(std::size_t word, std::string text) {
        launch_.edits.push_back(insertion(command_->spans[word].begin, std::move(text)));
    }

    void remove(std::size_t word) { launch_.edits.push_back({command_->spans[word], ""}); }

    void replace(std::size_t word, std::string text) {
        launch_.edits.push_back({command_->spans[word], std::move(text)});
    }

    // Behind srun's options, or with an srun that was not there.
    void add_spec(const std::string& spec, const std::string& shape) {
        if (!has_srun_) {
            insert_before(program_, formatted("srun {}--distgpu={} ", shape, spec));
            return;
        }
        launch_.edits.push_back(
            insertion(outer_.spans[outer_program_].begin, formatted("--distgpu={} ", spec)));
        if (!asks_for_cpus_ && !context_.job.shape.cpus_per_task.empty()) {
            note(
                "srun does not inherit --cpus-per-task on every release; add "
                "--cpus-per-task=$SLURM_CPUS_PER_TASK");
        }
    }

    std::optional<Launch> convert_launcher(const LauncherCall& call) {
        const std::string& name = command_->words[call.begin];
        if (is_elastic(call)) return left_alone("a range of nodes is for elastic training");
        switch (call.record->kind) {
            case Kind::reads_variables:
                return convert_torchrun(call);
            case Kind::needs_options:
                return convert_accelerate(call);
            case Kind::starts_each_rank:
            case Kind::starts_all_nodes:
                break;
        }
        if (has_srun_) return left_alone(name + " within srun starts all ranks in each task");
        if (!call.others.empty()) {
            return left_alone(formatted("{} of {} is not understood",
                                        command_->words[call.others.front()], name));
        }
        return call.record->kind == Kind::starts_each_rank ? convert_deepspeed(call)
                                                           : convert_mpirun(call);
    }

    std::optional<Launch> convert_torchrun(const LauncherCall& call) {
        for (const std::size_t word : call.replaced) remove(word);
        // Which by itself gives the script an argument --local-rank, unless told not to.
        const std::size_t module = call.options - 1;
        if (command_->words[module] == "torch.distributed.launch" &&
            call.values.contains("--use-env")) {
            replace(module, "torch.distributed.run");
        }
        add_spec(spec_of(call, context_),
                 launchers_option(context_.job) + cpus_option(context_.job));
        return answer();
    }

    // Its launcher reads no variables, so that the task's shell has to put them in.
    std::optional<Launch> convert_accelerate(const LauncherCall& call) {
        add_spec(spec_of(call, context_),
                 launchers_option(context_.job) + cpus_option(context_.job));
        const Words& words = command_->words;
        if (!has_option(words, {"--num_machines", "--num-machines"})) return answer();
        for (const std::size_t word : call.replaced) remove(word);
        const char* const options =
            quote_ == '\'' ? "--machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR "
                             "--main_process_port $MASTER_PORT "
                           : "--machine_rank \\$NODE_RANK --main_process_ip \\$MASTER_ADDR "
                             "--main_process_port \\$MASTER_PORT ";
        if (quote_ == '\0' && !wrap(call.begin)) {
            return left_alone(
                "its options have quotes in them, and the task's shell has to fill "
                "in the machine's rank");
        }
        insert_before(call.program, options);
        return answer();
    }

    // In bash -c "...". False: its text has quotes.
    bool wrap(std::size_t begin) {
        const std::size_t first = command_->spans[begin].begin;
        const std::size_t end = command_->spans.back().end;
        if (script_.substr(first, end - first).find_first_of("\"'`") != std::string_view::npos) {
            return false;
        }
        launch_.edits.push_back(insertion(first, "bash -c \""));
        launch_.edits.push_back(insertion(end, "\""));
        return true;
    }

    std::optional<Launch> convert_deepspeed(const LauncherCall& call) {
        const std::string count = call.value("--num-gpus");
        const auto gpus = whole_number(whole_number(count) ? count : gpus_of(context_.job));
        if (!gpus || *gpus == 0) return left_alone("how many GPUs a node has is not known");
        for (const std::size_t word : call.replaced) remove(word);
        replace(call.begin,
                formatted("srun {}--distgpu=deepspeed python3", ranks_option(*gpus, context_.job)));
        return answer();
    }

    std::optional<Launch> convert_mpirun(const LauncherCall& call) {
        for (const std::size_t word : call.replaced) remove(word);
        const std::string spec = spec_of(call, context_);
        const bool gloo = spec == "horovod,backend=gloo";
        replace(call.begin,
                formatted("{}srun {}{}{}--distgpu={}{}", exported_before(call),
                          gloo ? "" : "--mpi=pmix ", ntasks_option(call, context_.job),
                          cpus_option(context_.job), spec, gloo ? " horovod-rendezvous" : ""));
        for (const auto& [name, value] : call.values) {
            if (name.ends_with("map-by") || name.ends_with("bind-to")) {
                note("its mapping and binding are left out: srun and distgpu place the tasks");
                break;
            }
        }
        return answer();
    }

    // srun python3 train.py, where the script has set up what the ranks are told.
    std::optional<Launch> convert_python() {
        if (!has_srun_ || context_.framework.empty()) return std::nullopt;
        if (!file_name(command_->words[program_]).starts_with("python")) return std::nullopt;
        add_spec(std::string(context_.framework), "");
        if (context_.framework == "pytorch") {
            note(
                "the script names no framework, so the mode is pytorch; distgpu vars help lists "
                "the others");
        }
        return answer();
    }

    std::string_view script_;
    const ShellCommand& outer_;    // as it stands in the script
    const ShellCommand* command_;  // the same, or the one within bash -c
    std::vector<ShellCommand> inner_;
    char quote_ = '\0';  // around the text of bash -c
    const LaunchContext& context_;
    std::size_t outer_program_ = 0;  // behind srun and its options
    std::size_t program_ = 0;        // of command_
    bool has_srun_ = false;
    bool asks_for_cpus_ = false;
    Launch launch_;
};

}  // namespace

std::string_view named_framework(std::string_view script) {
    std::string lower(script);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    using Name = std::pair<std::string_view, std::string_view>;
    static constexpr std::array<Name, 9> names{{{"lightning", "lightning"},
                                                {"horovod", "horovod"},
                                                {"megatron", "megatron"},
                                                {"deepspeed", "deepspeed"},
                                                {"accelerate", "accelerate"},
                                                {"transformers", "accelerate"},
                                                {"tensorflow", "tensorflow"},
                                                {"tf_config", "tensorflow"},
                                                {"jax", "jax"}}};
    for (const auto& [word, mode] : names) {
        if (lower.find(word) != std::string::npos) return mode;
    }
    return "pytorch";
}

std::optional<Launch> convert_launch(std::string_view script, const ShellCommand& command,
                                     const LaunchContext& context) {
    return Converter(script, command, context).convert();
}

}  // namespace distgpu

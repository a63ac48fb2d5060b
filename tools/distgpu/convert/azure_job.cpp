#include "convert/azure_job.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "convert/assignments.h"
#include "convert/convert_script.h"
#include "convert/modes.h"
#include "slurm/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

namespace distgpu {
namespace {

using Kind = AzureValue::Kind;
using Notes = std::vector<Note>;

struct AzureJob {
    std::string name;
    std::string code;          // the folder
    std::string command;       // what a shell runs on each node, or as each process
    std::string distribution;  // "pytorch", "mpi", "tensorflow", "ray"; empty: none
    std::uint32_t nodes = 1;
    std::uint32_t processes_per_node = 1;
    std::uint32_t workers = 0;
    std::uint32_t parameter_servers = 0;
    std::uint32_t seconds = 0;  // after which it is ended; 0: never
    std::vector<std::pair<std::string, std::string>> variables;
    std::string_view framework;  // that the file names
    Notes notes;
};

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// In single quotes, unless the shell takes it for one word as it is.
std::string quoted(const std::string& text) {
    const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_=./:,@%+").find(static_cast<char>(c)) != std::string_view::npos;
    });
    return plain ? text : shell_quoted(text);
}

// A field that is a text; else the default, with a note where only Python knows it.
std::string text_of(const AzureValue& from, std::string_view name, AzureJob& job) {
    const AzureValue* const value = from.field(name);
    if (value == nullptr) return "";
    if (value->kind == Kind::text) return value->text;
    job.notes.push_back({value->line, formatted("{}: not a literal, so it is not known", name)});
    return "";
}

std::uint32_t number_of(const AzureValue& from, std::string_view name, std::uint32_t otherwise,
                        AzureJob& job) {
    const std::string text = text_of(from, name, job);
    if (text.empty()) return otherwise;
    const auto number = whole_number(text);
    if (!number) {
        job.notes.push_back({from.field(name)->line,
                             formatted("{}: {} is no number, so it is not known", name, text)});
    }
    return number.value_or(otherwise);
}

// The quotes that are open at the end of the command; no character: none.
std::string open_quote(std::string_view command) {
    std::string open;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (c == '\\' && open != "'") {
            ++i;
        } else if (open.empty() ? c == '"' || c == '\'' : open.front() == c) {
            open = open.empty() ? std::string(1, c) : "";
        }
    }
    return open;
}

// ${{inputs.epochs}} stands for the input's value, or where its data is.
std::string with_inputs(std::string command, const AzureValue* inputs, AzureJob& job) {
    constexpr std::string_view open = "${{";
    for (std::size_t at = command.find(open); at != std::string::npos;
         at = command.find(open, at)) {
        const std::size_t end = command.find("}}", at);
        if (end == std::string::npos) break;
        std::string name = command.substr(at + open.size(), end - at - open.size());
        name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
        const std::string last = name.substr(name.rfind('.') + 1);
        // Within quotes, which end before the value and begin again behind it.
        const std::string quote = open_quote(std::string_view(command).substr(0, at));
        const AzureValue* const input =
            inputs != nullptr && name.starts_with("inputs.") ? inputs->field(last) : nullptr;
        std::string value;
        if (input != nullptr && input->kind == Kind::text) {
            value = quoted(input->text);
        } else {
            value = formatted("\"${}\"", last);
            job.notes.push_back({input == nullptr ? 0 : input->line,
                                 formatted("{}: where its data is on the cluster is not known; set "
                                           "{} before srun",
                                           name, last)});
        }
        value.insert(0, quote).append(quote);
        command.replace(at, end + 2 - at, value);
        at += value.size();
    }
    return command;
}

bool is_variable(std::string_view name) {
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void take_variables(const AzureValue& from, AzureJob& job) {
    const AzureValue* const variables = from.field("environment_variables");
    if (variables == nullptr) return;
    for (const auto& [name, value] : variables->fields) {
        if (value.kind == Kind::text && is_variable(name)) {
            job.variables.emplace_back(name, value.text);
        } else {
            job.notes.push_back(
                {value.line, formatted("environment variable {}: not known", name)});
        }
    }
}

void take_distribution(const AzureValue& from, AzureJob& job) {
    std::string type = lower(from.callee.empty() ? text_of(from, "type", job) : from.callee);
    for (const char* ending : {"distribution", "configuration"}) {
        if (type.ends_with(ending)) type.erase(type.size() - std::string_view(ending).size());
    }
    job.distribution = type;
    job.processes_per_node = number_of(from, "process_count_per_instance", 1, job);
    job.processes_per_node = number_of(from, "process_count_per_node", job.processes_per_node, job);
    job.workers = number_of(from, "worker_count", 0, job);
    job.parameter_servers = number_of(from, "parameter_server_count", 0, job);
    job.nodes = number_of(from, "node_count", job.nodes, job);
    // Version 1 has the total, which is one a node by default.
    const std::uint32_t total = number_of(from, "process_count", 0, job);
    if (total > 0 && job.nodes > 0) job.processes_per_node = (total - 1) / job.nodes + 1;
}

// What has no place in a batch script.
void note_left_out(const AzureValue& from, AzureJob& job) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> left_out{
        {{"environment", "activate your own environment, or add --container-image"},
         {"compute", "name a partition with #SBATCH --partition"},
         {"compute_target", "name a partition with #SBATCH --partition"},
         {"outputs", "the program writes where it is told to"}}};
    for (const auto& [name, advice] : left_out) {
        if (const AzureValue* const value = from.field(name)) {
            job.notes.push_back({value->line, formatted("{} is left out: {}", name, advice)});
        }
    }
}

void take_v2(const AzureValue& from, AzureJob& job) {
    job.name = text_of(from, "display_name", job);
    if (job.name.empty()) job.name = text_of(from, "experiment_name", job);
    job.code = text_of(from, "code", job);
    job.nodes = number_of(from, "instance_count", job.nodes, job);
    if (const AzureValue* const resources = from.field("resources")) {
        job.nodes = number_of(*resources, "instance_count", job.nodes, job);
    }
    if (const AzureValue* const limits = from.field("limits")) {
        job.seconds = number_of(*limits, "timeout", 0, job);
    }
    job.seconds = number_of(from, "timeout", job.seconds, job);
    job.command = with_inputs(text_of(from, "command", job), from.field("inputs"), job);
    if (const AzureValue* const how = from.field("distribution")) take_distribution(*how, job);
    take_variables(from, job);
    note_left_out(from, job);
}

void add_arguments(const AzureValue& arguments, std::string& command, AzureJob& job) {
    for (const AzureValue& argument : arguments.items) {
        if (argument.kind != Kind::text) {
            job.notes.push_back({argument.line, formatted("argument {}: not a literal; write it "
                                                          "where \"$ARGUMENT\" stands",
                                                          argument.text)});
        }
        if (!command.empty()) command += " ";
        command += argument.kind == Kind::text ? quoted(argument.text) : "\"$ARGUMENT\"";
    }
}

// A script and its arguments, or a command.
std::string v1_command(const AzureValue& from, AzureJob& job) {
    const AzureValue* const words = from.field("command");
    std::string command;
    if (words != nullptr && words->kind == Kind::list) {
        add_arguments(*words, command, job);
    } else {
        command = text_of(from, "command", job);
    }
    const std::string script = text_of(from, "script", job);
    if (script.empty()) return command;
    command = "python " + quoted(script);
    if (const AzureValue* const arguments = from.field("arguments")) {
        add_arguments(*arguments, command, job);
    }
    return command;
}

void take_v1(const AzureValue& from, AzureJob& job) {
    job.code = text_of(from, "source_directory", job);
    job.command = v1_command(from, job);
    if (const AzureValue* const how = from.field("distributed_job_config")) {
        if (how->kind == Kind::map) take_distribution(*how, job);
    }
    take_variables(from, job);
    note_left_out(from, job);
}

// The last command that is a program in Python, but none that installs something; else the last.
std::size_t place_of_program(const std::string& command) {
    const std::vector<ShellCommand> commands = shell_commands(command);
    const auto is_program = [](const ShellCommand& each) {
        const std::size_t first = first_word(each.words);
        return first < each.words.size() && each.words[first].starts_with("python") &&
               std::find(each.words.begin(), each.words.end(), "pip") == each.words.end();
    };
    const auto program = std::find_if(commands.rbegin(), commands.rend(), is_program);
    if (program != commands.rend()) return program->spans[first_word(program->words)].begin;
    return commands.empty() ? 0 : commands.back().spans.front().begin;
}

// The mode of a command without a launcher.
std::string mode_of(const AzureJob& job) {
    std::string framework(job.framework);
    const bool starts_processes = framework == "lightning" && job.processes_per_node == 1;
    if (job.distribution == "mpi") {
        if (framework == "horovod") return framework;
        return starts_processes ? "ompi,per-node" : "ompi";
    }
    if (starts_processes) return "lightning,per-node";
    if (job.distribution == "tensorflow") {
        return job.parameter_servers == 0 ? "tensorflow"
                                          : formatted("tensorflow,ps={}", job.parameter_servers);
    }
    const bool is_other = framework == "horovod" || framework == "tensorflow" || framework == "jax";
    return job.distribution == "pytorch" && is_other ? "pytorch" : framework;
}

std::string header(const AzureJob& job, std::uint32_t gpus) {
    std::string text = "#!/bin/bash\n";
    if (!job.name.empty())
        text += formatted("#SBATCH --job-name={}\n", quoted(printable(job.name)));
    text += formatted("#SBATCH --nodes={}\n", job.nodes);
    if (job.distribution == "tensorflow" && job.workers > 0) {
        text += formatted("#SBATCH --ntasks={}\n", job.workers + job.parameter_servers);
    } else {
        text += formatted("#SBATCH --ntasks-per-node={}\n", job.processes_per_node);
    }
    text += formatted("#SBATCH --gres=gpu:{}\n", gpus);
    if (job.seconds > 0) text += formatted("#SBATCH --time={}\n", (job.seconds - 1) / 60 + 1);
    text += "\n";
    for (const auto& [name, value] : job.variables) {
        text += formatted("export {}={}\n", name, quoted(value));
    }
    if (!job.code.empty() && job.code != "." && job.code != "./") {
        text += formatted("cd {}\n", quoted(job.code));
    }
    return text;
}

// What a launcher is told to start on each node; 0: it is not said.
std::uint32_t processes_of_launcher(const std::string& command) {
    std::uint32_t processes = 0;
    for (const ShellCommand& each : shell_commands(command)) {
        for (std::size_t i = 0; i < each.words.size(); ++i) {
            const std::string& word = each.words[i];
            const std::size_t equals = std::min(word.find('='), word.size());
            const std::string name = word.substr(0, equals);
            if (name != "--nproc_per_node" && name != "--nproc-per-node" && name != "--num_gpus") {
                continue;
            }
            const std::string value = equals < word.size()        ? word.substr(equals + 1)
                                      : i + 1 < each.words.size() ? each.words[i + 1]
                                                                  : "";
            processes = whole_number(value).value_or(processes);
        }
    }
    return processes;
}

std::uint32_t gpus_of(AzureJob& job) {
    const std::uint32_t started = processes_of_launcher(job.command);
    const std::uint32_t gpus = std::max(started, job.processes_per_node);
    if (gpus == 1) {
        job.notes.push_back({0,
                             "how many GPUs a node has is not in the file; --gres=gpu:1 is what "
                             "its processes need"});
    }
    return gpus;
}

Conversion script_of(AzureJob job) {
    const std::uint32_t gpus = gpus_of(job);
    const std::string head = header(job, gpus);
    const std::string with_launcher = head + job.command + "\n";
    Conversion conversion;
    ScriptConversion launcher = convert_script(with_launcher);
    if (!launcher.changes.empty()) {
        conversion.script = changed(with_launcher, launcher.changes);
    } else if (launcher.notes.empty()) {  // no launcher that is not understood
        std::string command = job.command;
        const std::string mode = mode_of(job);
        const bool needs_mpi = mode == "ompi" || mode == "horovod";
        command.insert(place_of_program(command),
                       formatted("srun {}--distgpu={} ", needs_mpi ? "--mpi=pmix " : "", mode));
        conversion.script = head + command + "\n";
    }
    conversion.notes = std::move(job.notes);
    for (Note& note : launcher.notes) conversion.notes.push_back({0, std::move(note.text)});
    return conversion;
}

Result<Conversion> convert_job(const std::string& file, AzureJob job) {
    static constexpr std::array<std::string_view, 4> known{"", "pytorch", "mpi", "tensorflow"};
    if (job.command.empty()) {
        return Error{file, "its command is not known", "give it as a text in the file"};
    }
    if (std::find(known.begin(), known.end(), job.distribution) == known.end()) {
        return Error{file, formatted("distribution {} has no mode", excerpt(job.distribution)),
                     "distgpu vars help lists the modes"};
    }
    // In version 1 nobody counts the nodes of TensorFlow's workers.
    if (job.distribution == "tensorflow") job.nodes = std::max(job.nodes, job.workers);
    if (job.distribution.empty() && job.nodes > 1) {
        job.notes.push_back({0, "it has several nodes and no distribution, so each runs the same"});
    }
    return script_of(std::move(job));
}

const AzureValue* last_call(const std::vector<AzureValue>& calls, std::string_view callee) {
    const auto found = std::find_if(calls.rbegin(), calls.rend(),
                                    [&](const AzureValue& call) { return call.callee == callee; });
    return found == calls.rend() ? nullptr : &*found;
}

}  // namespace

Result<Conversion> convert_azure_yaml(const std::string& file, std::string_view text,
                                      const AzureValue& from) {
    AzureJob job;
    job.framework = named_framework(text);
    take_v2(from, job);
    return convert_job(file, std::move(job));
}

Result<Conversion> convert_azure_python(const std::string& file, std::string_view text,
                                        const std::vector<AzureValue>& calls) {
    AzureJob job;
    job.framework = named_framework(text);
    if (const AzureValue* const v1 = last_call(calls, "ScriptRunConfig")) {
        take_v1(*v1, job);
    } else if (const AzureValue* const v2 = last_call(calls, "command")) {
        take_v2(*v2, job);
        // Set on the job afterwards.
        for (const char* name : {"PyTorchDistribution", "MpiDistribution", "TensorFlowDistribution",
                                 "RayDistribution"}) {
            if (const auto* const how = last_call(calls, name)) take_distribution(*how, job);
        }
        for (const char* name : {"ResourceConfiguration", "JobResourceConfiguration"}) {
            if (const auto* const resources = last_call(calls, name)) {
                job.nodes = number_of(*resources, "instance_count", job.nodes, job);
            }
        }
    } else {
        return Error{file, "neither command() nor ScriptRunConfig() is in it",
                     "give the script that makes the job"};
    }
    if (const AzureValue* const experiment = last_call(calls, "Experiment");
        experiment != nullptr && !experiment->items.empty() &&
        experiment->items.back().kind == Kind::text) {
        job.name = experiment->items.back().text;
    }
    return convert_job(file, std::move(job));
}

}  // namespace distgpu

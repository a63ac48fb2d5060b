#include "inspect/sample_all_nodes.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "node/machine.h"
#include "node/own_task.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

constexpr std::string_view mark =
    "\x1e"
    "distgpu ";

}  // namespace

std::vector<std::string> with_silent_nodes(const std::vector<std::string>& silent,
                                           std::vector<std::string> notes) {
    if (!silent.empty()) notes.insert(notes.begin(), "no answer from " + join(silent, ", "));
    return notes;
}

std::string answer_lines(std::string_view node, std::string_view text) {
    constexpr std::size_t max_part = 800;
    const std::size_t parts = (text.size() + max_part - 1) / max_part;
    std::string lines;
    for (std::size_t part = 0; part < parts; ++part) {
        lines += formatted("{}{} {} {} {}\n", mark, node, part, parts,
                           text.substr(part * max_part, max_part));
    }
    return lines;
}

Answers read_answers(std::string_view output) {
    constexpr std::size_t max_other_lines = 4096;
    struct Parts {
        std::uint32_t count;
        std::map<std::uint32_t, std::string_view> texts;
    };
    std::map<std::string, Parts> nodes;
    const auto add_part = [&](std::string_view line) {
        if (!line.starts_with(mark)) return false;
        line.remove_prefix(mark.size());
        const std::string node(cut_until(line, ' '));
        const auto part = whole_number(cut_until(line, ' '));
        const auto count = whole_number(cut_until(line, ' '));
        if (!part || !count || *part >= *count) return false;
        Parts& parts = nodes.try_emplace(node, Parts{*count, {}}).first->second;
        if (parts.count == *count) parts.texts[*part] = line;
        return parts.count == *count;
    };
    Answers answers;
    while (output.find('\n') != std::string_view::npos) {
        const std::string_view line = cut_until(output, '\n');
        if (add_part(line) || answers.other_lines.size() + line.size() > max_other_lines) continue;
        answers.other_lines.append(line) += '\n';
    }
    for (const auto& [node, parts] : nodes) {
        if (parts.texts.size() != parts.count) continue;
        std::string& text = answers.complete[node];
        for (const auto& [part, part_text] : parts.texts) text += part_text;
    }
    return answers;
}

namespace {

void remove_slurm_variables() {
    ProcessEnvironment environment;
    for (const std::string& name : environment.names()) {
        if (name.starts_with("SLURM_") && name != "SLURM_CONF") environment.unset(name);
    }
    environment.set("SLURM_DISTGPU", "off");  // not as option: srun may not know --distgpu
}

std::vector<std::string> srun_line(const StepPart& part) {
    const std::string nodes = formatted("{}", part.nodes.size());
    const auto& component = part.component;
    std::vector<std::string> line{"srun", "--jobid=" + (component ? component->leader : part.job),
                                  "--nodelist=" + part.nodes.to_string(), "--nodes=" + nodes,
                                  "--ntasks=" + nodes};
    for (const char* const option :
         {"--ntasks-per-node=1", "--cpus-per-task=1", "--overlap", "--mem=0", "--gres=none",
          "--mpi=none", "--input=none", "--kill-on-bad-exit=0", "--quiet"}) {
        line.emplace_back(option);
    }
    if (component) line.push_back("--het-group=" + component->group);
    return line;
}

// Reads up to 256 MiB, until the end of the output or the deadline.
std::string read_all(int output, Deadline deadline) {
    constexpr std::size_t max_size = std::size_t{256} << 20U;
    constexpr std::size_t buffer_size = 65'536;
    std::string text;
    std::string buffer(buffer_size, '\0');
    while (Clock::now() < deadline) {
        std::array waiting{pollfd{output, POLLIN, 0}};
        poll_until(waiting, deadline);
        const ssize_t size = read(output, buffer.data(), buffer.size());
        if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) break;
        if (size > 0 && text.size() < max_size) {
            text.append(buffer, 0, static_cast<std::size_t>(size));
        }
    }
    return text;
}

// Ends srun, which asks Slurm to end the step's tasks. A task that is blocked in the kernel ends
// later; this does not wait for it.
void end(pid_t srun) {
    const Deadline kill_time = Clock::now() + std::chrono::seconds(2);
    const Deadline give_up = kill_time + std::chrono::seconds(2);
    kill(srun, SIGTERM);
    while (waitpid(srun, nullptr, WNOHANG) == 0 && Clock::now() < give_up) {
        if (Clock::now() >= kill_time) kill(srun, SIGKILL);
        constexpr useconds_t pause = 10'000;
        usleep(pause);
    }
}

Error srun_error(const RunningStep& step, const std::string& printed) {
    if (printed.find("ccess/permission denied") != std::string::npos ||
        printed.find("Invalid job id") != std::string::npos) {
        return {step.id, "only the job's owner may start steps in it", "run this as that user"};
    }
    const std::string first_line = printed.substr(0, printed.find('\n'));
    return {step.id, first_line.empty() ? "srun did not end in time" : first_line, ""};
}

// srun, and the pipe of its output.
struct Sampling {
    pid_t srun = -1;
    UniqueFd output{};
};

Result<Sampling> start_sampling(const StepPart& part, const std::vector<std::string>& subcommand) {
    Pipe output = make_pipe();
    if (!output.is_open()) return Error{"a pipe", std::strerror(errno), ""};
    fcntl(output.read.fd(), F_SETFL, O_NONBLOCK);
    std::vector<std::string> line = srun_line(part);
    line.push_back(own_program_path());
    line.insert(line.end(), subcommand.begin(), subcommand.end());
    const Started srun = start_program(
        line, {.output = output.write.fd(), .open_file_limit = raise_open_file_limit()});
    if (srun.problem) return srun.problem->error;
    return Sampling{srun.pid, std::move(output.read)};
}

PartAnswers answers_of(const StepPart& part, std::map<std::string, std::string> texts) {
    PartAnswers answers{&part, std::move(texts), {}};
    for (std::uint32_t i = 0; i < part.nodes.size(); ++i) {
        std::string node = part.nodes.name(NodeIndex{i});
        if (!answers.texts.contains(node)) answers.silent.push_back(std::move(node));
    }
    return answers;
}

// Adds the samples of the part's nodes. The tasks of a later component get their numbers in the
// whole step.
void add_samples(const PartAnswers& answers, StepSample& sample) {
    sample.silent.insert(sample.silent.end(), answers.silent.begin(), answers.silent.end());
    for (const auto& [node, text] : answers.texts) {
        auto node_sample = read_node_sample(text);
        if (!node_sample) {
            sample.silent.push_back(node);
            continue;
        }
        const std::uint32_t first_task = answers.part->first_task;
        for (std::uint32_t& task : node_sample->tasks) task += first_task;
        for (ProcessSample& process : node_sample->processes) {
            if (process.task) *process.task += first_task;
        }
        sample.nodes.push_back(*std::move(node_sample));
    }
}

}  // namespace

Result<std::vector<PartAnswers>> ask_all_nodes(const RunningStep& step,
                                               const SubcommandFor& subcommand_for,
                                               std::chrono::seconds duration) {
    constexpr std::chrono::seconds grace{60};
    remove_slurm_variables();
    const Deadline deadline = Clock::now() + duration + grace;
    // All at once, so that the components of a heterogeneous step are asked at the same time.
    std::vector<Result<Sampling>> samplings;
    for (const StepPart& part : step.parts) {
        samplings.push_back(start_sampling(part, subcommand_for(part)));
    }
    std::vector<PartAnswers> all;
    std::optional<Error> problem;
    bool has_answer = false;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
        Answers answers;
        if (const auto& sampling = samplings[i]) {
            answers = read_answers(read_all(sampling->output.fd(), deadline));
            end(sampling->srun);
            if (answers.complete.empty() && !problem) {
                problem = srun_error(step, answers.other_lines);
            }
        } else if (!problem) {
            problem = sampling.error();
        }
        has_answer = has_answer || !answers.complete.empty();
        all.push_back(answers_of(step.parts[i], std::move(answers.complete)));
    }
    if (!has_answer && problem) return *problem;
    return all;
}

Result<StepSample> sample_all_nodes(const RunningStep& step,
                                    const std::vector<std::string>& subcommand,
                                    std::chrono::seconds duration) {
    const auto subcommand_for = [&](const StepPart& part) {
        std::vector<std::string> words = subcommand;
        words.push_back(part.numeric_id());
        return words;
    };
    return ask_all_nodes(step, subcommand_for, duration)
        .transform([](const std::vector<PartAnswers>& parts) {
            StepSample sample;
            for (const PartAnswers& answers : parts) add_samples(answers, sample);
            return sample;
        });
}

}  // namespace distgpu

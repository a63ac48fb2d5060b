#include "inspect/ask_nodes.h"

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

std::vector<std::string> not_seen(const std::vector<std::string>& silent,
                                  std::vector<std::string> notes) {
    if (!silent.empty()) notes.insert(notes.begin(), "no answer from " + join(silent, ", "));
    return notes;
}

std::string answer_lines(std::string_view node, std::string_view text) {
    constexpr std::size_t longest_text = 800;  // of a line
    const std::size_t parts = (text.size() + longest_text - 1) / longest_text;
    std::string lines;
    for (std::size_t part = 0; part < parts; ++part) {
        lines += formatted("{}{} {} {} {}\n", mark, node, part, parts,
                           text.substr(part * longest_text, longest_text));
    }
    return lines;
}

Answers read_answers(std::string_view output) {
    constexpr std::size_t most_others = 4096;
    struct Parts {
        std::uint32_t count;
        std::map<std::uint32_t, std::string_view> texts;
    };
    std::map<std::string, Parts> nodes;
    const auto take_part = [&](std::string_view line) {
        if (!line.starts_with(mark)) return false;
        line.remove_prefix(mark.size());
        const std::string node(take_until(line, ' '));
        const auto part = whole_number(take_until(line, ' '));
        const auto count = whole_number(take_until(line, ' '));
        if (!part || !count || *part >= *count) return false;
        Parts& parts = nodes.try_emplace(node, Parts{*count, {}}).first->second;
        if (parts.count == *count) parts.texts[*part] = line;
        return parts.count == *count;
    };
    Answers answers;
    while (output.find('\n') != std::string_view::npos) {
        const std::string_view line = take_until(output, '\n');
        if (take_part(line) || answers.others.size() + line.size() > most_others) continue;
        answers.others.append(line) += '\n';
    }
    for (const auto& [node, parts] : nodes) {
        if (parts.texts.size() != parts.count) continue;
        std::string& text = answers.complete[node];
        for (const auto& [part, piece] : parts.texts) text += piece;
    }
    return answers;
}

namespace {

void leave_other_steps() {
    ProcessEnvironment environment;
    for (const std::string& name : environment.names()) {
        if (name.starts_with("SLURM_") && name != "SLURM_CONF") environment.unset(name);
    }
    environment.set("SLURM_DISTGPU", "off");  // not the option, which srun may not have
}

std::vector<std::string> srun_line(const RunningStep& step) {
    const std::string nodes = formatted("{}", step.nodes.size());
    const auto& component = step.component;
    std::vector<std::string> line{"srun", "--jobid=" + (component ? component->leader : step.job),
                                  "--nodelist=" + step.nodes.to_string(), "--nodes=" + nodes,
                                  "--ntasks=" + nodes};
    for (const char* const option :
         {"--ntasks-per-node=1", "--cpus-per-task=1", "--overlap", "--mem=0", "--gres=none",
          "--mpi=none", "--input=none", "--kill-on-bad-exit=0", "--quiet"}) {
        line.emplace_back(option);
    }
    if (component) line.push_back("--het-group=" + component->group);
    return line;
}

// Up to 256 MiB, until its end or the deadline.
std::string read_all(int output, Deadline deadline) {
    constexpr std::size_t most = std::size_t{256} << 20U;
    constexpr std::size_t piece_size = 65'536;
    std::string all;
    std::string piece(piece_size, '\0');
    while (Clock::now() < deadline) {
        std::array waiting{pollfd{output, POLLIN, 0}};
        poll_until(waiting, deadline);
        const ssize_t got = read(output, piece.data(), piece.size());
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) break;
        if (got > 0 && all.size() < most) all.append(piece, 0, static_cast<std::size_t>(got));
    }
    return all;
}

// The step's tasks end with srun, as it asks Slurm to end them. One that waits inside the kernel
// ends when that lets it; nobody waits for it here.
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

Error not_asked(const RunningStep& step, const std::string& said) {
    if (said.find("ccess/permission denied") != std::string::npos ||
        said.find("Invalid job id") != std::string::npos) {
        return {step.id, "Slurm lets only the job's own user start a step in it",
                "let that user ask"};
    }
    const std::string first = said.substr(0, said.find('\n'));
    return {step.id, first.empty() ? "srun did not end in time" : first, ""};
}

}  // namespace

Result<NodeLooks> look_at_all(const RunningStep& step, const std::vector<std::string>& subcommand,
                              std::chrono::seconds length) {
    constexpr std::chrono::seconds patience{60};
    leave_other_steps();
    Pipe output = make_pipe();
    if (!output.is_open()) return Error{"a pipe", std::strerror(errno), ""};
    fcntl(output.read.fd(), F_SETFL, O_NONBLOCK);
    std::vector<std::string> line = srun_line(step);
    line.push_back(own_command());
    line.insert(line.end(), subcommand.begin(), subcommand.end());
    line.push_back(step.numbered());
    const Started srun =
        start_program(line, {.output = output.write.fd(), .open_files = raise_open_files()});
    output.write = UniqueFd();
    if (srun.problem) return srun.problem->error;
    const std::string printed = read_all(output.read.fd(), Clock::now() + length + patience);
    end(srun.pid);
    const Answers answers = read_answers(printed);
    if (answers.complete.empty()) return not_asked(step, answers.others);
    NodeLooks looks;
    for (std::uint32_t i = 0; i < step.nodes.size(); ++i) {
        std::string node = step.nodes.name(NodeIndex{i});
        if (!answers.complete.contains(node)) looks.silent.push_back(std::move(node));
    }
    for (const auto& [node, text] : answers.complete) {
        if (auto look = read_node_look(text)) {
            looks.nodes.push_back(*std::move(look));
        } else {
            looks.silent.push_back(node);
        }
    }
    return looks;
}

}  // namespace distgpu

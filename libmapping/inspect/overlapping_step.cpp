#include "inspect/overlapping_step.h"

#include "base/format.h"
#include "base/io/deadline.h"
#include "base/io/open_files.h"
#include "base/io/process_tree.h"
#include "base/io/unique_fd.h"
#include "inspect/answers.h"
#include "node/process_environment.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

void leave_other_steps() {
    ProcessEnvironment environment;
    for (const std::string& name : environment.names()) {
        if (name.starts_with("SLURM_") && name != "SLURM_CONF") environment.unset(name);
    }
    environment.set("SLURM_DISTGPU", "off");  // not the option, which srun may not have
}

std::vector<std::string> srun_line(const RunningStep& step,
                                   const std::vector<std::string>& command) {
    const std::string nodes = formatted("{}", step.nodes.size());
    const auto& component = step.component;
    std::vector<std::string> line{"srun",
                                  "--jobid=" + (component ? component->leader : step.job),
                                  "--overlap",
                                  "--mem=0",
                                  "--gres=none",
                                  "--mpi=none",
                                  "--nodelist=" + step.nodes.to_string(),
                                  "--nodes=" + nodes,
                                  "--ntasks=" + nodes,
                                  "--ntasks-per-node=1",
                                  "--cpus-per-task=1",
                                  "--input=none",
                                  "--kill-on-bad-exit=0",
                                  "--quiet"};
    if (component) line.push_back("--het-group=" + component->group);
    line.insert(line.end(), command.begin(), command.end());
    return line;
}

// Until its end, or that of the patience with it.
void read_all(int output, Deadline deadline, Answers& answers) {
    constexpr std::size_t piece_size = 65'536;
    std::string piece(piece_size, '\0');
    while (Clock::now() < deadline) {
        std::array waiting{pollfd{output, POLLIN, 0}};
        poll_until(waiting, deadline);
        const ssize_t got = read(output, piece.data(), piece.size());
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
        if (got > 0) answers.take(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    }
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

Result<NodeAnswers> ask_nodes(const RunningStep& step, const std::vector<std::string>& command,
                              std::chrono::seconds length) {
    constexpr std::chrono::seconds patience{60};
    leave_other_steps();
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{"a pipe", std::strerror(errno), ""};
    const UniqueFd output(ends[0]);
    fcntl(output.fd(), F_SETFL, O_NONBLOCK);
    const Started srun = start_program(srun_line(step, command),
                                       {.output = ends[1], .open_files = raise_open_files()});
    close(ends[1]);
    if (srun.problem) return srun.problem->error;
    Answers answers;
    read_all(output.fd(), Clock::now() + length + patience, answers);
    end(srun.pid);
    NodeAnswers all{answers.complete(), {}, answers.others()};
    if (all.texts.empty()) return not_asked(step, all.said);
    for (std::uint32_t i = 0; i < step.nodes.size(); ++i) {
        std::string node = step.nodes.name(NodeIndex{i});
        if (!all.texts.contains(node)) all.silent.push_back(std::move(node));
    }
    return all;
}

}  // namespace distgpu

#include "base/format.h"
#include "base/io/files.h"
#include "mapping/request/report_file.h"
#include "node/step_sampler.h"
#include "slurm_calls.h"
#include "stepd_side.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

// As squeue shows it.
std::string job_name(const EnvironmentCopy& variables, const StepId& step) {
    const std::string array = variables.text("SLURM_ARRAY_JOB_ID");
    if (array.empty()) return std::to_string(step.job);
    return formatted("{}_{}", array, variables.text("SLURM_ARRAY_TASK_ID"));
}

std::string user_name(const EnvironmentCopy& variables) {
    const std::string name = variables.text("SLURM_JOB_USER");
    return name.empty() ? std::to_string(getuid()) : name;
}

std::string sampler_path(const EnabledStep& enabled) {
    const std::string& command = enabled.command;
    return command.substr(0, command.rfind('/') + 1) + "../libexec/distgpu/distgpu-sampler";
}

void send_line(const UniqueFd& socket, std::string_view line) {
    if (!socket.is_open()) return;
    static_cast<void>(send(socket.fd(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

// Waits until the other end is closed, as it is at once if there is no sampler. Returns the process
// that sent something over it, or 0.
pid_t wait_for_close(const UniqueFd& socket, Deadline deadline) {
    pid_t sender = 0;
    std::array entry{pollfd{socket.fd(), POLLIN, 0}};
    int ready = 0;
    while ((ready = poll_until(entry, deadline)) > 0 || (ready < 0 && errno == EINTR)) {
        if (ready < 0) continue;
        std::array<char, 64> bytes{};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
        iovec part{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        if (recvmsg(socket.fd(), &message, MSG_DONTWAIT) <= 0) return sender;
        const cmsghdr* const header = CMSG_FIRSTHDR(&message);
        if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) continue;
        ucred credentials{};
        std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
        sender = credentials.pid;
    }
    return sender;
}

}  // namespace

bool has_report(const EnabledStep& enabled) {
    return enabled.request.report.value_or(ReportChoice{}).on && !enabled.request.dry_run;
}

void SamplerControl::open() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    own_end_ = UniqueFd(ends[0]);
    sampler_end_ = UniqueFd(ends[1]);
    constexpr int on = 1;  // with what the sampler sends, the kernel passes its process id
    setsockopt(own_end_.fd(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

void SamplerControl::close() {
    own_end_ = UniqueFd();
    sampler_end_ = UniqueFd();
}

void SamplerControl::tell_end(std::uint32_t task, int status,
                              std::optional<GlobalRank> rank) const {
    send_line(own_end_,
              ended_task_line(task, status, rank ? std::optional(rank->value) : std::nullopt));
}

void SamplerControl::finish() {
    constexpr std::chrono::seconds patience{1};
    if (!own_end_.is_open()) return;
    send_line(own_end_, all_ended_line);
    shutdown(own_end_.fd(), SHUT_WR);
    const Deadline deadline = Clock::now() + patience;
    const pid_t sampler = wait_for_close(own_end_, deadline);
    // Slurm sleeps a second if a process of the step is still there when it looks.
    constexpr std::chrono::milliseconds pause{1};
    while (sampler > 0 && kill(sampler, 0) == 0 && Clock::now() < deadline) {
        std::this_thread::sleep_for(pause);
    }
    close();
}

void start_report(const EnabledStep& enabled, const HostAccess& host, const TaskIdentity& task,
                  const SamplerControl& control) {
    if (!has_report(enabled) || task.local != LocalRank{0}) return;
    const EnvironmentCopy& variables = host.variables;
    const StepId& step = enabled.step.rendezvous.step;
    const StepSampler sampler{
        .command = enabled.command,
        .file = report_file(*enabled.request.report, {step.job, step.step, user_name(variables)},
                            host.folder),
        .cluster = variables.text("SLURM_CLUSTER_NAME"),
        .job = job_name(variables, step),
        .step = formatted("{}.{}", step.job, step.step),
        .component = formatted("{}.{}", enabled.identity.job, enabled.identity.step),
        .spec = enabled.spec,
        .node = node_name(),
        .index = task.node.node.value,
        .nodes = enabled.step.layout.node_count(),
        .tasks = enabled.step.layout.task_count()};
    const Result<std::monostate> started =
        host.helper ? start_step_sampler(*host.helper, sampler_path(enabled), sampler, variables,
                                         control.sampler_end())
                    : Result<std::monostate>(host.helper.error());
    // One line for the step, not one for each node.
    if (!started && task.node.node == NodeIndex{0}) print_to_user(started.error().message());
}

}  // namespace distgpu

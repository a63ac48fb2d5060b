#include "exec/parts.h"

#include "base/io/open_files.h"
#include "base/io/unique_fd.h"
#include "base/io/write.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>

namespace distgpu {

Parts::Parts(const PartCommands& commands)
    : commands_(commands), usual_files_(raise_open_files()) {}

std::optional<Error> Parts::make_folder() {
    auto folder = StepFolder::make(commands_.folder);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
    const auto written = replace_file(environment_file(), commands_.environment, Readers::by_umask);
    return written ? std::nullopt : std::optional(written.error());
}

std::optional<Error> Parts::make_folder_at(const std::string& path) {
    auto folder = StepFolder::make_at(commands_.folder, path);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
    return std::nullopt;
}

void Parts::make_temporary_folder() {
    auto folder = StepFolder::make(commands_.folder);
    if (!folder) return;
    folder_ = *std::move(folder);
    setenv(commands_.folder.variable.c_str(), folder_.path().c_str(), 1);
}

std::optional<NotStarted> Parts::start_program() {
    Started started = distgpu::start_program(commands_.program, {.open_files = usual_files_});
    if (!started.problem) program_ = started.pid;
    return std::move(started.problem);
}

std::optional<NotStarted> Parts::start_companion(bool is_head) {
    std::vector<std::string> command = commands_.companion;
    if (is_head) {
        command.push_back(commands_.folder_option);
        command.push_back(folder_.path());
    }
    return companion_.start(command, commands_.up_text, usual_files_);
}

void Parts::start_query() {
    if (commands_.query.empty()) return;
    // What it prints may be the token itself.
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nowhere.fd() < 0) return;
    const Started started = distgpu::start_program(
        commands_.query, {.output = nowhere.fd(), .open_files = usual_files_});
    if (!started.problem) query_ = started.pid;
}

Parts::Part Parts::take_end(pid_t child) {
    if (companion_.is_running() && child == companion_.pid()) {
        companion_.set_ended();
        return Part::companion;
    }
    if (child == query_) {
        query_ = -1;
        return Part::query;
    }
    if (child != program_) return Part::none;
    program_ = -1;
    return Part::program;
}

void Parts::signal_program(int signal) const {
    if (program_ > 0) kill(program_, signal);
}

void Parts::signal_companion(int signal) const {
    if (companion_.is_running()) kill(companion_.pid(), signal);
}

}  // namespace distgpu

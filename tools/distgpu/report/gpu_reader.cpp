#include "report/gpu_reader.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/json_fields.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// A node's GPUs with some hundred samples each take less than a tenth.
constexpr std::size_t max_answer = std::size_t{1} << 20U;

[[noreturn]] void become_reader(const std::string& command, int input, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    close_from(STDERR_FILENO + 1);
    execl(command.c_str(), command.c_str(), "report", "--read-gpus", nullptr);
    _exit(EXIT_FAILURE);
}

}  // namespace

GpuReader::GpuReader(const std::string& command) {
    Pipe questions = make_pipe();
    Pipe answers = make_pipe();
    if (!questions.is_open() || !answers.is_open()) return;
    pid_ = fork();
    if (pid_ == 0) become_reader(command, questions.read.fd(), answers.write.fd());
    if (pid_ < 0) return;
    fcntl(answers.read.fd(), F_SETFL, O_NONBLOCK);
    questions_ = std::move(questions.write);
    answers_ = std::move(answers.read);
}

// A process that its driver blocks does not end, and is not waited for.
GpuReader::~GpuReader() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, is_waiting_ ? WNOHANG : 0);
}

bool GpuReader::ask(const std::vector<pid_t>& processes) {
    if (is_waiting_ || !answers_.is_open()) return false;
    std::string line;
    for (const pid_t pid : processes) line += formatted("{} ", pid);
    is_waiting_ = write_all(questions_.fd(), line + '\n');
    return is_waiting_;
}

std::optional<GpuReadings> GpuReader::take() {
    std::array<char, 4096> buffer{};
    while (true) {
        const ssize_t got = read(answers_.fd(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return std::nullopt;
        if (got > 0) text_.append(buffer.data(), static_cast<std::size_t>(got));
        if (got <= 0 || text_.size() > max_answer) {
            answers_ = UniqueFd();
            return std::nullopt;
        }
        if (text_.back() != '\n') continue;
        is_waiting_ = false;
        return read_fields<GpuReadings>(std::exchange(text_, {}), 256);
    }
}

}  // namespace distgpu

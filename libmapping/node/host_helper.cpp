// A message is a StartRequest and a file with the working folder, the program's words and its
// variables, all NUL-terminated. Only the user that the helper has become can send one, and gains
// nothing by forging it; the bounds keep the helper itself small.
#include "node/host_helper.h"

#include "base/io/files.h"
#include "node/machine.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Linux accepts at most a quarter of the stack, whose size is usually 8 MiB, for a program's words
// and variables.
constexpr std::size_t max_texts_size = std::size_t{8} << 20U;
constexpr std::uint32_t max_words = 64;

struct StartRequest {
    std::uint32_t words = 0;
    bool wait_for_end = false;
    KernelCpuSet cpus{};
    std::array<rlimit, RLIM_NLIMITS> limits{};
};

struct Answer {
    int problem = 0;  // errno
    int status = 0;   // of the program, if the helper waited for it
};

// The descriptors in a message, in this order. `inherited_file` becomes helper_fd.
enum SentFile { texts_file, input_file, output_file, inherited_file, sent_files };
using SentFiles = std::array<int, sent_files>;

// Sends or receives one StartRequest and its files.
struct Message {
    explicit Message(StartRequest& request) : part{&request, sizeof(request)} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
    }

    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(SentFiles))> control{};
    iovec part;
    msghdr header{};
};

bool send_request(int socket, StartRequest& request, const SentFiles& files) {
    Message message(request);
    cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(SentFiles));
    std::memcpy(CMSG_DATA(control), files.data(), sizeof(SentFiles));
    return sendmsg(socket, &message.header, MSG_NOSIGNAL) >= 0;
}

// Waits for a message. False if the other end is closed or sent something else.
bool receive_request(int socket, StartRequest& request, SentFiles& files) {
    Message message(request);
    ssize_t got = 0;
    do {
        got = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
    if (got != sizeof(request) || control == nullptr || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len != CMSG_LEN(sizeof(SentFiles))) {
        return false;
    }
    std::memcpy(files.data(), CMSG_DATA(control), sizeof(SentFiles));
    return (message.header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

// A nameless file with these texts; closed if that failed (see errno).
UniqueFd memory_file(const std::string& texts) {
    UniqueFd file(memfd_create("distgpu", MFD_CLOEXEC));
    const bool is_filled = file.is_open() && write_all(file.fd(), texts);
    return is_filled && lseek(file.fd(), 0, SEEK_SET) == 0 ? std::move(file) : UniqueFd();
}

void add_text(std::string& texts, std::string_view text) {
    texts.append(text).push_back('\0');
}

void add_variables(std::string& texts, const Environment& environment, LdVariables ld_variables) {
    for (const std::string& name : environment.names()) {
        if (ld_variables == LdVariables::removed && name.starts_with("LD_")) continue;
        if (const auto value = environment.get(name)) add_text(texts, name + "=" + *value);
    }
}

Error start_error(int problem) {
    const bool is_missing = problem == ENOENT || problem == EACCES || problem == ENOTDIR;
    return {"", is_missing ? "cannot be started" : std::strerror(problem), ""};
}

Result<int> request_start(int socket, const HostProgram& program, bool wait_for_end, int inherited,
                          std::chrono::seconds limit) {
    StartRequest request{static_cast<std::uint32_t>(program.words.size()), wait_for_end};
    read_affinity(0, request.cpus);
    for (std::size_t i = 0; i < request.limits.size(); ++i) {
        getrlimit(static_cast<__rlimit_resource_t>(i), &request.limits[i]);
    }
    std::string texts;
    std::array<char, 4096> folder{};
    add_text(texts, getcwd(folder.data(), folder.size()) != nullptr ? folder.data() : "/");
    for (const std::string& word : program.words) add_text(texts, word);
    add_variables(texts, program.environment, program.ld_variables);
    std::string input_variables;
    if (program.input_variables != nullptr) {
        add_variables(input_variables, *program.input_variables, LdVariables::kept);
    }
    const UniqueFd start = memory_file(texts);
    const UniqueFd input = memory_file(input_variables);
    if (!start.is_open() || !input.is_open() ||
        !send_request(socket, request, {start.fd(), input.fd(), STDERR_FILENO, inherited})) {
        return start_error(errno);
    }
    std::array entry{pollfd{socket, POLLIN, 0}};
    const Deadline deadline = Clock::now() + limit;
    int ready = 0;
    do {
        ready = poll_until(entry, deadline);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        // The helper kills the program when it sees that no one waits any more.
        shutdown(socket, SHUT_RDWR);
        return Error{"", "did not end", ""};
    }
    Answer answer;
    if (recv(socket, &answer, sizeof(answer), 0) != sizeof(answer)) {
        return Error{"", "the process that starts it has ended", ""};
    }
    if (answer.problem != 0) return start_error(answer.problem);
    return answer.status;
}

// ---- The code below runs in the helper.

// Turns a process of root into the user's for good, by system calls: glibc's functions do more than
// the calls.
bool become_user(const HelperUser& user) {
    constexpr auto same = static_cast<uid_t>(-1);
    if (geteuid() != 0 && syscall(SYS_setresuid, same, 0, same) != 0) return false;
    if (syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0 ||
        syscall(SYS_setresgid, user.group, user.group, user.group) != 0 ||
        syscall(SYS_setresuid, user.user, user.user, user.user) != 0) {
        return false;
    }
    return user.user == 0 || (syscall(SYS_setresuid, same, 0, same) != 0 &&
                              (user.group == 0 || syscall(SYS_setresgid, same, 0, same) != 0));
}

// Empty if the texts exceed the bound or do not end with a NUL.
std::vector<char> read_texts(int file) {
    std::vector<char> texts(max_texts_size + 1);
    std::size_t size = 0;
    while (size < texts.size()) {
        const ssize_t got =
            pread(file, texts.data() + size, texts.size() - size, static_cast<off_t>(size));
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
    }
    if (size == 0 || size > max_texts_size || texts[size - 1] != '\0') return {};
    texts.resize(size);
    return texts;
}

[[noreturn]] void become_program(const StartRequest& request, const SentFiles& files,
                                 std::vector<char*>& texts) {
    // Its own process group, so that it can be killed with all processes that it starts. It also
    // ends if the helper itself is killed.
    setpgid(0, 0);
    if (request.wait_for_end) prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A folder of the container may not exist on the host.
    if (chdir(texts[0]) != 0 && chdir("/") != 0) _exit(cannot_start_status);
    sched_setaffinity(0, sizeof(request.cpus),
                      reinterpret_cast<const cpu_set_t*>(request.cpus.data()));
    std::vector<char*> environment(texts.begin() + 1 + request.words, texts.end());
    environment.push_back(nullptr);
    texts[1 + request.words] = nullptr;
    const bool has_files = dup2(files[input_file], STDIN_FILENO) >= 0 &&
                           dup2(files[output_file], STDOUT_FILENO) >= 0 &&
                           dup2(files[output_file], STDERR_FILENO) >= 0 &&
                           dup2(files[inherited_file], helper_fd) >= 0;
    close_from(helper_fd + 1);
    for (std::size_t i = 0; i < request.limits.size(); ++i) {
        setrlimit(static_cast<__rlimit_resource_t>(i), &request.limits[i]);
    }
    if (has_files) execve(texts[1], &texts[1], environment.data());
    _exit(cannot_start_status);
}

// Waits until the program has ended; kills it if the task's end of the socket closes first.
int wait_for(pid_t child, int child_end, int socket) {
    std::array<pollfd, 2> entries{pollfd{child_end, POLLIN, 0}, pollfd{socket, POLLIN, 0}};
    while (poll(entries.data(), entries.size(), -1) < 0 && errno == EINTR) {
    }
    if (entries[0].revents == 0) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        _exit(EXIT_FAILURE);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

Answer start_program(const StartRequest& request, SentFiles files, int socket) {
    std::vector<char> texts = read_texts(files[texts_file]);
    std::vector<char*> words;  // and variables, as execve() expects them
    for (std::size_t at = 0; at < texts.size(); at += std::strlen(words.back()) + 1) {
        words.push_back(&texts[at]);
    }
    if (request.words == 0 || request.words > max_words || words.size() < 2U + request.words) {
        return {E2BIG};
    }
    if (access(words[1], X_OK) != 0) return {errno};
    Pipe pipe = make_pipe();
    if (!pipe.is_open()) return {errno};
    // The program inherits the pipe's writing end, so the pipe closes when the program ends.
    if (request.wait_for_end) files[inherited_file] = pipe.write.fd();
    const pid_t child = fork();
    if (child == 0) become_program(request, files, words);
    const int problem = errno;
    pipe.write = UniqueFd();
    if (child < 0) return {problem};
    return request.wait_for_end ? Answer{0, wait_for(child, pipe.read.fd(), socket)} : Answer{};
}

[[noreturn]] void serve(int socket) {
    for (;;) {
        StartRequest request;
        SentFiles files{};
        if (!receive_request(socket, request, files)) _exit(EXIT_SUCCESS);
        const Answer answer = start_program(request, files, socket);
        for (const int file : files) close(file);
        send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
    }
}

// Makes a fork of slurmstepd, or of another process, the helper: it keeps only the cgroup.
[[noreturn]] void become_helper(int socket, const std::optional<HelperUser>& user) {
    if (user && !become_user(*user)) _exit(EXIT_FAILURE);
    // proctrack/linuxproc spares processes named slurmstepd (kill_tree.c, 22.05 to 26.05).
    prctl(PR_SET_NAME, "distgpu");
    const int null_device = open("/dev/null", O_RDWR);
    bool is_ready = chdir("/") == 0 && null_device >= 0;
    constexpr int socket_fd = 3;
    const int own = fcntl(socket, F_DUPFD_CLOEXEC, socket_fd + 1);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        is_ready = dup2(null_device, file) >= 0 && is_ready;
    }
    is_ready = dup3(own, socket_fd, O_CLOEXEC) >= 0 && is_ready;
    close_from(socket_fd + 1);
    for (int number = 1; number < NSIG; ++number) {
        static_cast<void>(signal(number, SIG_DFL));
    }
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    if (is_ready) serve(socket_fd);
    _exit(EXIT_FAILURE);
}

}  // namespace

void handle_step_signals(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    for (const int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGALRM, SIGXCPU}) {
        sigaction(signal, &action, nullptr);
    }
}

Result<HostHelper> HostHelper::start(const std::optional<HelperUser>& user) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return start_error(errno);
    }
    HostHelper helper(ends[0]);
    const pid_t child = fork();
    if (child == 0) {
        // Signals to the task's process group or terminal must not reach it, and it must not be a
        // child that the task's program could wait for.
        setsid();
        if (fork() == 0) become_helper(ends[1], user);
        _exit(EXIT_SUCCESS);
    }
    const int problem = errno;
    close(ends[1]);
    if (child < 0) return start_error(problem);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return helper;
}

Result<int> HostHelper::run(const HostProgram& program, std::chrono::seconds limit) const {
    return request_start(socket_.fd(), program, true, STDERR_FILENO, limit);
}

Result<int> HostHelper::start_detached(const HostProgram& program, int inherited) const {
    constexpr std::chrono::seconds limit{10};
    return request_start(socket_.fd(), program, false, inherited, limit);
}

}  // namespace distgpu

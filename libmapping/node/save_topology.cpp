#include "node/save_topology.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "node/host_root.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// False if it is none, as the folder of version 1's hierarchies.
bool move_to(const std::string& control_group) {
    const UniqueFd file(open((control_group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    return file.is_open() && write_all(file.fd(), "0");
}

constexpr const char* control_groups = "/sys/fs/cgroup";

// Version 1: the end of a step would kill what is in its groups. Takes some milliseconds each.
void leave_hierarchies() {
    for (const std::string& hierarchy : files_in(control_groups)) {
        move_to(formatted("{}/{}", control_groups, hierarchy));
    }
}

void drop_capabilities() {
    constexpr int most = 63;
    for (int capability = 0; capability <= most; ++capability) {
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void reset_signals() {
    for (int number = 1; number < NSIG; ++number) static_cast<void>(std::signal(number, SIG_DFL));
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

void become_program(const std::string& command, const std::string& file) {
    constexpr unsigned longest = 60;  // seconds; SIGALRM then ends the program
    constexpr int lowest_priority = 19;
    constexpr mode_t others_may_read = 022;
    reset_signals();
    drop_capabilities();
    setpriority(PRIO_PROCESS, 0, lowest_priority);
    if (chdir("/") != 0) return;
    umask(others_may_read);
    const int null = open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
    close_from(STDERR_FILENO + 1);
    alarm(longest);
    std::array<std::string, 5> words{command, "topo", "--save", file, "--if-needed"};
    std::array<char*, words.size() + 1> arguments{};
    for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
    exec_without_variables(arguments.data());
}

}  // namespace

void start_saving_topology(const std::string& command, const std::string& file, bool leaves_jail) {
    const pid_t child = fork();
    if (child > 0) waitpid(child, nullptr, 0);
    if (child != 0) return;
    setsid();
    if (leaves_jail && !enter_host_root()) _exit(1);
    // Version 2: before slurmd goes on, which gets no subgroups while a process is in its group.
    const bool has_left = move_to(control_groups);
    // init waits for the second child.
    if (fork() == 0) {
        if (!has_left) leave_hierarchies();
        become_program(command, file);
    }
    _exit(0);
}

}  // namespace distgpu

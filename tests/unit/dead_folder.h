// A folder on a file server that does not answer: stat(2) of a file in it blocks until the caller
// is killed.
#pragma once

#include "made_up_folder.h"

#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {

// Calls expect(FOLDER), which returns whether all was as expected, in a child process that has the
// folder in a mount namespace of its own. Returns what it returned; true if this user may not
// mount. `skipped` says so.
template <class Expect>
bool with_dead_folder(Expect&& expect, bool& skipped) {
    constexpr int may_not_mount = 77;
    const MadeUpFolder folder;
    const pid_t child = fork();
    if (child == 0) {
        const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        const std::string options =
            "fd=" + std::to_string(server) + ",rootmode=40000,user_id=0,group_id=0";
        const bool is_mounted =
            server >= 0 && unshare(CLONE_NEWNS) == 0 &&
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            mount("none", folder.path().c_str(), "fuse", MS_NOSUID, options.c_str()) == 0;
        if (!is_mounted) _exit(may_not_mount);
        _exit(expect(folder.path()) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    skipped = WIFEXITED(status) && WEXITSTATUS(status) == may_not_mount;
    return skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace distgpu

// Who holds a lock file for which a process waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct FileId {
    unsigned major = 0;  // of the file system's device
    unsigned minor = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileId&) const = default;
};

// Parses /proc/locks (proc(5)): the processes that have locked the file, by flock(), fcntl() or
// lockf(), ascending; 0 for one in another pid namespace.
std::vector<pid_t> lock_holders(std::string_view locks, const FileId& file);

// The file on which the process waits in flock() or fcntl(); empty if it is in another call.
std::string lock_file_of(pid_t pid);

// "process 812 (python3) has locked /tmp/x.lock", "no process on node01 has locked /tmp/x.lock,
// which says \"812 node07\"". Empty if the file is not there. `file`: as the process `pid` sees it.
// Asks a child process, because the file may lie on a file server that no longer answers.
std::string describe_lock(const std::string& file, pid_t pid, const std::string& node);

}  // namespace distgpu

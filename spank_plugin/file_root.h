// Which file system a process has at '/'. A plugin before this one, such as pyxis, puts the task
// into its container, and then it is another than slurmstepd's.
#pragma once

#include <sys/types.h>

namespace distgpu {

struct FileRoot {
    dev_t device = 0;
    ino_t inode = 0;

    bool operator==(const FileRoot&) const = default;
};

// Of this process; all 0 where it cannot be told.
FileRoot file_root();

}  // namespace distgpu

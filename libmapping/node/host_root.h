// The node's own root folder, for slurmstepd that another plugin has put into a jail: another root
// (chroot(2), pivot_root(2)), which all nodes may share, as Soperator's do. The node's root is
// taken to be that of process 1.
#pragma once

#include <string>

namespace distgpu {

// The path by which root opens a file of the node from the jail. Process 1 resolves it, so nothing
// in the jail can change what it names.
std::string path_on_host(const std::string& path);

// Called as root, in a process of one thread: takes process 1's mounts, root and working folder.
// False if the kernel refuses. Not for a process that becomes the user's: others of the user could
// leave the jail through it.
bool enter_host_root();

}  // namespace distgpu

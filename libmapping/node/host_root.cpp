#include "node/host_root.h"

#include "base/io/descriptor.h"

#include <sched.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr const char* host_root = "/proc/1/root";

}  // namespace

std::string path_on_host(const std::string& path) {
    return host_root + path;
}

bool enter_host_root() {
    const UniqueFd root(open(host_root, O_PATH | O_DIRECTORY | O_CLOEXEC));
    const UniqueFd mounts(open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC));
    return setns(mounts.fd(), CLONE_NEWNS) == 0 && fchdir(root.fd()) == 0 && chroot(".") == 0;
}

}  // namespace distgpu

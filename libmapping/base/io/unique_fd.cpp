#include "base/io/unique_fd.h"

#include <unistd.h>

namespace distgpu {

UniqueFd::~UniqueFd() {
    if (fd_ >= 0) close(fd_);
}

}  // namespace distgpu

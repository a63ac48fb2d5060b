// See open_files.h.
#include "base/io/open_files.h"

#include <sys/resource.h>

namespace distgpu {

void raise_open_files() {
    rlimit raised{};
    if (getrlimit(RLIMIT_NOFILE, &raised) != 0) return;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
}

}  // namespace distgpu

#include "file_root.h"

#include <sys/stat.h>

namespace distgpu {

FileRoot file_root() {
    struct stat root {};
    if (stat("/", &root) != 0) return {};
    return {root.st_dev, root.st_ino};
}

}  // namespace distgpu

// See kernel_image.h; of a build without CUDA.
#include "backend/kernel_image.h"

namespace distgpu::scaling {

const void* kernel_image() {
    return nullptr;
}

}  // namespace distgpu::scaling

// See compute_image.h; of a build without CUDA.
#include "backend/compute_image.h"

namespace distgpu::scaling {

const void* compute_image() {
    return nullptr;
}

}  // namespace distgpu::scaling

// See compute_image.h; of a build with CUDA. bin2c has made an array of what nvcc compiled.
#include "backend/compute_image.h"

// NOLINTNEXTLINE(modernize-avoid-c-arrays): as bin2c declares it
extern "C" const unsigned char distgpu_compute_image[];

namespace distgpu::scaling {

const void* compute_image() {
    return static_cast<const unsigned char*>(distgpu_compute_image);
}

}  // namespace distgpu::scaling

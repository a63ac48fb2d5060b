// See kernel_image.h; of a build with CUDA. bin2c has made an array of what nvcc compiled.
#include "backend/kernel_image.h"

// NOLINTNEXTLINE(modernize-avoid-c-arrays): as bin2c declares it
extern "C" const unsigned char distgpu_kernel_image[];

namespace distgpu::scaling {

const void* kernel_image() {
    return static_cast<const unsigned char*>(distgpu_kernel_image);
}

}  // namespace distgpu::scaling

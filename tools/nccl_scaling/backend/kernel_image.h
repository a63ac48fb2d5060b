// The kernels of check_kernel.cu for every architecture that the toolkit at hand knows.
#pragma once

namespace distgpu::scaling {

// As cuModuleLoadData takes it. Null: the program was built without CUDA.
const void* kernel_image();

}  // namespace distgpu::scaling

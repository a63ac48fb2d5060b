// Compute that runs beside collectives, as much arithmetic as memory traffic: in a training step
// matrix products do the one, the layers between them the other. Where one of these kernels ends,
// a collective's blocks find room, as between the kernels of a backward pass.
constexpr int steps = 64;  // multiply-adds for each element that is read and written

// 1 is the fixed point of a step, so that values stay finite.
extern "C" __global__ void distgpu_compute(float* data, unsigned long long elements) {
    const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    const unsigned long long first =
        static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (unsigned long long element = first; element < elements; element += threads) {
        float value = data[element];
        for (int step = 0; step < steps; ++step) value = fmaf(value, 0.5F, 0.5F);
        data[element] = value;
    }
}

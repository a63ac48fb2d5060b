// Memory that slurmstepd and the tasks that it forks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace distgpu {

// `size` elements, all zeros, until the process ends; null: the kernel refuses.
template <class T>
T* shared_array(std::size_t size) {
    if (size > SIZE_MAX / sizeof(T)) return nullptr;
    void* const memory =
        mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

}  // namespace distgpu

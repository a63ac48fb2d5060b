// See counted_memory.h.
#include "counted_memory.h"

#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

std::size_t in_use = 0;  // the benchmarks have one thread
std::size_t most = 0;

void* count(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    in_use += malloc_usable_size(memory);
    most = std::max(most, in_use);
    return memory;
}

void release(void* memory) {
    in_use -= malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
    return count(std::malloc(size));
}
void* operator new[](std::size_t size) {
    return count(std::malloc(size));
}
void operator delete(void* memory) noexcept {
    release(memory);
}
void operator delete[](void* memory) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    release(memory);
}

namespace distgpu::bench {

std::size_t begin_counting() {
    most = in_use;
    return in_use;
}

std::size_t most_since(std::size_t begin) {
    return most - begin;
}

}  // namespace distgpu::bench

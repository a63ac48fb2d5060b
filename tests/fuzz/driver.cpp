// libFuzzer's entry, the same for every target: a text, and the memory that reading it may take.
#include "require.h"
#include "target.h"

#include <cstddef>
#include <cstdint>
#include <sanitizer/allocator_interface.h>

namespace distgpu {
namespace {

// What is live on the heap while an input is tried, at most: a reader in root's slurmstepd must not
// take more, whatever a user sends.
constexpr std::int64_t most_memory = std::int64_t{64} << 20U;

bool trying = false;
std::int64_t live = 0;  // less what was there before and is freed meanwhile

void count_allocation(const volatile void* /*block*/, std::size_t size) {
    if (!trying) return;
    live += static_cast<std::int64_t>(size);
    if (live <= most_memory) return;
    trying = false;  // the fuzzer allocates to keep the text
    require(false, "a text takes at most 64 MiB");
}

void count_release(const volatile void* block) {
    if (!trying || block == nullptr) return;
    live -=
        static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
}

}  // namespace
}  // namespace distgpu

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    using namespace distgpu;
    require(__sanitizer_install_malloc_and_free_hooks(count_allocation, count_release) != 0,
            "the sanitizer tells of allocations");
    return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace distgpu;
    live = 0;
    trying = true;
    try_text({reinterpret_cast<const char*>(data), size});
    trying = false;
    return 0;
}

// libFuzzer's entry: a text for the target that DISTGPU_FUZZ_TARGET names, and the memory that
// reading it may take.
#include "targets.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <sanitizer/allocator_interface.h>
#include <string_view>

namespace distgpu {
namespace {

// What is live on the heap while an input is tried, at most: a reader in root's slurmstepd must not
// take more, whatever a user sends.
constexpr std::int64_t most_memory = std::int64_t{64} << 20U;

const std::map<std::string_view, TryText*> targets{{"bootstrap", try_bootstrap},
                                                   {"bound_record", try_bound_record},
                                                   {"check_report", try_check_report},
                                                   {"handed_layout", try_handed_layout},
                                                   {"hostlist", try_hostlist},
                                                   {"node_answers", try_node_answers},
                                                   {"node_look", try_node_look},
                                                   {"plugstack", try_plugstack},
                                                   {"process_text", try_process_text},
                                                   {"reserved_ports", try_reserved_ports},
                                                   {"sattach", try_sattach},
                                                   {"scaling_results", try_scaling_results},
                                                   {"sent_step", try_sent_step},
                                                   {"spec", try_spec},
                                                   {"switches", try_switches},
                                                   {"tasks_per_node", try_tasks_per_node},
                                                   {"topology_json", try_topology_json},
                                                   {"topology_xml", try_topology_xml},
                                                   {"trial_lines", try_trial_lines}};
TryText* try_text = nullptr;

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
    const char* const name = std::getenv("DISTGPU_FUZZ_TARGET");
    const auto target = targets.find(name == nullptr ? "" : name);
    require(target != targets.end(), "DISTGPU_FUZZ_TARGET names a target");
    try_text = target->second;
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

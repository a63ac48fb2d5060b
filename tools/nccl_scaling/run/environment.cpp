// See environment.h.
#include "run/environment.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace distgpu::scaling {
namespace {

// Beginnings of names.
constexpr std::array<std::string_view, 7> kept{
    "NCCL_", "UCX_", "OMPI_MCA_btl", "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "CUDA_",
};

}  // namespace

std::vector<std::pair<std::string, std::string>> kept_environment(const char* const* environment) {
    std::vector<std::pair<std::string, std::string>> variables;
    for (; *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const std::size_t equals = entry.find('=');
        const bool is_kept = std::any_of(kept.begin(), kept.end(), [&](std::string_view beginning) {
            return entry.substr(0, beginning.size()) == beginning;
        });
        if (is_kept && equals != std::string_view::npos) {
            variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
        }
    }
    std::sort(variables.begin(), variables.end());
    return variables;
}

}  // namespace distgpu::scaling

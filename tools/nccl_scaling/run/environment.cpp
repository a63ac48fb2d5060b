#include "run/environment.h"

#include "base/io/file_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu::scaling {
namespace {

// Beginnings of names.
constexpr std::array<std::string_view, 7> kept{
    "NCCL_", "UCX_", "OMPI_MCA_btl", "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "CUDA_",
};

bool is_kept(std::string_view name) {
    return std::any_of(kept.begin(), kept.end(), [&](std::string_view beginning) {
        return name.substr(0, beginning.size()) == beginning;
    });
}

// Where it is known already, the earlier one counts.
void add(std::vector<Variable>& variables, Variable variable) {
    const bool known = std::any_of(variables.begin(), variables.end(), [&](const Variable& other) {
        return other.name == variable.name;
    });
    if (is_kept(variable.name) && !known) variables.push_back(std::move(variable));
}

}  // namespace

std::vector<Variable> kept_environment(const char* const* environment,
                                       const std::vector<ConfFile>& files) {
    std::vector<Variable> variables;
    for (; *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        add(variables,
            {std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1))});
    }
    for (const ConfFile& file : files) {
        const auto text = read_regular_file(file.path);
        if (!text) continue;
        for (Variable& variable : read_nccl_conf(*text, file.origin)) {
            add(variables, std::move(variable));
        }
    }
    std::sort(variables.begin(), variables.end(),
              [](const Variable& a, const Variable& b) { return a.name < b.name; });
    return variables;
}

}  // namespace distgpu::scaling

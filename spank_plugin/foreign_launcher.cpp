#include "foreign_launcher.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace distgpu {

bool is_foreign_launcher(std::span<const std::string> arguments) {
    static constexpr std::array<std::string_view, 5> daemons{
        "orted",               // Open MPI 4
        "prted",               // Open MPI 5, PRRTE
        "hydra_pmi_proxy",     // MPICH, Intel MPI
        "hydra_bstrap_proxy",  // Intel MPI
        "pmi_proxy",           // MPICH 1.x
    };
    if (arguments.empty()) return false;
    const std::string_view path = arguments.front();
    const std::string_view program = path.substr(path.rfind('/') + 1);
    return std::find(daemons.begin(), daemons.end(), program) != daemons.end();
}

bool starts_foreign_launcher(std::span<const std::string> command_line) {
    return std::any_of(command_line.begin(), command_line.end(), [](const std::string& word) {
        return is_foreign_launcher({&word, 1});
    });
}

}  // namespace distgpu

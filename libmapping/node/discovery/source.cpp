#include "node/discovery/source.h"

#include "base/format.h"

#include <filesystem>

namespace distgpu::discovery {

bool is_virtual_function(const Source& source, const std::string& pci) {
    if (source.roots == nullptr) return false;
    std::error_code error;
    const std::string link = formatted("{}/bus/pci/devices/{}/physfn", source.roots->sys, pci);
    return std::filesystem::exists(link, error);
}

}  // namespace distgpu::discovery

#include "node/nvidia_driver.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"

#include <filesystem>
#include <string_view>

namespace distgpu {

NvidiaInformation nvidia_information(const std::string& proc, const std::string& pci) {
    const auto text = read_trimmed(formatted("{}/driver/nvidia/gpus/{}/information", proc, pci));
    if (!text) return {};
    NvidiaInformation information;
    information.model = value_after(*text, "Model:");
    information.minor = whole_number(value_after(*text, "Device Minor:"));
    // "GPU-????????-..." until something first opens the GPU.
    const std::string_view uuid = value_after(*text, "GPU UUID:");
    if (uuid.find('?') == std::string_view::npos) information.uuid = uuid;
    return information;
}

bool drives_gpus(const std::string& proc) {
    std::error_code error;
    const std::filesystem::directory_iterator first(proc + "/driver/nvidia/gpus", error);
    return !error && first != std::filesystem::directory_iterator();
}

bool has_mig_instances(const std::string& proc, std::uint32_t minor) {
    const std::string folder = formatted("{}/driver/nvidia/capabilities/gpu{}/mig", proc, minor);
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().filename().string().starts_with("gi")) return true;
    }
    return false;
}

}  // namespace distgpu

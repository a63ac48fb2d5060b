#include "inspect/offers.h"

#include "base/excerpt.h"
#include "base/format.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace distgpu {
namespace {

// As the process itself finds the file, in a container too.
std::string seen_from_here(pid_t pid, const std::string& file) {
    return formatted("/proc/{}/{}/{}", pid, file.starts_with('/') ? "root" : "cwd", file);
}

std::string folder_of(pid_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink(formatted("/proc/{}/cwd", pid), error);
}

}  // namespace

void Offers::take(const StartEnvironment& environment, std::uint32_t rank, pid_t pid) {
    if (rank == 0 && !ras_) {
        ras_ = parse_ras_address(environment.get("NCCL_RAS_ADDR").value_or(""));
    }
    // The older name up to torch 2.8.
    for (const char* const name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
        const std::string prefix = environment.get(name).value_or("");
        if (prefix.empty()) continue;
        records_.push_back({pid, formatted("{}{}", prefix, rank)});
        break;
    }
}

void Offers::ask() {
    if (!ras_) return;
    constexpr std::chrono::seconds patience{12};
    status_ = std::async(std::launch::async, [address = *ras_, patience] {
        const auto status = ask_ras(address, Clock::now() + patience);
        return status ? *status : status.error().message();
    });
}

std::string Offers::status() {
    return status_.valid() ? status_.get() : "";
}

std::vector<std::string> Offers::records() const {
    std::vector<std::string> files;
    for (const Record& record : records_) {
        std::error_code error;
        if (!std::filesystem::is_regular_file(seen_from_here(record.pid, record.file), error)) {
            continue;
        }
        std::string file = printable(record.file.starts_with('/')
                                         ? record.file
                                         : formatted("{}/{}", folder_of(record.pid), record.file));
        if (std::find(files.begin(), files.end(), file) == files.end()) {
            files.push_back(std::move(file));
        }
    }
    return files;
}

}  // namespace distgpu

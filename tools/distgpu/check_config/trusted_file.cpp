#include "check_config/trusted_file.h"

#include "base/format.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

namespace distgpu {
namespace {

using Path = std::filesystem::path;

// Of one file, folder or link, and what to do about it.
std::optional<Error> fault_of(const std::string& path, const Path& at, mode_t needed) {
    struct stat status {};
    if (lstat(at.c_str(), &status) != 0) {
        return Error{path, std::strerror(errno), "name a file that is there"};
    }
    const std::string name = at == path ? "it" : at.string();
    if (status.st_uid != 0) {
        return Error{path,
                     formatted("{} belongs to user {}, who could put anything in its place", name,
                               status.st_uid),
                     formatted("chown -h root {}", at.string())};
    }
    if (S_ISLNK(status.st_mode)) return std::nullopt;  // what it leads to has rights of its own
    const bool is_folder = S_ISDIR(status.st_mode);
    const bool changed_by_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool keeps_entries = is_folder && (status.st_mode & S_ISVTX) != 0;
    if (changed_by_others && !keeps_entries) {
        return Error{path, formatted("{} may be changed by others than root", name),
                     formatted("chmod go-w {}", at.string())};
    }
    const mode_t wanted = is_folder ? mode_t{S_IXOTH} : needed;
    if ((status.st_mode & wanted) == wanted) return std::nullopt;
    const char* const rights = is_folder ? "x" : (needed & S_IXOTH) != 0 ? "rx" : "r";
    return Error{path, formatted("users have no access to {}", name),
                 formatted("chmod a+{} {}", rights, at.string())};
}

// From the root on; `needed` of what is no folder.
std::optional<Error> fault_along(const std::string& path, const Path& way, mode_t needed) {
    Path at;
    for (const Path& part : way) {
        at /= part;
        if (auto fault = fault_of(path, at, needed)) return fault;
    }
    return std::nullopt;
}

// As written, and where its links lead.
std::optional<Error> fault_both_ways(const std::string& path, const Path& way, mode_t needed) {
    std::error_code failed;
    const Path real = std::filesystem::canonical(way, failed);
    if (failed) return Error{path, failed.message(), "name a file that is there"};
    if (auto fault = fault_along(path, way.lexically_normal(), needed)) return fault;
    return fault_along(path, real, needed);
}

}  // namespace

std::optional<Error> file_fault(const std::string& path, FileUse use) {
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        return Error{path, "not a regular file", "name a regular file"};
    }
    const mode_t needed = use == FileUse::execute ? mode_t{S_IROTH | S_IXOTH} : mode_t{S_IROTH};
    return fault_both_ways(path, path, needed);
}

std::optional<Error> folder_fault(const std::string& path) {
    return fault_both_ways(path, Path(path).parent_path(), S_IROTH);
}

}  // namespace distgpu

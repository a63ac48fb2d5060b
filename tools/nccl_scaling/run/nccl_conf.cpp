#include "run/nccl_conf.h"

#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

namespace distgpu::scaling {

std::vector<ConfFile> nccl_conf_files(const std::string& named, const std::string& home) {
    constexpr const char* of_all_users = "/etc/nccl.conf";
    std::vector<ConfFile> files;
    if (!named.empty()) {
        files.push_back({named, named});
    } else if (!home.empty()) {
        files.push_back({home + "/.nccl.conf", "~/.nccl.conf"});
    }
    files.push_back({of_all_users, of_all_users});
    return files;
}

std::vector<ConfFile> own_nccl_conf_files() {
    const char* const named = std::getenv("NCCL_CONF_FILE");
    const passwd* const user = getpwuid(getuid());
    return nccl_conf_files(named != nullptr ? named : "", user != nullptr ? user->pw_dir : "");
}

std::vector<Variable> read_nccl_conf(std::string_view text, const std::string& origin) {
    std::vector<Variable> variables;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const std::size_t equals = line.find('=');
        if (line.empty() || line.front() == '#' || equals == std::string_view::npos) continue;
        variables.push_back(
            {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)), origin});
    }
    return variables;
}

}  // namespace distgpu::scaling

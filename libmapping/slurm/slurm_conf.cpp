#include "slurm/slurm_conf.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "slurm/slurm_queries.h"

#include <chrono>
#include <filesystem>
#include <strings.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds time_limit{5};

// In a configless cluster it is in /run.
std::string slurm_conf_path(const Environment& environment) {
    constexpr const char* installed = "/etc/slurm/slurm.conf";
    constexpr const char* configless = "/run/slurm/conf/slurm.conf";
    if (auto path = environment.get("SLURM_CONF")) return *path;
    return access(installed, F_OK) != 0 && access(configless, F_OK) == 0 ? configless : installed;
}

std::optional<std::string> configured_value(const Environment& environment, std::string_view key) {
    const auto text = read_regular_file(slurm_conf_path(environment));
    return text ? slurm_conf_value(*text, key) : std::nullopt;
}

std::vector<std::string> folders_of(std::string_view list) {
    const auto folders = words_in(list, ":");
    return {folders.begin(), folders.end()};
}

}  // namespace

std::optional<std::string> slurm_conf_value(std::string_view text, std::string_view key) {
    constexpr std::string_view blanks_and_quotes = " \t\r\"";
    std::optional<std::string> value;  // the last one counts
    while (!text.empty()) {
        std::string_view whole_line = cut_until(text, '\n');
        std::string_view line = cut_until(whole_line, '#');
        const bool has_value = line.find('=') != std::string_view::npos;
        const std::string name(trimmed(cut_until(line, '='), blanks_and_quotes));
        if (has_value && strcasecmp(name.c_str(), std::string(key).c_str()) == 0) {
            value = std::string(trimmed(line, blanks_and_quotes));
        }
    }
    return value;
}

std::string plugstack_path(const Environment& environment) {
    if (auto path = configured_value(environment, "PlugStackConfig")) return *path;
    return std::filesystem::path(slurm_conf_path(environment)).replace_filename("plugstack.conf");
}

Result<std::vector<std::string>> plugin_folders(const Environment& environment) {
    if (const auto list = configured_value(environment, "PluginDir")) return folders_of(*list);
    const auto config = run_slurm_command(environment, {"scontrol", "show", "config"}, time_limit);
    if (!config) return config.error();
    // "PluginDir               = /usr/lib64/slurm"
    const auto folders = folders_of(trimmed(value_after(*config, "PluginDir"), "= "));
    if (!folders.empty()) return folders;
    return Error{"scontrol show config", "shows no PluginDir", ""};
}

Result<std::string> parse_release(const std::string& text) {
    std::string_view name = std::string_view(text).substr(text.rfind(' ') + 1);
    name = name.substr(0, name.find('\n'));
    const auto major = whole_number(cut_until(name, '.'));
    const auto minor = whole_number(cut_until(name, '.'));
    if (major && minor) return formatted("{}.{:02}", *major, *minor);
    return Error{"Slurm's version", formatted("not a release number: '{}'", excerpt(text)), ""};
}

Result<std::string> slurm_release(const Environment& environment) {
    const auto release_of = [&](const std::vector<std::string>& command) {
        return run_slurm_command(environment, command, time_limit).and_then(parse_release);
    };
    auto release = release_of({"slurmd", "-V"});
    return release ? release : release_of({"scontrol", "--version"});
}

}  // namespace distgpu

#include "check_config/slurm_here.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "base/take_until.h"
#include "base/values.h"
#include "slurm/slurm_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <strings.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds time_limit{5};

// In a configless cluster slurmd keeps it in /run.
std::string slurm_conf_path(const Environment& environment) {
    if (auto path = environment.get("SLURM_CONF")) return *path;
    const std::string installed = "/etc/slurm/slurm.conf";
    const std::string configless = "/run/slurm/conf/slurm.conf";
    std::error_code none;
    const bool is_configless =
        !std::filesystem::exists(installed, none) && std::filesystem::exists(configless, none);
    return is_configless ? configless : installed;
}

std::optional<std::string> configured(const Environment& environment, std::string_view key) {
    const auto text = read_regular_file(slurm_conf_path(environment));
    return text ? slurm_conf_value(*text, key) : std::nullopt;
}

std::vector<std::string> folders_of(std::string_view list) {
    std::vector<std::string> folders;
    while (!list.empty()) {
        folders.emplace_back(take_until(list, ':'));
    }
    return folders;
}

// "PluginDir               = /usr/lib64/slurm" among the lines of scontrol show config.
Result<std::vector<std::string>> folders_shown(const std::string& text) {
    std::string_view value = value_after(text, "PluginDir");
    value.remove_prefix(std::min(value.find_first_not_of("= "), value.size()));
    if (!value.empty()) return folders_of(value);
    return Error{"scontrol show config", "names no PluginDir", ""};
}

}  // namespace

std::optional<std::string> slurm_conf_value(std::string_view text, std::string_view key) {
    const auto without_blanks = [](std::string_view part) {
        constexpr std::string_view around = " \t\r\"";
        part.remove_prefix(std::min(part.find_first_not_of(around), part.size()));
        return part.substr(0, part.find_last_not_of(around) + 1);
    };
    std::optional<std::string> value;  // the last counts
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string name(without_blanks(line.substr(0, equals)));
        if (strcasecmp(name.c_str(), std::string(key).c_str()) != 0) continue;
        value = std::string(without_blanks(line.substr(equals + 1)));
    }
    return value;
}

std::string plugstack_path(const Environment& environment) {
    if (auto path = configured(environment, "PlugStackConfig")) return *path;
    return std::filesystem::path(slurm_conf_path(environment)).replace_filename("plugstack.conf");
}

Result<std::vector<std::string>> plugin_folders(const Environment& environment) {
    if (const auto folders = configured(environment, "PluginDir")) return folders_of(*folders);
    return run_slurm_command(environment, {"scontrol", "show", "config"}, time_limit)
        .and_then(folders_shown);
}

Result<SlurmRelease> parse_release(const std::string& text) {
    std::string_view name = std::string_view(text).substr(text.rfind(' ') + 1);
    name = name.substr(0, name.find('\n'));
    const std::size_t dot = name.find('.');
    const auto major = whole_number(name.substr(0, dot));
    if (major && dot != std::string_view::npos) {
        const std::string_view rest = name.substr(dot + 1);
        const auto minor = whole_number(rest.substr(0, rest.find('.')));
        if (minor) return SlurmRelease{*major, *minor};
    }
    return Error{"Slurm's version", formatted("names no release: '{}'", excerpt(text)), ""};
}

std::vector<PortRange> parse_port_ranges(std::string_view text) {
    constexpr std::size_t ports = 65'536;
    std::vector<PortRange> ranges;
    while (!text.empty()) {
        std::string_view last = take_until(text, ',');
        const std::string_view first = last.substr(0, last.find_first_of("-\t "));
        last.remove_prefix(std::min(last.find_last_of("-\t ") + 1, last.size()));
        const auto from = number_below(first, ports);
        const auto to = number_below(last, ports);
        if (!from || !to) continue;
        ranges.push_back({static_cast<std::uint16_t>(*from), static_cast<std::uint16_t>(*to)});
    }
    return ranges;
}

Result<SlurmRelease> slurm_release(const Environment& environment) {
    const auto ask = [&](const std::vector<std::string>& command) {
        return run_slurm_command(environment, command, time_limit).and_then(parse_release);
    };
    auto release = ask({"slurmd", "-V"});
    return release ? release : ask({"scontrol", "--version"});
}

}  // namespace distgpu

// `distgpu check-config`: what is wrong with plugstack.conf, before every srun reads it.
#include "base/io/file_text.h"
#include "check_config/judge_plugstack.h"
#include "check_config/plugstack_file.h"
#include "check_config/slurm_here.h"
#include "node/process_environment.h"
#include "output.h"
#include "subcommands.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

// Asks slurmctld only where a line leaves the plugin's folder to Slurm.
SlurmHere slurm_here(const Environment& environment, const std::vector<ConfigLine>& lines) {
    const bool asks = std::any_of(lines.begin(), lines.end(), [](const ConfigLine& line) {
        return !line.ignored && line.plugin.front() != '/';
    });
    const auto ports = [](const char* file) {
        return parse_port_ranges(
            read_trimmed(std::string("/proc/sys/net/ipv4/") + file).value_or(""));
    };
    const auto ephemeral = ports("ip_local_port_range");
    return {slurm_release(environment),
            asks ? plugin_folders(environment) : std::vector<std::string>(),
            ephemeral.empty() ? PortRange{1, 0} : ephemeral.front(),
            ports("ip_local_reserved_ports"), DISTGPU_PLUGIN_FILE};
}

ExitCode run_check_config(const std::optional<std::string>& given) {
    const ProcessEnvironment environment;
    const std::string file = given.value_or(plugstack_path(environment));
    const auto lines = read_plugstack(file);
    if (!lines) return complain(lines.error(), ExitCode::environment);
    std::string text;
    for (const Remark& remark : judge_plugstack(file, *lines, slurm_here(environment, *lines))) {
        text += remark.text() + '\n';
    }
    return print_or_complain(text, text.empty() ? ExitCode::done : ExitCode::check_failed);
}

}  // namespace

Subcommand check_config_subcommand() {
    const auto file = std::make_shared<std::optional<std::string>>();
    return {.name = "check-config",
            .help =
                "Check plugstack.conf on this host: paths, Slurm's release, order and arguments, "
                "before every srun reads it.",
            .options = {{.name = "FILE",
                         .target = file.get(),
                         .help = "The file to check (default: the one that slurm.conf names)"}},
            .run = [file] { return run_check_config(*file); }};
}

}  // namespace distgpu

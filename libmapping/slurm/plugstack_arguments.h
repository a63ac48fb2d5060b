// The plugin's line in plugstack.conf: its arguments, which are the administrator's defaults, and
// its place after that of pyxis.
#pragma once

#include "base/result.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

#include <span>
#include <vector>

namespace distgpu {

// off and off=run: the administrator has switched distgpu off, in an emergency.
enum class SiteSwitch {
    on,
    refused,     // a step that asks does not start
    unprepared,  // it starts as if it had not asked
};

struct PlugstackArguments {
    SiteSwitch site_switch = SiteSwitch::on;
    bool logs_steps = false;          // log=steps: a line for each prepared step in slurmd's log
    Master master{};                  // master=addr|name|suffix:S
    PortRange ports = default_ports;  // ports=FIRST-LAST
    // gpus=, cpus= and hcas=: for those whom the user does not give. Nothing: near.
    std::optional<GpuPolicy> gpus{};
    std::optional<BindingChoice> cpus{};
    std::optional<BindingChoice> hcas{};
    std::optional<CheckChoice> check{};  // check=stop|warn|off; nothing: off
    std::optional<Watch> watch{};        // watch=MINUTES[:end]|on|off; nothing: off
    // order=slurm|switch, where the user gives none and the mode takes one.
    RankOrder order{};
    std::string topology{};  // topology=PATH with %n and %h; empty: default_topology_file
    std::string command{};   // command=PATH of the distgpu command; empty: as installed
    // One for each argument that was not understood, and was ignored: a
    // typing error in plugstack.conf must not stop a cluster.
    std::vector<Error> complaints{};

    bool operator==(const PlugstackArguments&) const = default;
};

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments);

// The line of slurmd's log for one of `complaints`.
std::string ignored_argument(const Error& complaint);

// What a user who wrote `spec` is told where `site_switch` is not on. `where`: "on this cluster",
// "on node07".
Error switched_off(SiteSwitch site_switch, std::string_view spec, std::string_view where);

// Puts the administrator's choices of gpus=, cpus=, hcas=, check= and watch= where the user made
// none. cpus=near, the default, does not outdo the user's --cpu-bind. Servers, which may have
// nothing to do, are not watched by default. Precondition: the request has a framework.
void take_defaults(Request& request, const PlugstackArguments& arguments);

// The one rule for the order of plugstack.conf's lines: distgpu's stands after that of pyxis.
inline constexpr std::string_view pyxis_plugin = "spank_pyxis.so";
inline constexpr std::string_view before_pyxis =
    "its line stands before that of pyxis, whose containers then replace what distgpu sets";

}  // namespace distgpu

// The plugin's line in plugstack.conf: its arguments, which are the administrator's defaults, and
// its position after the line of pyxis.
#pragma once

#include "base/result.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"

#include <span>
#include <vector>

namespace distgpu {

// With off and off=run the administrator switches distgpu off in an emergency.
enum class SiteSwitch {
    on,
    refused,     // a step with --distgpu does not start
    unprepared,  // it starts as if it had no --distgpu
};

struct PlugstackArguments {
    SiteSwitch site_switch = SiteSwitch::on;
    bool logs_steps = false;          // log=steps: a line for each prepared step in slurmd's log
    MasterAddress master{};           // master=addr|name|suffix:S
    PortRange ports = default_ports;  // ports=FIRST-LAST
    // gpus=, cpus= and hcas=: used where the user gives none. nullopt means near.
    std::optional<GpuPolicy> gpus{};
    std::optional<BindingChoice> cpus{};
    std::optional<BindingChoice> hcas{};
    std::optional<CheckChoice> check{};    // check=stop|warn|off; nullopt means off
    std::optional<FailChoice> fail{};      // fail=end|wait; nullopt means end
    std::optional<SignalChoice> signal{};  // signal=, as in the SPEC; nullopt means off
    std::optional<Watch> watch{};          // watch=MINUTES[:end]|on|off; nullopt means off
    std::optional<ReportChoice> report{};  // report=PATH with %u, %j and %s; nullopt means off
    // order=slurm|switch; used if the user gives none and the mode supports it.
    RankOrder order{};
    std::string topology{};       // topology=PATH with %n and %h; empty: default_topology_file
    bool saves_topology = true;   // save=off
    bool asks_slurmctld = false;  // layout=ask
    std::string command{};        // command=PATH of the distgpu command; empty: the installed one
    // Why arguments were ignored: a typo in plugstack.conf must not stop a cluster.
    std::vector<Error> ignored_arguments{};

    bool operator==(const PlugstackArguments&) const = default;
};

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments);

// The line in slurmd's log for one of `ignored_arguments`.
std::string ignored_argument_message(const Error& error);

// The error or warning for a user who wrote `spec`, if `site_switch` is not on. `where`: "on this
// cluster", "on node07".
Error switched_off_error(SiteSwitch site_switch, std::string_view spec, std::string_view where);

// Applies the administrator's gpus=, cpus=, hcas=, check=, signal=, watch= and report= where the
// user gave none. cpus=near, the default, does not override the user's --cpu-bind. Servers, which
// may be idle, are not watched by default. Precondition: the request has a framework.
void apply_defaults(Request& request, const PlugstackArguments& arguments);

// The one rule for the order of lines in plugstack.conf: distgpu's comes after that of pyxis.
inline constexpr std::string_view pyxis_plugin = "spank_pyxis.so";
inline constexpr std::string_view before_pyxis =
    "its line comes before that of pyxis, whose containers then replace what distgpu sets";

}  // namespace distgpu

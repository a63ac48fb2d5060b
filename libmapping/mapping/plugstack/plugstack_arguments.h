// The administrator's defaults: the arguments of the plugin's line in plugstack.conf.
#pragma once

#include "base/result.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/spec/request.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distgpu {

struct PlugstackArguments {
    Master master;                    // master=addr|name|suffix:S
    PortRange ports = default_ports;  // ports=FIRST-LAST
    // gpus=, cpus= and hcas=: for those whom the user does not give. Nothing, or null: near.
    const GpuPolicy* gpus = nullptr;
    std::optional<BindingChoice> cpus;
    std::optional<BindingChoice> hcas;
    std::optional<CheckChoice> check;  // check=stop|warn|off; nothing: off
    std::optional<Watch> watch;        // watch=MINUTES[:end]|on|off; nothing: off
    // order=slurm|switch, where the user gives none and the mode takes one.
    RankOrder order;
    std::string topology;  // topology=PATH with %n and %h; empty: default_topology_file
    std::string command;   // command=PATH of the distgpu command; empty: as installed
    // One for each argument that was not understood, and was ignored: a
    // typing error in plugstack.conf must not stop a cluster.
    std::vector<Error> complaints;

    bool operator==(const PlugstackArguments&) const = default;
};

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments);

// The line of slurmd's log for one of `complaints`.
std::string ignored_argument(const Error& complaint);

// Puts the administrator's choices of gpus=, cpus=, hcas=, check= and watch= where the user made
// none. Near is what holds without any: said in plugstack.conf it does not outdo the user's
// --cpu-bind. Servers, which may have nothing to do, are not watched by default.
// Precondition: the request has a framework.
void take_defaults(Request& request, const PlugstackArguments& arguments);

}  // namespace distgpu

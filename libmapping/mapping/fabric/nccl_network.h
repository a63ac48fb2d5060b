// Which network NCCL takes between nodes, and why: the first of its plugins that works, else
// InfiniBand or RoCE, else sockets; NCCL_NET and NCCL_NET_PLUGIN choose. RCCL does the same with
// plugins of its own names. Source: ncclNetInit() (plugin/net.cc) and openPluginLib()
// (plugin/plugin_open.cc) of NCCL 2.28.9, ncclNetPluginInit() (net.cc) of RCCL 2.22.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/topology/topology.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// What loading a plugin for networks came to, or one that tunes NCCL.
struct NetPlugin {
    std::string file{};       // as NCCL asks the loader for it: "libnccl-net.so"
    std::string name{};       // of its network: "AWS Libfabric"; empty if it is not usable
    std::string problem{};    // why it is not usable; empty if it is
    bool is_missing = false;  // there is no such file
    bool is_unknown = false;  // this process cannot tell: the task is in a container
    bool operator==(const NetPlugin&) const = default;
};

// The plugins that NCCL tries in turn, each by the files it may be in. Empty with
// NCCL_NET_PLUGIN=none.
std::vector<std::vector<std::string>> net_plugin_files(const Environment& environment, bool rccl);

// The files that NCCL_TUNER_PLUGIN names, in NCCL's order; empty if it names none. NCCL says
// nothing when it uses none of them (tuner.cc).
std::vector<std::string> tuner_plugin_files(const Environment& environment, bool rccl);

struct NetworkFacts {
    std::vector<NetPlugin> plugins;       // by net_plugin_files()
    std::string verbs_ports;              // that can be used, "mlx5_0:1 400 Gb/s +3"; or empty
    std::vector<std::string> interfaces;  // nccl_interfaces()
    const NodeTopology* topology = nullptr;
};

struct NcclNetwork {
    enum class Kind {
        none,       // NCCL ends
        verbs,      // InfiniBand or RoCE, by NCCL itself
        libfabric,  // by a plugin: EFA or Slingshot
        other,      // by another plugin
        sockets,
    };
    Kind kind = Kind::none;
    std::string text;            // "sockets over eth0 (no InfiniBand or RoCE)"; empty for none
    std::optional<Error> fault;  // of none; and if a faster network is there, why it is not taken
};

NcclNetwork nccl_network(const Environment& environment, const NetworkFacts& facts);

}  // namespace distgpu

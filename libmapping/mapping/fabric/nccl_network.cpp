#include "mapping/fabric/nccl_network.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <strings.h>

namespace distgpu {
namespace {

using Kind = NcclNetwork::Kind;

bool is_same_name(const std::string& one, const std::string& other) {
    return strcasecmp(one.c_str(), other.c_str()) == 0;
}

bool has_kind(const NodeTopology* topology, HcaKind kind) {
    return topology != nullptr && std::ranges::count(topology->hcas, kind, &Hca::kind) > 0;
}

// The network that NCCL itself cannot use; empty if the node has none.
std::string plugin_fabric(const NodeTopology* topology) {
    if (has_kind(topology, HcaKind::efa)) return "EFA";
    return has_kind(topology, HcaKind::slingshot) ? "Slingshot" : "";
}

std::string remedy_for(const std::string& fabric, const NetPlugin& plugin) {
    if (fabric.empty()) return "correct NCCL_NET_PLUGIN, or unset it";
    return formatted(
        "load the module with {}, whose folder belongs in LD_LIBRARY_PATH, or "
        "install it in the image",
        plugin.file.starts_with("librccl") ? "aws-ofi-rccl" : "aws-ofi-nccl");
}

// Of a plugin that should work; nullopt if there is nothing to say.
std::optional<Error> plugin_fault(const Environment& environment, const NetworkFacts& facts,
                                  const std::string& instead) {
    const std::string fabric = plugin_fabric(facts.topology);
    const bool is_asked_for = environment.get("NCCL_NET_PLUGIN").has_value();
    for (const NetPlugin& plugin : facts.plugins) {
        if (plugin.problem.empty() || plugin.is_unknown) continue;
        if (plugin.is_missing && !is_asked_for && fabric.empty()) continue;
        return Error{plugin.file,
                     formatted("{}, so NCCL uses {} without a word{}", plugin.problem, instead,
                               fabric.empty() ? "" : " instead of " + fabric),
                     remedy_for(fabric, plugin)};
    }
    if (fabric.empty() || !facts.plugins.empty()) return std::nullopt;
    return Error{"NCCL_NET_PLUGIN=none", formatted("NCCL uses {} instead of {}", instead, fabric),
                 "unset it"};
}

// `kind`: "net" or "tuner".
std::string plugin_prefix(bool rccl, const char* kind) {
    return formatted("{}-{}", rccl ? "librccl" : "libnccl", kind);
}

// Those in which NCCL looks for a plugin that a variable names: "ofi".
std::vector<std::string> plugin_files(std::string_view name, const std::string& prefix) {
    std::vector<std::string> files{std::string(name)};
    const bool is_file = name.find('/') != std::string_view::npos ||
                         (name.starts_with("lib") && name.ends_with(".so"));
    if (!is_file) files.push_back(formatted("{}-{}.so", prefix, name));
    return files;
}

}  // namespace

std::vector<std::vector<std::string>> net_plugin_files(const Environment& environment, bool rccl) {
    const std::string prefix = plugin_prefix(rccl, "net");
    const auto given = environment.get("NCCL_NET_PLUGIN");
    if (!given) return {{prefix + ".so"}};
    if (is_same_name(*given, "none")) return {};
    std::vector<std::vector<std::string>> plugins;
    for (const std::string_view name : words_in(*given, ",")) {
        plugins.push_back(plugin_files(name, prefix));
    }
    return plugins;
}

std::vector<std::string> tuner_plugin_files(const Environment& environment, bool rccl) {
    const std::string name = environment.text("NCCL_TUNER_PLUGIN");
    if (name.empty() || is_same_name(name, "none")) return {};
    return plugin_files(name, plugin_prefix(rccl, "tuner"));
}

NcclNetwork nccl_network(const Environment& environment, const NetworkFacts& facts) {
    const std::string wanted = environment.text("NCCL_NET");
    const auto is_wanted = [&](const std::string& name) {
        return wanted.empty() || is_same_name(wanted, name);
    };
    const std::string fabric = plugin_fabric(facts.topology);
    for (const NetPlugin& plugin : facts.plugins) {
        if (plugin.is_unknown && !fabric.empty()) {
            return {Kind::libfabric,
                    formatted("{} if a plugin for it loads in the task, else sockets", fabric),
                    {}};
        }
        if (plugin.name.empty() || !is_wanted(plugin.name)) continue;
        const std::string by = formatted("by {} ({})", plugin.file, plugin.name);
        if (!fabric.empty()) return {Kind::libfabric, formatted("{}, {}", fabric, by), {}};
        return {Kind::other, "a network " + by, {}};
    }
    const bool has_verbs = !facts.verbs_ports.empty() && environment.get("NCCL_IB_DISABLE") != "1";
    if (has_verbs && is_wanted("IB")) {
        return {Kind::verbs, facts.verbs_ports,
                plugin_fault(environment, facts, "InfiniBand or RoCE")};
    }
    if (!is_wanted("Socket")) {
        const std::string problem = is_same_name(wanted, "IB")
                                        ? "no InfiniBand or RoCE port can be used, so NCCL ends"
                                        : "no plugin of this name can be used, so NCCL ends";
        return {Kind::none, "", Error{"NCCL_NET=" + excerpt(wanted), problem, "unset it"}};
    }
    const std::string sockets =
        facts.interfaces.empty() ? "sockets" : "sockets over " + join(facts.interfaces, ", ");
    std::string reason = has_kind(facts.topology, HcaKind::verbs)
                             ? "no InfiniBand or RoCE port can be used"
                             : "no InfiniBand or RoCE";
    if (!facts.verbs_ports.empty()) reason = "NCCL_IB_DISABLE=1";
    if (!wanted.empty()) reason = "NCCL_NET=" + wanted;
    if (wanted.empty() && !fabric.empty()) reason = "no plugin for " + fabric;
    return {Kind::sockets, formatted("{} ({})", sockets, reason),
            wanted.empty() ? plugin_fault(environment, facts, sockets) : std::nullopt};
}

}  // namespace distgpu

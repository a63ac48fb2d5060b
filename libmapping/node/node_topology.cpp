#include "node/node_topology.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/io/run_command.h"
#include "mapping/topology/topology_json.h"
#include "node/gpu_devices.h"
#include "node/silent_discovery.h"

#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

// Asks the source's command for JSON, of the XML or of this machine.
Result<NodeTopology> ask_command(const TopologySource& source, const MachineRoots& roots,
                                 bool xml) {
    if (is_silent(source, geteuid(), roots)) {
        return Error{
            source.command,
            "did not answer an earlier step of yours, and is not asked again for 10 minutes", ""};
    }
    std::vector<std::string> arguments{source.command, "topo", "--format", "json"};
    if (xml) arguments.insert(arguments.end(), {"--topology", source.file});
    const auto text = run_command(arguments, discovery_time_limit);
    if (!text) {
        // The command's own messages begin as ours do.
        constexpr std::string_view prefix = "distgpu: ";
        Error error = text.error();
        if (error.problem.compare(0, prefix.size(), prefix) == 0) {
            error.problem.erase(0, prefix.size());
        }
        return error;
    }
    return parse_topology(source.command, *text).transform([](SavedTopology saved) {
        return std::move(saved.topology);
    });
}

// Nothing: the saved topology is this machine's as it is now.
std::optional<std::string> mismatch(const MachineIdentity& saved, const MachineRoots& roots) {
    const auto now = machine_identity(roots);
    if (!now) return formatted("{}: {}", now.error().object, now.error().problem);
    if (saved.boot_id != now->boot_id) return "saved before the last boot, or on another machine";
    if (saved.pci != now->pci) return "PCI devices have changed since it was saved";
    return std::nullopt;
}

// A saved topology; the ports' states are those of this moment.
Result<NodeTopology> from_saved(const std::string& path, const std::string& text,
                                const MachineRoots& roots) {
    auto saved = parse_topology(path, text);
    if (!saved) return saved.error();
    if (saved->machine) {
        if (const auto why = mismatch(*saved->machine, roots)) return Error{path, *why, ""};
        read_ports(saved->topology, roots);
    }
    return std::move(saved->topology);
}

// The first character that is not white space: '{' of JSON, '<' of XML; NUL: there is none.
char first_of(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? '\0' : text[first];
}

Result<FoundTopology> find(const TopologySource& source, const MachineRoots& roots) {
    const auto discovered = [&](std::string ignored) {
        return ask_command(source, roots, false).transform([&](NodeTopology topology) {
            return FoundTopology{std::move(topology), std::move(ignored)};
        });
    };
    const auto text = read_regular_file(source.file);
    if (!text) {
        return discovered(source.given ? formatted("{}: {}", source.file, text.error().problem)
                                       : std::string{});
    }
    if (first_of(*text) == '{') {
        auto saved = from_saved(source.file, *text, roots);
        if (saved) return FoundTopology{*std::move(saved), {}};
        return discovered(formatted("{}: {}", saved.error().object, saved.error().problem));
    }
    if (first_of(*text) != '<') {
        return discovered(
            formatted("{}: neither JSON of distgpu topo nor XML of lstopo", source.file));
    }
    return ask_command(source, roots, true).transform([](NodeTopology topology) {
        return FoundTopology{std::move(topology), {}};
    });
}

}  // namespace

std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (next == 'n') path += node;
        if (next == 'h') path += host;
        if (next == '%') path += '%';
        if (next == 'n' || next == 'h' || next == '%') {
            ++i;
        } else {
            path += pattern[i];
        }
    }
    return path;
}

Result<FoundTopology> find_topology(const TopologySource& source, const MachineRoots& roots) {
    return find(source, roots).transform([&](FoundTopology found) {
        ask_drivers(found.topology, roots);
        return found;
    });
}

}  // namespace distgpu

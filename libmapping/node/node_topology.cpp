#include "node/node_topology.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "mapping/topology/topology_json.h"
#include "node/gpus.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Runs `distgpu topo`, which writes JSON of the XML file or of this machine.
Result<NodeTopology> run_topo(const TopologySource& source, const MachineRoots& roots, bool xml) {
    if (is_discovery_suspended(source, geteuid(), roots)) {
        return Error{source.command,
                     "timed out in an earlier step of yours, so it is not run again for 10 minutes",
                     ""};
    }
    std::vector<std::string> arguments{source.command, "topo", "--format", "json"};
    if (xml) arguments.insert(arguments.end(), {"--topology", source.file});
    const auto text = run_command(arguments, discovery_time_limit);
    if (!text) {
        // The command's own messages have this prefix too.
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

// Why the saved topology does not fit; nullopt if it is of this machine as it is now. The states of
// HCAs that are gone are read anew anyway.
std::optional<std::string> mismatch(const MachineIdentity& saved, const MachineRoots& roots) {
    const auto now = machine_identity(roots);
    if (!now) return now.error().cause();
    if (saved.boot_id != now->boot_id) return "saved before the last boot, or on another machine";
    if (saved.pci != now->pci) return "PCI devices have changed since it was saved";
    if (!std::ranges::includes(saved.drivers, now->drivers)) {
        return "drivers were loaded after it was saved";
    }
    return std::nullopt;
}

// A saved topology with the current states of its HCA ports.
Result<NodeTopology> read_saved(const std::string& path, const std::string& text,
                                const MachineRoots& roots) {
    auto saved = parse_topology(path, text);
    if (!saved) return saved.error();
    if (saved->machine) {
        if (const auto why = mismatch(*saved->machine, roots)) return Error{path, *why, ""};
        update_hca_ports(saved->topology, roots);
    }
    return std::move(saved->topology);
}

using Time = std::chrono::nanoseconds;  // since the epoch

constexpr std::chrono::minutes suspension{10};

std::string run_folder(const MachineRoots& roots) {
    return roots.run + "/distgpu";
}

std::string timeout_record_path(uid_t user, const MachineRoots& roots) {
    return formatted("{}/silent-discovery.{}", run_folder(roots), user);
}

Time time_in(const timespec& time) {
    return std::chrono::seconds{time.tv_sec} + Time{time.tv_nsec};
}

}  // namespace

std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (next == 'n') {
            path += node;
        } else if (next == 'h') {
            path += host;
        } else {
            path += pattern[i];
        }
        if (next == 'n' || next == 'h' || next == '%') ++i;
    }
    return path;
}

Result<FoundTopology> find_topology(const TopologySource& source, const MachineRoots& roots) {
    const auto text = read_regular_file(
        source.open_file < 0 ? source.file : formatted("/proc/self/fd/{}", source.open_file));
    const std::size_t first = text ? text->find_first_not_of(" \t\r\n") : std::string::npos;
    const char begin = first == std::string::npos ? '\0' : (*text)[first];
    Result<NodeTopology> found =
        Error{source.file, text ? "neither JSON of distgpu topo nor XML of lstopo" : "", ""};
    if (begin == '{') found = read_saved(source.file, *text, roots);
    const bool is_saved = found.has_value();
    if (begin == '<') found = run_topo(source, roots, true);
    std::string ignored_file;
    if (!found && begin != '<') {
        const std::string& problem = text ? found.error().problem : text.error().problem;
        if (text || source.is_configured) ignored_file = formatted("{}: {}", source.file, problem);
        found = run_topo(source, roots, false);
    }
    return std::move(found).transform([&](NodeTopology topology) {
        read_driver_ids(topology, roots);
        return FoundTopology{std::move(topology), std::move(ignored_file), is_saved};
    });
}

bool needs_save(const std::string& file, const MachineRoots& roots) {
    const auto text = read_regular_file(file);
    const auto saved = text ? parse_topology(file, *text) : Result<SavedTopology>(text.error());
    const auto now = machine_identity(roots);
    if (!saved || !saved->machine || !now) return true;
    return saved->machine->boot_id != now->boot_id ||
           !std::ranges::includes(saved->machine->pci, now->pci) ||
           !std::ranges::includes(saved->machine->drivers, now->drivers);
}

bool is_discovery_suspended(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    const std::string record = timeout_record_path(user, roots);
    struct stat status {};
    if (stat(record.c_str(), &status) != 0) return false;
    const Time recorded = time_in(status.st_mtim);
    const auto age = std::chrono::system_clock::now().time_since_epoch() - recorded;
    // Negative if the clock was set back, which would prolong the suspension.
    if (age < Time{0} || age >= suspension) return false;
    for (const std::string& file : {source.command, source.file}) {
        if (stat(file.c_str(), &status) == 0 && time_in(status.st_ctim) > recorded) return false;
    }
    const auto text = read_regular_file(record);
    return text && *text == source.command + '\n' + source.file + '\n';
}

void record_discovery_timeout(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    constexpr mode_t searchable_by_all = 0755;
    const std::string parent = run_folder(roots);
    // chmod(), so that the mode does not depend on the umask.
    if (mkdir(parent.c_str(), 0) == 0) chmod(parent.c_str(), searchable_by_all);
    static_cast<void>(replace_file(timeout_record_path(user, roots),
                                   source.command + '\n' + source.file + '\n', Readers::everyone));
}

}  // namespace distgpu

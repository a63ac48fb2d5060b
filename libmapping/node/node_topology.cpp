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
    if (!now) return now.error().cause();
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

using Time = std::chrono::nanoseconds;  // since the epoch

constexpr std::chrono::minutes remembered_for{10};

std::string folder(const MachineRoots& roots) {
    return roots.run + "/distgpu";
}

std::string note_of(uid_t user, const MachineRoots& roots) {
    return formatted("{}/silent-discovery.{}", folder(roots), user);
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
    const auto text = read_regular_file(source.file);
    const std::size_t first = text ? text->find_first_not_of(" \t\r\n") : std::string::npos;
    const char begin = first == std::string::npos ? '\0' : (*text)[first];
    Result<NodeTopology> found =
        Error{source.file, text ? "neither JSON of distgpu topo nor XML of lstopo" : "", ""};
    if (begin == '{') found = from_saved(source.file, *text, roots);
    if (begin == '<') found = ask_command(source, roots, true);
    std::string ignored;
    if (!found && begin != '<') {
        const std::string& problem = text ? found.error().problem : text.error().problem;
        if (text || source.given) ignored = formatted("{}: {}", source.file, problem);
        found = ask_command(source, roots, false);
    }
    return std::move(found).transform([&](NodeTopology topology) {
        ask_drivers(topology, roots);
        return FoundTopology{std::move(topology), std::move(ignored)};
    });
}

bool is_silent(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    const std::string note = note_of(user, roots);
    struct stat status {};
    if (stat(note.c_str(), &status) != 0) return false;
    const Time noted = time_in(status.st_mtim);
    const auto age = std::chrono::system_clock::now().time_since_epoch() - noted;
    // A clock that was put back would make it last.
    if (age < Time{0} || age >= remembered_for) return false;
    for (const std::string& file : {source.command, source.file}) {
        if (stat(file.c_str(), &status) == 0 && time_in(status.st_ctim) > noted) return false;
    }
    const auto text = read_regular_file(note);
    return text && *text == source.command + '\n' + source.file + '\n';
}

void note_silent(const TopologySource& source, uid_t user, const MachineRoots& roots) {
    constexpr mode_t entered_by_all = 0755;
    const std::string parent = folder(roots);
    // Its mode is not to depend on the umask.
    if (mkdir(parent.c_str(), 0) == 0) chmod(parent.c_str(), entered_by_all);
    static_cast<void>(replace_file(note_of(user, roots), source.command + '\n' + source.file + '\n',
                                   Readers::everyone));
}

}  // namespace distgpu

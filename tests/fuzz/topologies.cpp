// Topologies of a node, to the plan of a step on it.
#include "base/format.h"
#include "mapping/topology/topology_json.h"
#include "node/discovery/discover.h"
#include "node/discovery/made_up_xml.h"
#include "targets.h"

#include <algorithm>
#include <array>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace distgpu {

// distgpu.topo/1: an administrator's file, or what `distgpu topo` printed, to the plan of a step.
void try_topology_json(std::string_view text) {
    const auto saved = parse_topology("FILE", text);
    if (!saved) return require_line(saved.error().message());
    const auto again = parse_topology("FILE", to_json(saved->topology, saved->machine));
    require(again && *again == *saved, "what is written is read back");
    require_plans_on(saved->topology);
}

namespace {

using Words = std::array<std::string, 4>;

// What lstopo would write, and as it writes it.
std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&' || c == '<' || c == '>' || c == '"') {
            safe += formatted("&#{};", static_cast<int>(c));
        } else if ((c >= ' ' && c <= '~') || c == '\t' || c == '\r') {
            safe += c;
        }
    }
    return safe;
}

// The last word is the rest of the line.
Words words_of(std::string_view line) {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t end = i + 1 < words.size() ? line.find(' ') : std::string_view::npos;
        words[i] = escaped(line.substr(0, end));
        line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
    return words;
}

// Builds the XML from the inside out: infos go into the object that was begun last.
class Machine {
  public:
    void add(const Words& words) {
        if (words[0] == "info") {
            (has_os_    ? os_infos_
             : has_pci_ ? pci_inner_
                        : machine_infos_) += made_up::info(words[1], words[2] + words[3]);
        } else if (words[0] == "os") {
            close_os();
            os_ = words;
            has_os_ = true;
        } else if (words[0] == "pci") {
            close_pci();
            pci_ = words;
            has_pci_ = true;
        } else if (words[0] == "next") {
            close_pci();
            package_ = 1;
        }
    }

    std::string xml() {
        close_pci();
        return made_up::machine(machine_infos_ + made_up::package(0, io_[0]) +
                                made_up::package(1, io_[1]) + machine_devices_);
    }

  private:
    void close_os() {
        if (!has_os_) return;
        // hwloc 2 has six types.
        const int type = os_[1].empty() ? 0 : (os_[1].front() & 7) % 6;
        (has_pci_ ? pci_inner_ : machine_devices_) +=
            made_up::os_device(os_[2], type, os_infos_, os_[3]);
        os_infos_.clear();
        has_os_ = false;
    }

    void close_pci() {
        close_os();
        if (!has_pci_) return;
        io_[package_] += made_up::pci(pci_[1], pci_[2], pci_[3], pci_inner_);
        pci_inner_.clear();
        has_pci_ = false;
    }

    std::array<std::string, 2> io_;
    std::size_t package_ = 0;
    std::string machine_infos_, machine_devices_;
    Words pci_, os_;
    std::string pci_inner_, os_infos_;
    bool has_pci_ = false;
    bool has_os_ = false;
};

std::string xml_of(std::string_view text) {
    Machine machine;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        machine.add(words_of(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return machine.xml();
}

}  // namespace

// hwloc's XML of a machine, to the plan of a step on it. hwloc dies of some XML that no lstopo
// wrote (discover.h), so the input says what devices there are, and the XML is written as lstopo
// does. A line each:
//   pci ADDRESS CLASS VENDOR:DEVICE      a PCI device
//   os TYPE NAME SUBTYPE                 an OS device of it, or of the machine
//   info NAME VALUE                      of the OS device, of the PCI device, or of the machine
//   next                                 the other package
void try_topology_xml(std::string_view text) {
    const std::string xml = xml_of(text);
    const int file = memfd_create("topology", 0);
    require(file >= 0 && write(file, xml.data(), xml.size()) == static_cast<ssize_t>(xml.size()),
            "there is a file");
    const auto topology = load_topology(formatted("/proc/self/fd/{}", file));
    close(file);
    if (!topology) return require_line(topology.error().message());
    // The plugin gets it as the JSON that `distgpu topo` prints, which is judged again.
    const auto saved = parse_topology("FILE", to_json(*topology, std::nullopt));
    if (!saved) return require_line(saved.error().message());
    require(saved->topology == *topology, "what is written is read back");
    require_plans_on(*topology);
}

}  // namespace distgpu

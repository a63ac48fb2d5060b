// Draws a node: NUMA nodes next to each other in their socket, and sockets in rows of limited
// width. Collects the contents of each NUMA node first, then computes positions.
#include "base/format.h"
#include "picture/picture.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace distgpu {
namespace {

using svg::Box;

constexpr double margin = 24;
constexpr double padding = 14;
constexpr double gap = 6;
constexpr double cell = 22;
constexpr std::size_t cells_in_row = 16;
constexpr double inner_width = cells_in_row * cell + (cells_in_row - 1) * 3;
constexpr double device_width = (inner_width - gap) / 2;
constexpr double device_height = 42;
constexpr double numa_width = inner_width + 2 * padding;
constexpr double line_height = 20;
constexpr std::size_t numas_in_row = 2;
constexpr std::size_t colours = 8;

// A GPU or a port.
struct Device {
    std::string name;
    std::string state;  // the ranks that have it, or why no rank has it
    std::string title;
    std::string classes;
};

struct Numa {
    std::string name;
    std::vector<const Core*> cores;
    std::vector<Device> devices;
};

struct Package {
    std::string name;
    std::vector<Numa> numas;
};

using Owners = std::vector<std::size_t>;  // indices into NodePicture::owners

// The marketing name in brackets: "H200 SXM 141GB" of "GH100 [H200 SXM 141GB]".
std::string_view short_model(std::string_view model) {
    const std::size_t open = model.find('[');
    const std::size_t close = model.find(']', std::min(open, model.size()));
    return close == std::string_view::npos ? model : model.substr(open + 1, close - open - 1);
}

// "cN" for a single owner, "many" for several, "idle" for none.
std::string colour_of(const Owners& owners) {
    if (owners.empty()) return "idle";
    return owners.size() > 1 ? "many" : formatted("c{}", owners.front() % colours);
}

double number(std::size_t count) {
    return static_cast<double>(count);
}

double rows_of(std::size_t count, std::size_t in_row) {
    return number((count + in_row - 1) / in_row);
}

// The length of rows of at most `max` items, so that no row is much shorter than the others.
std::size_t even_row_length(std::size_t count, std::size_t max) {
    const std::size_t rows = (count + max - 1) / max;
    return rows == 0 ? max : (count + rows - 1) / rows;
}

double devices_height(std::size_t count) {
    return count == 0 ? 0 : gap + rows_of(count, 2) * (device_height + gap);
}

// The height of the row of NUMA nodes that begins with number `first`.
double row_height(const Package& package, std::size_t first) {
    double height = 0;
    for (std::size_t i = first; i < std::min(first + numas_in_row, package.numas.size()); ++i) {
        const Numa& numa = package.numas[i];
        height = std::max(height, padding + line_height +
                                      rows_of(numa.cores.size(), cells_in_row) * (cell + 3) +
                                      devices_height(numa.devices.size()) + padding / 2);
    }
    return height;
}

Box package_box(const Package& package, double x, double y) {
    const double in_row = number(std::min(package.numas.size(), numas_in_row));
    double height = padding + line_height;
    for (std::size_t i = 0; i < package.numas.size(); i += numas_in_row) {
        height += row_height(package, i) + padding;
    }
    return {x, y, in_row * numa_width + (in_row + 1) * padding, height};
}

class Drawing {
  public:
    explicit Drawing(const NodePicture& picture)
        : picture_(picture),
          topology_(*picture.topology),
          eligibility_(port_eligibility(topology_)) {}

    std::string draw() && {
        double y = draw_packages(margin + 2 * line_height + padding);
        // Devices that belong to no NUMA node with cores.
        std::set<std::uint32_t> drawn_numas;
        for (const Core& core : topology_.cores) drawn_numas.insert(topology_.numas[core.numa].id);
        const std::vector<Device> others =
            devices([&](const auto& numa) { return !numa || !drawn_numas.contains(*numa); });
        if (!others.empty()) {
            body_ += svg::text(margin, y + 14, "faint", "Not close to a single NUMA node");
            y += line_height;
            draw_devices(others, margin, y);
            y += devices_height(others.size());
        }
        if (!picture_.owners.empty()) y = draw_legend(y);
        body_ += svg::text(margin, margin + 14, "head",
                           svg::fitted(picture_.title, width_ - margin, 17));
        body_ += svg::text(margin, margin + 14 + line_height, "faint",
                           svg::fitted(picture_.subtitle, width_ - margin, 12));
        return svg::document(width_ + margin, y + margin, picture_.title + ": " + picture_.subtitle,
                             body_);
    }

  private:
    // The owners whose binding fulfils the predicate.
    template <class Predicate>
    Owners owners_with(Predicate has) const {
        Owners found;
        for (std::size_t i = 0; i < picture_.owners.size(); ++i) {
            if (has(picture_.owners[i].binding)) found.push_back(i);
        }
        return found;
    }

    // "ranks 0, 1".
    std::string owner_names(const Owners& owners) const {
        if (owners.empty()) return "unused";
        if (owners.size() == picture_.owners.size() && owners.size() > 1) return "all ranks";
        if (owners.size() == 1) return picture_.owners[owners.front()].label;
        std::vector<std::string> marks;
        for (const std::size_t owner : owners) marks.push_back(picture_.owners[owner].mark);
        return "ranks " + join(marks, ", ");
    }

    std::vector<Package> packages() const {
        std::map<std::uint32_t, std::map<std::uint32_t, Numa>> found;
        for (const Core& core : topology_.cores) {
            found[core.package][core.numa].cores.push_back(&core);
        }
        std::vector<Package> packages;
        for (auto& [socket, numas] : found) {
            Package& package = packages.emplace_back();
            package.name = formatted("Socket {}", socket);
            for (auto& [index, numa] : numas) {
                const std::uint32_t id = topology_.numas[index].id;
                numa.name = formatted("NUMA node {}", id);
                numa.devices = devices([id](const auto& of) { return of == id; });
                package.numas.push_back(std::move(numa));
            }
        }
        return packages;
    }

    // The devices whose NUMA node, nullopt if unknown, fulfils the predicate.
    template <class Predicate>
    std::vector<Device> devices(Predicate belongs) const {
        std::vector<Device> found;
        for (std::uint32_t i = 0; i < topology_.gpus.size(); ++i) {
            if (belongs(topology_.gpus[i].numa)) found.push_back(gpu(i));
        }
        if (found.size() % 2 == 1 && !topology_.hcas.empty()) found.emplace_back();
        for (std::uint32_t i = 0; i < topology_.hcas.size(); ++i) {
            if (!belongs(topology_.hcas[i].numa)) continue;
            for (std::uint32_t j = 0; j < topology_.hcas[i].ports.size(); ++j) {
                found.push_back(port({i, j}));
            }
        }
        return found;
    }

    Device gpu(std::uint32_t index) const {
        const auto has = [&](const std::vector<std::uint32_t>& gpus) {
            return std::find(gpus.begin(), gpus.end(), index) != gpus.end();
        };
        const Gpu& gpu = topology_.gpus[index];
        const Owners gpu_owners =
            owners_with([&](const TaskBinding& binding) { return has(binding.gpus); });
        Device device{formatted("GPU {}  {}", index, short_model(gpu.model)),
                      owner_names(gpu_owners),
                      formatted("GPU {}: {} {} {}", index, gpu.pci, gpu.model, gpu.uuid),
                      colour_of(gpu_owners)};
        if (picture_.owners.empty()) {
            device.state = gpu.pci;
        } else if (gpu_owners.empty()) {
            device.state = has(picture_.step_gpus) ? "unused" : "not of this step";
            device.classes = "out";
        }
        return device;
    }

    Device port(PortRef ref) const {
        const Hca& hca = topology_.hcas[ref.hca];
        const HcaPort& port = hca.ports[ref.port];
        const PortEligibility& eligibility = eligibility_[ref.hca][ref.port];
        const Owners port_owners =
            owners_with([&](const TaskBinding& binding) { return binding.port == ref; });
        const std::string rate = port.gbps > 0 ? formatted("  {:g} Gb/s", port.gbps) : "";
        Device device{formatted("{}:{}{}", hca.name, port.number, rate), owner_names(port_owners),
                      formatted("{}: {}", hca.name, hca.pci), colour_of(port_owners)};
        if (!eligibility.eligible) {
            device.state = "not used: " + eligibility.reason;
            device.classes = "out";
        } else if (picture_.owners.empty()) {
            device.state = hca.pci;
        } else if (port_owners.empty()) {
            device.classes = "out";
        }
        return device;
    }

    double draw_packages(double y) {
        const std::vector<Package> packages = this->packages();
        double space = 1;
        for (const Package& package : packages) {
            space = std::max(space, package_box(package, 0, 0).width + padding);
        }
        constexpr double widest = 4 * numa_width + 7 * padding;  // of a row of sockets
        const std::size_t in_row = even_row_length(
            packages.size(), static_cast<std::size_t>(std::max(widest / space, 1.0)));
        double x = margin;
        double height = 0;
        for (std::size_t i = 0; i < packages.size(); ++i) {
            if (i > 0 && i % in_row == 0) {
                x = margin;
                y += height + padding;
                height = 0;
            }
            const Box box = package_box(packages[i], x, y);
            draw_package(packages[i], box);
            x += box.width + padding;
            height = std::max(height, box.height);
            width_ = std::max(width_, x - padding);
        }
        return y + height + padding;
    }

    void draw_package(const Package& package, const Box& box) {
        body_ += svg::rectangle(box, 10, "frame");
        body_ += svg::text(box.x + padding, box.y + padding + 8, "strong", package.name);
        double y = box.y + padding + line_height;
        for (std::size_t i = 0; i < package.numas.size(); ++i) {
            const std::size_t column = i % numas_in_row;
            const double height = row_height(package, i - column);
            const double x = box.x + padding + number(column) * (numa_width + padding);
            draw_numa(package.numas[i], {x, y, numa_width, height});
            if (column + 1 == numas_in_row) y += height + padding;
        }
    }

    void draw_numa(const Numa& numa, const Box& box) {
        body_ += svg::rectangle(box, 8, "panel");
        body_ += svg::text(box.x + padding, box.y + padding + 6, "faint",
                           formatted("{}, {}", numa.name, counted(numa.cores.size(), "core")));
        const double top = box.y + padding + line_height - 4;
        std::set<std::size_t> marked;
        for (std::size_t i = 0; i < numa.cores.size(); ++i) {
            draw_core(*numa.cores[i], box.x + padding + number(i % cells_in_row) * (cell + 3),
                      top + number(i / cells_in_row) * (cell + 3), marked);
        }
        draw_devices(numa.devices, box.x + padding,
                     top + rows_of(numa.cores.size(), cells_in_row) * (cell + 3) + gap);
    }

    // `marked`: the owners whose mark is already in this NUMA node.
    void draw_core(const Core& core, double x, double y, std::set<std::size_t>& marked) {
        const std::vector<std::uint32_t> cpus = core.cpus.cpus();
        const double width = cell / number(cpus.size());
        std::set<std::size_t> all;
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            const Owners cpu_owners = owners_with(
                [&](const TaskBinding& binding) { return binding.cpus.contains(cpus[i]); });
            all.insert(cpu_owners.begin(), cpu_owners.end());
            const std::string who = picture_.owners.empty() ? "" : ": " + owner_names(cpu_owners);
            const std::string colour = colour_of(cpu_owners);
            cpu_colours_.insert(colour);
            body_ += svg::rectangle({x + number(i) * width, y, width, cell}, 0, colour,
                                    formatted("CPU {}{}", cpus[i], who));
        }
        body_ += svg::rectangle({x, y, cell, cell}, 2, "frame");
        if (all.size() != 1 || !marked.insert(*all.begin()).second) return;
        body_ += svg::text(x + cell / 2, y + cell / 2 + 4, "small",
                           svg::fitted(picture_.owners[*all.begin()].mark, cell, 7));
    }

    void draw_devices(const std::vector<Device>& devices, double x, double y) {
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const Device& device = devices[i];
            if (device.name.empty()) continue;
            const Box box{x + number(i % 2) * (device_width + gap),
                          y + number(i / 2) * (device_height + gap), device_width, device_height};
            constexpr double space = device_width - 16;
            body_ += svg::rectangle(box, 6, device.classes, device.title);
            body_ +=
                svg::text(box.x + 8, box.y + 17, "strong", svg::fitted(device.name, space, 12));
            body_ += svg::text(box.x + 8, box.y + 33, "", svg::fitted(device.state, space, 12));
        }
    }

    // Explains the colours of as many ranks as fit into four rows (marks in the picture show the
    // others), and the other colours of CPUs.
    double draw_legend(double y) {
        constexpr double item = 116;
        const auto max_in_row = static_cast<std::size_t>(std::max((width_ - margin) / item, 1.0));
        std::vector<std::pair<std::string, std::string>> items;
        for (std::size_t i = 0; i < std::min(picture_.owners.size(), 4 * max_in_row); ++i) {
            items.emplace_back(formatted("c{}", i % colours), picture_.owners[i].label);
        }
        if (cpu_colours_.contains("many")) items.emplace_back("many", "several ranks");
        if (cpu_colours_.contains("idle")) items.emplace_back("idle", "unused");
        const std::size_t in_row = even_row_length(items.size(), max_in_row);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const double x = margin + number(i % in_row) * item;
            const double top = y + number(i / in_row) * line_height;
            body_ += svg::rectangle({x, top, 12, 12}, 2, items[i].first);
            body_ += svg::text(x + 18, top + 10, "", svg::fitted(items[i].second, item - 22, 12));
        }
        return y + rows_of(items.size(), in_row) * line_height;
    }

    const NodePicture& picture_;
    const NodeTopology& topology_;
    std::vector<std::vector<PortEligibility>> eligibility_;
    std::string body_;
    std::set<std::string> cpu_colours_;
    double width_ = 2 * numa_width;
};

}  // namespace

std::string draw(const NodePicture& picture) {
    return Drawing(picture).draw();
}

}  // namespace distgpu

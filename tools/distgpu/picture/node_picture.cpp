// First what stands in each NUMA node, then where: nodes beside each other in
// their socket, sockets beside each other as long as there is space.
#include "picture/node_picture.h"

#include "base/format.h"
#include "mapping/topology/port_verdicts.h"
#include "picture/svg.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
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
constexpr std::size_t colours = 8;

// A GPU or a port.
struct Device {
    std::string name;
    std::string state;  // who has it, or why nobody
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

// Of "GH100 [H200 SXM 141GB]" what people call it.
std::string_view short_model(std::string_view model) {
    const std::size_t open = model.find('[');
    const std::size_t close = model.find(']', std::min(open, model.size()));
    return close == std::string_view::npos ? model : model.substr(open + 1, close - open - 1);
}

class Contents {
  public:
    explicit Contents(const NodePicture& picture)
        : picture_(picture), topology_(*picture.topology), verdicts_(port_verdicts(topology_)) {}

    std::vector<Package> packages() const {
        std::map<std::uint32_t, std::map<std::uint32_t, Numa>> found;
        for (const Core& core : topology_.cores) {
            Numa& numa = found[core.package][core.numa];
            numa.cores.push_back(&core);
        }
        std::vector<Package> packages;
        for (auto& [number, numas] : found) {
            Package& package = packages.emplace_back();
            package.name = formatted("Socket {}", number);
            for (auto& [index, numa] : numas) {
                const std::uint32_t id = topology_.numas[index].id;
                numa.name = formatted("NUMA node {}", id);
                numa.devices = devices_of(id);
                package.numas.push_back(std::move(numa));
            }
        }
        return packages;
    }

    // Those that no NUMA node with cores has.
    std::vector<Device> far_devices() const {
        std::set<std::uint32_t> near;
        for (const Core& core : topology_.cores) near.insert(topology_.numas[core.numa].id);
        return devices([&](const std::optional<std::uint32_t>& numa) {
            return !numa || !near.contains(*numa);
        });
    }

    // "cN" of the only owner, "many" of several, "idle" of none.
    static std::string colour(const std::vector<std::size_t>& owners) {
        if (owners.empty()) return "idle";
        return owners.size() > 1 ? "many" : formatted("c{}", owners.front() % colours);
    }

    std::vector<std::size_t> owners_of_cpu(std::uint32_t cpu) const {
        return owners([&](const TaskBinding& binding) { return binding.cpus.contains(cpu); });
    }

    // "ranks 0, 1".
    std::string names(const std::vector<std::size_t>& owners) const {
        if (owners.empty()) return "unused";
        if (owners.size() == picture_.owners.size() && owners.size() > 1) return "all ranks";
        if (owners.size() == 1) return picture_.owners[owners.front()].label;
        std::vector<std::string> marks;
        marks.reserve(owners.size());
        for (const std::size_t owner : owners) marks.push_back(picture_.owners[owner].mark);
        return "ranks " + join(marks, ", ");
    }

  private:
    template <class Has>
    std::vector<std::size_t> owners(Has has) const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < picture_.owners.size(); ++i) {
            if (has(picture_.owners[i].binding)) found.push_back(i);
        }
        return found;
    }

    std::vector<Device> devices_of(std::uint32_t numa) const {
        return devices([&](const std::optional<std::uint32_t>& of) { return of == numa; });
    }

    template <class Belongs>
    std::vector<Device> devices(Belongs belongs) const {
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
        const Gpu& gpu = topology_.gpus[index];
        const auto having = owners([&](const TaskBinding& binding) {
            return std::find(binding.gpus.begin(), binding.gpus.end(), index) != binding.gpus.end();
        });
        Device device{formatted("GPU {}  {}", index, short_model(gpu.model)), names(having),
                      formatted("GPU {}: {} {} {}", index, gpu.pci, gpu.model, gpu.uuid),
                      colour(having)};
        const bool of_step = std::find(picture_.step_gpus.begin(), picture_.step_gpus.end(),
                                       index) != picture_.step_gpus.end();
        if (picture_.owners.empty()) {
            device.state = gpu.pci;
        } else if (having.empty()) {
            device.state = of_step ? "unused" : "not of this step";
            device.classes = "out";
        }
        return device;
    }

    Device port(PortRef ref) const {
        const Hca& hca = topology_.hcas[ref.hca];
        const HcaPort& port = hca.ports[ref.port];
        const PortVerdict& verdict = verdicts_[ref.hca][ref.port];
        const auto having = owners([&](const TaskBinding& binding) { return binding.port == ref; });
        const std::string rate = port.gbps > 0 ? formatted("  {:g} Gb/s", port.gbps) : "";
        Device device{formatted("{}:{}{}", hca.name, port.number, rate), names(having),
                      formatted("{}: {}", hca.name, hca.pci), colour(having)};
        if (!verdict.eligible) {
            device.state = "not used: " + verdict.why;
            device.classes = "out";
        } else if (picture_.owners.empty()) {
            device.state = hca.pci;
        } else if (having.empty()) {
            device.classes = "out";
        }
        return device;
    }

    const NodePicture& picture_;
    const NodeTopology& topology_;
    std::vector<std::vector<PortVerdict>> verdicts_;
};

// The row of the item at this place.
double row_of(std::size_t place, std::size_t in_row) {
    const std::size_t row = place / in_row;
    return static_cast<double>(row);
}

double rows_of(std::size_t count, std::size_t in_row) {
    return row_of(count + in_row - 1, in_row);
}

// How many stand in a row of at most `most`, so that no row is much shorter than the others.
std::size_t evenly(std::size_t count, std::size_t most) {
    const std::size_t rows = (count + most - 1) / most;
    return rows == 0 ? most : (count + rows - 1) / rows;
}

double devices_height(std::size_t count) {
    return count == 0 ? 0 : gap + rows_of(count, 2) * (device_height + gap);
}

double height_of(const Numa& numa) {
    return padding + line_height + rows_of(numa.cores.size(), cells_in_row) * (cell + 3) +
           devices_height(numa.devices.size()) + padding / 2;
}

class Drawing {
  public:
    explicit Drawing(const NodePicture& picture) : picture_(picture), contents_(picture) {}

    std::string draw() && {
        const std::vector<Package> packages = contents_.packages();
        const std::vector<Device> far = contents_.far_devices();
        double y = margin + 2 * line_height + padding;
        y = draw_packages(packages, y);
        if (!far.empty()) {
            body_ += svg::text(margin, y + 14, "faint", "Not near to one NUMA node");
            y += line_height;
            draw_devices(far, margin, y);
            y += devices_height(far.size());
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
    // Of a row of sockets.
    static constexpr double widest = 4 * numa_width + 6 * padding;

    // Two NUMA nodes beside each other.
    static constexpr std::size_t numas_in_row = 2;

    double draw_packages(const std::vector<Package>& packages, double y) {
        double space = 0;
        for (const Package& package : packages) {
            space = std::max(space, package_box(package, 0, 0).width + padding);
        }
        const std::size_t in_row = evenly(packages.size(), packages_in(space));
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

    static std::size_t packages_in(double space) {
        return static_cast<std::size_t>(std::max((widest + padding) / std::max(space, 1.0), 1.0));
    }

    static Box package_box(const Package& package, double x, double y) {
        const double in_row =
            static_cast<double>(std::min<std::size_t>(package.numas.size(), numas_in_row));
        double height = padding + line_height;
        for (std::size_t i = 0; i < package.numas.size(); i += numas_in_row) {
            height += row_height(package, i) + padding;
        }
        return {x, y, in_row * numa_width + (in_row + 1) * padding, height};
    }

    static double row_height(const Package& package, std::size_t first) {
        double height = 0;
        const std::size_t end = std::min(first + numas_in_row, package.numas.size());
        for (std::size_t i = first; i < end; ++i) {
            height = std::max(height, height_of(package.numas[i]));
        }
        return height;
    }

    void draw_package(const Package& package, const Box& box) {
        body_ += svg::rectangle(box, 10, "frame");
        body_ += svg::text(box.x + padding, box.y + padding + 8, "strong", package.name);
        double y = box.y + padding + line_height;
        for (std::size_t i = 0; i < package.numas.size(); ++i) {
            const std::size_t column = i % numas_in_row;
            const double height = row_height(package, i - column);
            const double x = box.x + padding + static_cast<double>(column) * (numa_width + padding);
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
            const double x = box.x + padding + static_cast<double>(i % cells_in_row) * (cell + 3);
            const double y = top + row_of(i, cells_in_row) * (cell + 3);
            draw_core(*numa.cores[i], x, y, marked);
        }
        draw_devices(numa.devices, box.x + padding,
                     top + rows_of(numa.cores.size(), cells_in_row) * (cell + 3) + gap);
    }

    // `marked`: the owners whose number stands in this NUMA node already.
    void draw_core(const Core& core, double x, double y, std::set<std::size_t>& marked) {
        const std::vector<std::uint32_t> cpus = core.cpus.cpus();
        const double width = cell / static_cast<double>(cpus.size());
        std::set<std::size_t> all;
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            const auto owners = contents_.owners_of_cpu(cpus[i]);
            all.insert(owners.begin(), owners.end());
            const std::string who = picture_.owners.empty() ? "" : ": " + contents_.names(owners);
            const std::string colour = Contents::colour(owners);
            cpu_colours_.insert(colour);
            body_ += svg::rectangle({x + static_cast<double>(i) * width, y, width, cell}, 0, colour,
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
            const Box box{x + static_cast<double>(i % 2) * (device_width + gap),
                          y + row_of(i, 2) * (device_height + gap), device_width, device_height};
            const double space = device_width - 16;
            body_ += svg::rectangle(box, 6, device.classes, device.title);
            body_ +=
                svg::text(box.x + 8, box.y + 17, "strong", svg::fitted(device.name, space, 12));
            body_ += svg::text(box.x + 8, box.y + 33, "", svg::fitted(device.state, space, 12));
        }
    }

    // As many ranks as fit into some rows, each rank's number stands in the picture too; and what
    // the CPUs' other colours mean.
    double draw_legend(double y) {
        constexpr double item = 116;
        const auto most = static_cast<std::size_t>(std::max((width_ - margin) / item, 1.0));
        std::vector<std::pair<std::string, std::string>> items;
        for (std::size_t i = 0; i < std::min(picture_.owners.size(), 4 * most); ++i) {
            items.emplace_back(formatted("c{}", i % colours), picture_.owners[i].label);
        }
        if (cpu_colours_.contains("many")) items.emplace_back("many", "several ranks");
        if (cpu_colours_.contains("idle")) items.emplace_back("idle", "unused");
        const std::size_t in_row = evenly(items.size(), most);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const double x = margin + static_cast<double>(i % in_row) * item;
            const double top = y + row_of(i, in_row) * line_height;
            body_ += svg::rectangle({x, top, 12, 12}, 2, items[i].first);
            body_ += svg::text(x + 18, top + 10, "", svg::fitted(items[i].second, item - 22, 12));
        }
        return y + rows_of(items.size(), in_row) * line_height;
    }

    const NodePicture& picture_;
    Contents contents_;
    std::string body_;
    std::set<std::string> cpu_colours_;
    double width_ = 2 * numa_width;
};

}  // namespace

std::string draw(const NodePicture& picture) {
    return Drawing(picture).draw();
}

}  // namespace distgpu

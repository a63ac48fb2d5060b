// Divides a mask in three steps: finds each task's near CPUs; splits the cores that are near to the
// same tasks evenly among these, in whole cores while there are enough; gives a task with fewer
// CPUs than it asked for those that the others can spare.
#include "mapping/binding/cpu_shares.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace distgpu {

Locality::Locality(const NodeTopology& topology) {
    for (const Core& core : topology.cores) {
        all |= core.cpus;
        if (core.package >= packages.size()) packages.resize(core.package + 1);
        packages[core.package] |= core.cpus;
    }
    for (const Gpu& gpu : topology.gpus) {
        gpu_cpus.push_back(gpu.cpus.empty() ? all : gpu.cpus);
        gpu_packages.push_back(package_of(gpu_cpus.back()));
    }
}

CpuSet Locality::package_of(const CpuSet& cpus) const {
    CpuSet found;
    for (const CpuSet& package : packages) {
        if (package.intersects(cpus)) found |= package;
    }
    return found;
}

std::int64_t Locality::distance(const CpuSet& mask, std::uint32_t gpu) const {
    const std::int64_t all_cpus = mask.count();
    const std::int64_t same_package = mask.count_in(gpu_packages[gpu]);
    const std::int64_t far = all_cpus - same_package;
    return 1000 * (same_package - mask.count_in(gpu_cpus[gpu]) + 2 * far) / all_cpus;
}

namespace {

// The unit of the division: a core's CPUs within the mask, or one of its threads.
struct Piece {
    CpuSet cpus;
    std::uint32_t numa = 0;
};
using Pieces = std::vector<Piece>;

Pieces cores_in(const NodeTopology& topology, const CpuSet& mask) {
    Pieces pieces;
    for (const Core& core : topology.cores) {
        if (core.cpus.intersects(mask)) pieces.push_back({core.cpus & mask, core.numa});
    }
    return pieces;
}

CpuSet near_gpus(const Locality& locality, const CpuSet& mask,
                 const std::vector<std::uint32_t>& gpus) {
    CpuSet near;
    for (const std::uint32_t gpu : gpus) near |= locality.gpu_cpus[gpu];
    for (const CpuSet& candidate : {near & mask, locality.package_of(near) & mask}) {
        if (!candidate.empty()) return candidate;
    }
    return mask;
}

// The near CPUs without GPUs: a task's NUMA node is the one with the middle core of the task's even
// share of the cores. With fewer tasks than NUMA nodes, each NUMA node goes to the task whose even
// share contains the NUMA node's middle core.
std::vector<CpuSet> near_numas(const Pieces& cores, const CpuSet& mask, std::size_t tasks) {
    std::map<std::uint32_t, CpuSet> numa_cpus;
    for (const Piece& core : cores) numa_cpus[core.numa] |= core.cpus;
    std::vector<CpuSet> near(tasks);
    if (tasks >= numa_cpus.size()) {
        for (std::size_t task = 0; task < tasks; ++task) {
            near[task] = numa_cpus[cores[(2 * task + 1) * cores.size() / (2 * tasks)].numa];
        }
    } else {
        for (const auto& [numa, cpus] : numa_cpus) {
            const auto in_numa = [id = numa](const Piece& core) { return core.numa == id; };
            const auto first = std::find_if(cores.begin(), cores.end(), in_numa);
            const auto count = std::count_if(cores.begin(), cores.end(), in_numa);
            const auto middle = static_cast<std::size_t>(first - cores.begin() + count / 2);
            near[middle * tasks / cores.size()] |= cpus;
        }
    }
    const auto is_empty = [](const CpuSet& cpus) { return cpus.empty(); };
    if (std::any_of(near.begin(), near.end(), is_empty)) near.assign(tasks, mask);
    return near;
}

Pieces single_threads(const Pieces& cores) {
    Pieces threads;
    for (const Piece& core : cores) {
        for (const std::uint32_t cpu : core.cpus.cpus()) threads.push_back({{cpu}, core.numa});
    }
    return threads;
}

// Splits the cores that are near to the same tasks evenly among these, or their threads if there
// are fewer cores than tasks. With even fewer threads, some tasks get none here. Returns the cores
// that are near to no task.
Pieces split_classes(const Pieces& cores, const std::vector<CpuSet>& near,
                     std::vector<Pieces>& shares) {
    std::map<std::vector<std::uint32_t>, Pieces> classes;
    for (const Piece& core : cores) {
        std::vector<std::uint32_t> tasks;
        for (std::uint32_t task = 0; task < near.size(); ++task) {
            if (core.cpus.intersects(near[task])) tasks.push_back(task);
        }
        classes[std::move(tasks)].push_back(core);
    }
    for (auto& [tasks, pieces] : classes) {
        if (pieces.size() < tasks.size()) pieces = single_threads(pieces);
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            const std::size_t end = (k + 1) * pieces.size() / tasks.size();
            for (std::size_t i = k * pieces.size() / tasks.size(); i < end; ++i) {
                shares[tasks[k]].push_back(pieces[i]);
            }
        }
    }
    return classes[{}];
}

std::uint32_t count_cpus(const Pieces& pieces) {
    std::uint32_t cpus = 0;
    for (const Piece& piece : pieces) cpus += piece.cpus.count();
    return cpus;
}

// Distance of pieces from a task: 0 in its NUMA nodes, 1 in its packages, 2 elsewhere.
struct Surroundings {
    int distance(const Piece& piece) const {
        return piece.cpus.intersects(numas) ? 0 : piece.cpus.intersects(packages) ? 1 : 2;
    }

    CpuSet numas;
    CpuSet packages;
};

// Removes and returns the nearest core, or one thread of it, of a task that has more than it needs:
// among equally near cores the last one of the task with the most CPUs.
std::optional<Piece> remove_surplus(std::vector<Pieces>& shares, const Surroundings& task,
                                    std::uint32_t min_cpus) {
    Pieces* donor = nullptr;
    Pieces::iterator piece;
    std::tuple<int, std::int64_t> least;
    for (Pieces& share : shares) {
        const std::int64_t cpus = count_cpus(share);
        if (cpus <= min_cpus) continue;
        for (auto at = share.begin(); at != share.end(); ++at) {
            const std::tuple cost(task.distance(*at), -cpus);
            const bool is_same = donor == &share && cost == least;
            if (donor != nullptr && !is_same && cost >= least) continue;
            donor = &share;
            piece = at;
            least = cost;
        }
    }
    if (donor == nullptr) return std::nullopt;
    Piece surplus = *piece;
    if (count_cpus(*donor) - min_cpus < piece->cpus.count()) {
        surplus.cpus = {piece->cpus.cpus().back()};
        piece->cpus -= surplus.cpus;
    } else {
        donor->erase(piece);
    }
    return surplus;
}

void fill_up(const std::vector<Surroundings>& tasks, std::uint32_t min_cpus, Pieces free,
             std::vector<Pieces>& shares) {
    for (std::size_t task = 0; task < shares.size(); ++task) {
        while (count_cpus(shares[task]) < min_cpus) {
            if (free.empty()) {
                auto piece = remove_surplus(shares, tasks[task], min_cpus);
                if (!piece) return;
                free.push_back(*std::move(piece));
            }
            // The first of the nearest.
            const auto nearest = std::ranges::min_element(
                free, {}, [&](const Piece& piece) { return tasks[task].distance(piece); });
            shares[task].push_back(std::move(*nearest));
            free.erase(nearest);
        }
    }
}

}  // namespace

std::vector<CpuSet> divide_cpus(const NodeTopology& topology, const Locality& locality,
                                const CpuSet& mask,
                                const std::vector<std::vector<std::uint32_t>>& gpus_of,
                                std::uint32_t min_cpus) {
    const std::size_t tasks = gpus_of.size();
    const auto even_share = static_cast<std::uint32_t>(mask.count() / tasks);
    std::vector<CpuSet> cpus(tasks, mask);
    if (even_share == 0) return cpus;
    const Pieces cores = cores_in(topology, mask);
    std::vector<CpuSet> near;
    if (gpus_of.front().empty()) {
        near = near_numas(cores, mask, tasks);
    } else {
        for (const auto& gpus : gpus_of) near.push_back(near_gpus(locality, mask, gpus));
    }
    std::vector<Pieces> shares(tasks);
    Pieces unused = split_classes(cores, near, shares);
    std::vector<Surroundings> surroundings;
    for (const CpuSet& own : near) {
        surroundings.push_back({{}, locality.package_of(own)});
        for (const NumaNode& numa : topology.numas) {
            if (numa.cpus.intersects(own)) surroundings.back().numas |= numa.cpus;
        }
    }
    fill_up(surroundings, std::clamp(min_cpus, 1U, even_share), std::move(unused), shares);
    for (std::size_t task = 0; task < tasks; ++task) {
        cpus[task] = {};
        for (const Piece& piece : shares[task]) cpus[task] |= piece.cpus;
    }
    return cpus;
}

}  // namespace distgpu

// The rows of the simulation: clusters with what is wrong in them, and what is right to say.
#pragma once

#include "simulated_cluster.h"

#include <functional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct SimulatedRow {
    std::string about;
    std::vector<std::uint32_t> sizes;
    std::function<SimulatedCluster(std::uint32_t nodes, Random&)> cluster;
    // What is right to name, by kind and node. Empty: nobody.
    std::function<std::vector<Limiter>(std::uint32_t nodes)> right;
    bool undecidable = false;  // another cause gives the same matrix: to be undecided is right
    bool paths = false;        // to say that paths collide is right too
    bool must_be_found = true;
    bool never_named = false;  // not once in 10,000 clusters
};

std::vector<SimulatedRow> simulated_rows();

}  // namespace distgpu::scaling

// A node as a drawing: its sockets, NUMA nodes, cores, GPUs and HCA ports, and which rank got what.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

// A task of the node: what it is called in the picture, and what it got.
struct Owner {
    std::string label;  // "rank 5"
    std::string mark;   // "5", where there is no space
    TaskBinding binding;
};

struct NodePicture {
    std::string title;     // "node[01-16]"
    std::string subtitle;  // "pytorch: 128 ranks on 16 nodes"
    const NodeTopology* topology = nullptr;
    std::vector<Owner> owners;               // by local rank; empty: nobody, the machine alone
    std::vector<std::uint32_t> step_gpus{};  // of the step, indices into the topology's
};

// An SVG of its own. A core is a square, divided where it has several hardware threads.
std::string draw(const NodePicture& picture);

}  // namespace distgpu

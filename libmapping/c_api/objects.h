// What stands behind the names of mapping.h: the library's own values.
#pragma once

#include <distgpu/mapping.h>
#include <distgpu/request.h>
#include <distgpu/step_layout.h>
#include <distgpu/topology.h>

#include <string>

// NOLINTBEGIN(readability-identifier-naming): the names are those of mapping.h.
struct distgpu_request {
    distgpu::Request value;
    std::string mode;
};

struct distgpu_layout {
    distgpu::StepLayout value;
};

struct distgpu_topology {
    distgpu::NodeTopology value;
};
// NOLINTEND(readability-identifier-naming)

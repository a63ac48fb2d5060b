// What stands behind the names of mapping.h: the library's own values.
#pragma once

#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"
#include "mapping/topology/topology.h"

#include <distgpu/mapping.h>

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

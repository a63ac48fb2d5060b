// The files of a report: one of each node while the step runs, and one of all nodes afterwards.
#pragma once

#include "base/io/files.h"
#include "report/node_report.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// "/scratch/distgpu-5.0.json.node01". A step of one node has no other file than `file`.
std::string node_file(const std::string& file, std::string_view node, std::uint32_t nodes);

// Reads `file`, or what its nodes have written so far. The nodes are in the order of their lowest
// ranks. Errors (object: `file`): there is none; it is no report, or that of a newer distgpu.
Result<StepReport> read_step_report(const std::string& file);

// The report's file for `name`: a file, or JOB or JOB.STEP of a step whose report has the default
// name in `folder`; of a job, the step with the highest number. Error (object: `name`): none.
Result<std::string> find_report(const std::string& name, const std::string& folder);

// For the step's first node: if every node's part is complete, makes them one file and removes
// them. Returns whether it did.
bool merge_parts(const std::string& file);

}  // namespace distgpu

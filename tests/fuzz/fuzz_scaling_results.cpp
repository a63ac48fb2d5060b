// nccl-scaling's JSON of an earlier run, as --baseline reads it: back to JSON, analysed, reported
// and compared with itself.
#include "analysis/compare.h"
#include "report/names.h"
#include "report/report_json.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {
namespace {

using namespace scaling;

void require_whole(const Results& results) {
    for (const Group& group : results.groups) {
        for (const std::uint32_t node : group.nodes) {
            require(node < results.nodes.size(), "a group's nodes are of the run");
        }
        static_cast<void>(group_label(results, group));
    }
    for (const Measurement& measurement : results.measurements) {
        require(measurement.group < results.groups.size(), "a measurement's group is of the run");
    }
}

}  // namespace

void try_text(std::string_view text) {
    const auto results = results_from_json(text, "FILE");
    if (!results) return require_line(results.error().message());
    require_whole(*results);
    const ReportInput input = derive(*results);
    const auto again = results_from_json(to_json(input), "FILE");
    require(again && *again == *results, "what is written is read back");
    require(differences(*results, *results).empty(), "a run does not differ from itself");
    const Comparison comparison = compare(*results, thresholds_of(*results, 0));
    require(comparison.passed <= results->measurements.size(), "each is judged once");
}

}  // namespace distgpu

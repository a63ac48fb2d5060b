#include "inspect/all_nodes.h"

#include "base/format.h"
#include "inspect/overlapping_step.h"
#include "node/own_task.h"

#include <utility>

namespace distgpu {
namespace {

NodeLooks read_looks(NodeAnswers answers) {
    NodeLooks looks{{}, std::move(answers.silent)};
    for (const auto& [node, text] : answers.texts) {
        if (auto look = read_node_look(text)) {
            looks.nodes.push_back(*std::move(look));
        } else {
            looks.silent.push_back(node);
        }
    }
    return looks;
}

}  // namespace

Result<NodeLooks> look_at_all(const RunningStep& step, std::chrono::seconds length) {
    return ask_nodes(step,
                     {own_command(), "why", "--node", "--repeat", formatted("{}", length.count()),
                      step.numbered()},
                     length)
        .transform(read_looks);
}

}  // namespace distgpu

// What rank 0 and the nodes tell each other of the trial of the network.
#include "check/pairs/judge_network.h"
#include "check/pairs/trial.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    if (const auto order = decode_order(text)) {
        require(decode_order(encode(*order)) == order, "an order is read back as it was written");
    }
    const auto result = decode_result(text);
    if (!result) return;
    for (const SentTo& sent : result->sent) {
        if (!sent.problem.empty()) require_line(sent.problem);
    }
    require(encode(*result).find('\n') == std::string::npos, "a result is one line");
    require(decode_result(encode(*result)) == result, "a result is read back as it was written");
    // Whatever a node claims of others, no more of them are at fault than it names.
    const auto faults = judge_network({*result, *result, {}});
    require(faults.size() <= 2 * (result->sent.size() + result->heard.size() + 3),
            "faults are of nodes that were named");
}

}  // namespace distgpu

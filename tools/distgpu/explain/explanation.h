// What the ranks of a step got, from what its nodes tell: those that got the same together.
#pragma once

#include "inspect/rank_facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct RankOfNode {
    std::string node;
    RankFacts facts;
};

struct ExplainedGroup {
    std::vector<std::uint32_t> ranks;    // ascending
    std::vector<std::string> nodes;      // each once
    std::vector<std::string> otherwise;  // sentences; none: all is as it began
    std::vector<std::size_t> members;    // indices into Explanation::ranks

    bool operator==(const ExplainedGroup&) const = default;
};

struct Explanation {
    std::string spec;                    // by which distgpu prepared the step; empty: it did not
    std::vector<RankOfNode> ranks;       // ascending
    std::vector<ExplainedGroup> groups;  // the odd ones first, of these the smallest
    std::vector<std::string> silent;     // nodes without an answer
    std::vector<std::string> notes;      // what could not be seen, and why
    std::uint32_t nodes = 0;
};

Explanation explain(const std::vector<NodeFactsNow>& nodes, const std::vector<std::string>& silent);

// "Tree", "not set", "empty".
std::string value_text(const std::optional<std::string>& value);

// "NCCL_ALGO is Tree, and was not set when the task began".
std::string to_text(const Change& change);

}  // namespace distgpu

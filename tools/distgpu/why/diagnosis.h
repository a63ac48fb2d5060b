// What is wrong with a step, from what its nodes saw: which rank, and where.
#pragma once

#include "base/json_text.h"
#include "inspect/look.h"
#include "why/rank_details.h"
#include "why/rank_groups.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct Diagnosis {
    enum class Kind : std::uint8_t {
        ended,  // ranks are missing
        stopped,
        in_kernel,
        other_collective,  // than most
        elsewhere,         // while most wait
        unmoved,           // all in one place, and nothing happened
        moving,
        unknown,
    };
    Kind kind = Kind::unknown;           // of the first finding
    std::vector<std::string> findings;   // sentences, the most important first
    std::vector<RankGroup> groups;       // the smallest first
    std::vector<std::uint32_t> missing;  // ranks
    std::vector<EndedProcess> ended;     // where ranks are missing
    // Of up to 64 ranks, those of the smallest groups; and how many of these are odd: not of the
    // largest group.
    std::vector<RankDetails> details;
    std::size_t odd = 0;
    std::vector<std::string> silent;   // nodes that did not answer
    std::vector<std::string> notes;    // what could not be seen, and why
    std::string nccl;                  // what it says of the job, lines; empty: nothing
    std::vector<std::string> records;  // files of torch's flight recorder
    double seconds = 0;                // for which the ranks were looked at
    std::uint64_t expected = 0;        // ranks
    std::uint32_t nodes = 0;
    bool is_component = false;  // of a heterogeneous step, whose others were not looked at
};
std::string_view name_of(Diagnosis::Kind kind);

// `tasks`: the step's. `is_component`: as of find_ranks().
Diagnosis diagnose(const std::vector<NodeLook>& looks, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component = false);

}  // namespace distgpu

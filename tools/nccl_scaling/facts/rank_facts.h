// What a rank says of its own part of its node, and its way to rank 0 as a text.
#pragma once

#include "results/results.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

struct RankFacts {
    std::string gpu;                   // how sentences call it: "GPU 3"
    std::string port;                  // the same: "mlx5_3"; may be empty
    std::vector<std::string> unusual;  // sentences
    Rates rates;

    bool operator==(const RankFacts&) const = default;
};

// One line, for gather().
std::string text_of(const RankFacts& facts);

// Of what text_of() made; nothing is known of another text.
RankFacts read_rank_facts(std::string_view text);

}  // namespace distgpu::scaling

// A made-up cluster with one fault at most, and what a run would measure of it.
#pragma once

#include "analysis/blame.h"
#include "analysis/evidence.h"
#include "analysis/pairs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

namespace distgpu::scaling {

// A match runs at the rate of its slowest port, 1 where all is well. Each measurement is off by a
// normally distributed error of its own.
struct SimulatedCluster {
    std::uint32_t nodes = 0;
    std::uint32_t rails = 1;
    std::optional<Limiter> fault;
    double slow_rate = 0.85;
    double noise = 0.03;
    std::uint32_t matches = matches_per_node;

    double rate_of(Pair pair) const {
        const bool hit = fault && fault->kind != Limiter::Kind::rail &&
                         (fault->node == pair.first || fault->node == pair.second);
        const bool everywhere = fault && fault->kind == Limiter::Kind::rail;
        return hit || everywhere ? slow_rate : 1;
    }

    double rate_of_rail(std::uint32_t rail) const {
        const bool hit = fault && (fault->kind == Limiter::Kind::node || fault->local_rank == rail);
        return hit ? slow_rate : 1;
    }

    Evidence measure(std::mt19937_64& random) const {
        std::normal_distribution<double> error(1, noise);
        Evidence evidence;
        for (const auto& round : tournament(nodes, matches)) {
            for (const auto pair : round) {
                evidence.matches.push_back({pair, rate_of(pair) * error(random)});
            }
        }
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            for (std::uint32_t time = 0; time < matches; ++time) {
                evidence.rails.push_back({rail, rate_of_rail(rail) * error(random)});
            }
        }
        return evidence;
    }
};

}  // namespace distgpu::scaling

// One stage of the plan as every rank goes through it, and rank 0 records it.
#pragma once

#include "results/results.h"
#include "run/measure.h"
#include "run/pace.h"
#include "run/plan.h"
#include "run/run.h"
#include "run/world.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

class StageRunner {
  public:
    // All outlive it. `plan` may grow between two stages; `known` has the run's nodes.
    StageRunner(const Equipment& equipment, const World& world, const Plan& plan,
                const Results& known, const Pace& pace, Measurer& measurer)
        : use_(equipment),
          world_(world),
          plan_(plan),
          known_(known),
          pace_(pace),
          measurer_(measurer) {}

    std::optional<Fault> run(const Stage& stage);

  private:
    // What concerns this rank of a stage that is under way.
    struct Place {
        std::vector<std::vector<std::uint32_t>> members;  // ranks, by the stage's groups
        std::optional<std::uint32_t> own;                 // index of this rank's group there
        Seat seat;
        Communicator* group = nullptr;
    };

    Place place_in(const Stage& stage) const;
    std::optional<Fault> measure(const Stage& stage, const Place& place, const Subject& operation);
    Result<std::uint32_t> iterations_of(const Stage& stage, const Place& place, double seconds);
    std::string who(const Stage& stage) const;
    void announce(const Stage& stage, const Subject& operation);
    std::optional<Fault> record(const Stage& stage, const Place& place, const Subject& operation,
                                const std::vector<std::vector<double>>& ends);
    void record(std::size_t group, const Subject& operation, const Statistics& time);

    const Equipment& use_;
    const World& world_;
    const Plan& plan_;
    const Results& known_;
    const Pace& pace_;
    Measurer& measurer_;
};

}  // namespace distgpu::scaling

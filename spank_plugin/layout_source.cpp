// See layout_source.h.
#include "layout_source.h"

#include "carried_step.h"
#include "het_step.h"
#include "node/layout_check.h"
#include "node/step_environment.h"
#include "node/variables.h"
#include "slurm_calls.h"

#include <optional>
#include <utility>

namespace distgpu {
namespace {

using Found = tl::expected<FoundLayout, Failure>;

Found failed(Error error, bool told_by_srun = false) {
    return tl::unexpected(Failure{std::move(error), told_by_srun});
}

// What srun sent for this step; nothing where it sent none.
Result<std::optional<CarriedStep>> read_carried(spank_t spank, const Identity& identity) {
    const auto text = step_variable(spank, carried_variable);
    if (!text) return std::optional<CarriedStep>{};
    return decode(*text).transform([&](std::optional<CarriedStep> carried) {
        const bool ours = carried && carried->job == identity.job && carried->step == identity.step;
        return ours ? std::move(carried) : std::nullopt;
    });
}

// Nothing where the step's environment does not hold the layout, or holds something else than
// Slurm started.
std::optional<StepLayout> derive(spank_t spank, const LocalTasks& started) {
    const auto variable = [spank](const char* name) {
        return step_variable(spank, name).value_or("");
    };
    auto derived =
        derive_layout({variable("SLURM_STEP_NODELIST"), variable("SLURM_STEP_TASKS_PER_NODE"),
                       variable("SLURM_DISTRIBUTION"), variable("SLURM_DIST_PLANESIZE")});
    if (!derived || !*derived || check_layout(**derived, started)) return std::nullopt;
    return *std::move(derived);
}

Found checked(FoundLayout found, const LocalTasks& started) {
    if (auto mismatch = check_layout(found.layout, started)) {
        return failed(*std::move(mismatch));
    }
    return found;
}

Found find_whole(spank_t spank, const Identity& identity, CarriedStep sent) {
    const LocalTasks started = identity.whole();
    if (sent.layout) {
        return checked({*std::move(sent.layout), std::move(sent.rank0_address),
                        std::move(sent.node_addresses), sent.cpu_bind},
                       started);
    }
    if (auto derived = derive(spank, started)) {
        return FoundLayout{*std::move(derived), std::move(sent.rank0_address), {}, sent.cpu_bind};
    }
    auto asked = query_layout(identity.job, identity.step, std::nullopt);
    if (!asked) return failed(asked.error());
    return checked({*std::move(asked), std::move(sent.rank0_address), {}, sent.cpu_bind}, started);
}

}  // namespace

tl::expected<FoundLayout, Failure> find_layout(spank_t spank, const Identity& identity) {
    auto carried = read_carried(spank, identity);
    if (!carried) return failed(carried.error());
    CarriedStep sent = carried->value_or(CarriedStep{});
    if (sent.refused) {
        constexpr bool told_by_srun = true;
        return failed({"step", "refused by srun", ""}, told_by_srun);
    }
    if (!identity.heterogeneous) return find_whole(spank, identity, std::move(sent));
    // What srun knows of a heterogeneous step is one component of it; each task compares the whole
    // with its own number.
    auto asked = query_het_layout(spank, identity.job, identity.step);
    if (!asked) return failed(asked.error());
    return FoundLayout{*std::move(asked), {}, {}, sent.cpu_bind};
}

}  // namespace distgpu

#include "layout_source.h"

#include "as_user.h"
#include "base/format.h"
#include "het_step.h"
#include "mapping/texts/layout_check.h"
#include "mapping/texts/variables.h"
#include "slurm/step_environment.h"
#include "slurm_calls.h"

#include <string>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

std::string step_name(const Identity& identity) {
    return formatted("step {}.{}", identity.job, identity.step);
}

StepEnvironment step_environment(spank_t spank) {
    StepEnvironment environment = read_step_environment(StepVariables(spank));
    constexpr bool topology_order = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0);
    environment.topology_order = environment.topology_order || topology_order;
    return environment;
}

bool knows_layout(spank_t spank, const Identity& identity) {
    const auto sent = step_variable(spank, sent_variable);
    const bool is_settled = sent && sent->read_by([&](std::string_view text) {
        return settles_layout(text, identity.job, identity.step);
    });
    return is_settled || identity.size.nodes == 1 || tells_order(step_environment(spank));
}

std::optional<Error> mismatch(const StepLayout& layout, const Identity& identity) {
    // Of a heterogeneous step each task compares the whole with its own number.
    if (identity.heterogeneous) return std::nullopt;
    auto error = check_size(layout, identity.size);
    return error ? std::move(error) : check_layout(layout, identity.whole());
}

// Another node may find nothing wrong with what it derives, so none asks instead.
Error not_as_told(const Identity& identity) {
    return {step_name(identity),
            "Slurm started other tasks than its variables SLURM_STEP_* and SLURM_DISTRIBUTION say",
            "do not set Slurm's variables with --export"};
}

Error too_many_nodes(const Identity& identity, std::uint32_t nodes, std::string remedy) {
    return {step_name(identity),
            formatted("only slurmctld knows which node each task runs on, and at most {} nodes may "
                      "ask it, but the step has {}",
                      most_asking_nodes, nodes),
            std::move(remedy)};
}

// What the query answers where slurmctld takes it for the user's own.
template <class Query>
Result<StepLayout> ask_as_user(spank_t spank, const Identity& identity, Query query) {
    const AsUser as_user(spank);
    if (as_user.done()) return query();
    return Error{step_name(identity), "slurmctld cannot be asked as its user", "run it again"};
}

// What srun knows of a heterogeneous step is one component of it. The component's size is Slurm's
// word, the step's a variable.
Result<StepLayout> ask_for_components(spank_t spank, const Identity& identity) {
    const StepSize& component = identity.size;
    const StepSize step{step_number(spank, "SLURM_STEP_NUM_NODES").value_or(0),
                        step_number(spank, "SLURM_STEP_NUM_TASKS").value_or(0)};
    if (step.nodes < component.nodes || step.tasks < component.tasks) return not_as_told(identity);
    if (step.nodes > most_asking_nodes) {
        return too_many_nodes(identity, step.nodes, "use one component for the step");
    }
    return ask_as_user(spank, identity, [&] {
        return query_het_layout(spank, identity.job, identity.step, step.tasks);
    });
}

}  // namespace

std::optional<Result<StepLayout>> ask_for_layout(spank_t spank, const Identity& identity) {
    if (identity.heterogeneous) return ask_for_components(spank, identity);
    if (knows_layout(spank, identity)) return std::nullopt;
    if (identity.size.nodes > most_asking_nodes) {
        constexpr const char* remedy =
            "load the plugin on the host of srun too, or use -m cyclic or -m plane=N";
        return too_many_nodes(identity, identity.size.nodes, remedy);
    }
    return ask_as_user(spank, identity,
                       [&] { return query_layout(identity.job, identity.step, std::nullopt); });
}

Result<SentStep> read_sent_step(spank_t spank, const Identity& identity) {
    const auto text = step_variable(spank, sent_variable);
    if (!text) return SentStep{};
    // What srun knows of a heterogeneous step is one component of it, maybe another.
    const StepSize size = identity.heterogeneous ? StepSize{} : identity.size;
    auto sent = text->read_by([&](std::string_view value) {
        return decode(value, {identity.job, identity.step, size});
    });
    return std::move(sent).transform(
        [](std::optional<SentStep> step) { return std::move(step).value_or(SentStep{}); });
}

Result<StepLayout> find_layout(spank_t spank, const Identity& identity, SentStep& sent,
                               std::optional<Result<StepLayout>> answer) {
    if (answer || sent.layout) {
        auto layout = answer ? *std::move(answer) : Result<StepLayout>(*std::move(sent.layout));
        if (!layout) return layout;
        if (auto error = mismatch(*layout, identity)) return *std::move(error);
        return layout;
    }
    auto derived = derive_layout(step_environment(spank), identity.size);
    if (!derived || !*derived || mismatch(**derived, identity)) return not_as_told(identity);
    return **std::move(derived);
}

}  // namespace distgpu

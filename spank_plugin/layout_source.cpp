// See layout_source.h.
#include "layout_source.h"

#include "as_user.h"
#include "base/format.h"
#include "het_step.h"
#include "node/carried_step.h"
#include "node/layout_check.h"
#include "node/variables.h"
#include "slurm/step_environment.h"
#include "slurm_calls.h"

#include <optional>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Found = tl::expected<FoundLayout, Failure>;

Found failed(Error error, bool known_to_all = false) {
    return tl::unexpected(Failure{std::move(error), known_to_all});
}

// The layout, with what srun sent beside one.
FoundLayout with_layout(StepLayout layout, CarriedStep sent) {
    return {std::move(layout),
            std::move(sent.rank0_address),
            std::move(sent.node_addresses),
            sent.cpu_bind,
            sent.gpus,
            sent.ntasks ? TasksFrom::line : TasksFrom::nodes,
            sent.helper};
}

// What srun sent for this step; nothing where it sent none.
Result<std::optional<CarriedStep>> read_carried(spank_t spank, const Identity& identity) {
    const auto text = step_variable(spank, carried_variable);
    if (!text) return std::optional<CarriedStep>{};
    // What srun knows of a heterogeneous step is one component of it, maybe another.
    const StepSize size = identity.heterogeneous ? StepSize{} : identity.size;
    return text->read_by([&](std::string_view value) {
        return decode(value, {identity.job, identity.step, size});
    });
}

// Nothing where the step's environment does not hold the layout.
std::optional<StepLayout> derive(spank_t spank, StepSize size) {
    StepEnvironment environment = read_step_environment(StepVariables(spank));
    constexpr bool topology_order = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0);
    environment.topology_order = environment.topology_order || topology_order;
    auto derived = derive_layout(environment, size);
    return derived ? *std::move(derived) : std::nullopt;
}

std::optional<Error> mismatch(const StepLayout& layout, const Identity& identity) {
    auto error = check_size(layout, identity.size);
    return error ? std::move(error) : check_layout(layout, identity.whole());
}

std::string step_name(const Identity& identity) {
    return formatted("step {}.{}", identity.job, identity.step);
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

Found ask(spank_t spank, const Identity& identity, CarriedStep sent) {
    if (identity.size.nodes > most_asking_nodes) {
        constexpr const char* remedy =
            "load the plugin on the host of srun too, or use -m cyclic or -m plane=N";
        return failed(too_many_nodes(identity, identity.size.nodes, remedy));
    }
    auto asked = ask_as_user(
        spank, identity, [&] { return query_layout(identity.job, identity.step, std::nullopt); });
    if (!asked) return failed(asked.error());
    if (auto error = mismatch(*asked, identity)) {
        return failed(*std::move(error));
    }
    return with_layout(*std::move(asked), std::move(sent));
}

Found find_whole(spank_t spank, const Identity& identity, CarriedStep sent) {
    if (sent.layout) {
        if (auto error = mismatch(*sent.layout, identity)) {
            return failed(*std::move(error));
        }
        StepLayout layout = *std::move(sent.layout);
        FoundLayout found = with_layout(std::move(layout), std::move(sent));
        found.sent_by_srun = true;
        return found;
    }
    auto derived = derive(spank, identity.size);
    if (!derived) return ask(spank, identity, std::move(sent));
    if (mismatch(*derived, identity)) {
        return failed(not_as_told(identity));
    }
    return with_layout(*std::move(derived), std::move(sent));
}

// What srun knows of a heterogeneous step is one component of it; each task compares the whole with
// its own number. The component's size is Slurm's word, the step's a variable.
Found find_merged(spank_t spank, const Identity& identity, bool cpu_bind) {
    const StepSize& component = identity.size;
    const StepSize step{step_number(spank, "SLURM_STEP_NUM_NODES").value_or(0),
                        step_number(spank, "SLURM_STEP_NUM_TASKS").value_or(0)};
    if (step.nodes < component.nodes || step.tasks < component.tasks) {
        return failed(not_as_told(identity));
    }
    if (step.nodes > most_asking_nodes) {
        return failed(too_many_nodes(identity, step.nodes, "use one component for the step"));
    }
    auto asked = ask_as_user(spank, identity, [&] {
        return query_het_layout(spank, identity.job, identity.step, step.tasks);
    });
    if (!asked) return failed(asked.error());
    return FoundLayout{*std::move(asked), {}, {}, cpu_bind};
}

}  // namespace

tl::expected<FoundLayout, Failure> find_layout(spank_t spank, const Identity& identity) {
    auto carried = read_carried(spank, identity);
    if (!carried) return failed(carried.error());
    CarriedStep sent = carried->value_or(CarriedStep{});
    if (sent.refused) {
        constexpr bool known_to_all = true;
        return failed({"step", "refused by srun", ""}, known_to_all);
    }
    if (!identity.heterogeneous) return find_whole(spank, identity, std::move(sent));
    const bool cpu_bind = sent.cpu_bind || step_variable(spank, cpu_bind_variable);
    return find_merged(spank, identity, cpu_bind);
}

}  // namespace distgpu

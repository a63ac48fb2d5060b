// Slurm's variables: the environment sections of sbatch(1) and srun(1), 22.05.
#include "slurm/slurm_shape.h"

#include "base/values.h"
#include "slurm/step_environment.h"

#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// Reads variables, and remembers which of them were there.
class Reader {
  public:
    explicit Reader(const Environment& environment) : environment_(environment) {}

    // Fills a text that is still empty.
    void complete(std::string& text, const char* name) {
        if (!text.empty()) return;
        if (auto value = get(name)) text = *std::move(value);
    }

    // Nothing: unset or empty.
    std::optional<std::string> get(const char* name) {
        auto value = environment_.get(name);
        if (value && value->empty()) value.reset();
        if (value) read_.emplace_back(name);
        return value;
    }

    std::uint32_t number(const char* name) {
        return whole_number(get(name).value_or("")).value_or(0);
    }

    std::vector<std::string> take_read() { return std::move(read_); }

  private:
    const Environment& environment_;
    std::vector<std::string> read_;
};

// "block:cyclic,pack" -> "block": the rest is about sockets.
std::string distribution(Reader& reader) {
    std::string text = reader.get("SLURM_DISTRIBUTION").value_or("");
    text.resize(std::min(text.find_first_of(":,"), text.size()));
    if (text == "plane") text += "=" + reader.get("SLURM_DIST_PLANESIZE").value_or("");
    return text;
}

// As SLURM_JOB_SLUID: see read_step_environment().
NodeOrder order_of(const std::string& distribution, bool own_step, Reader& reader) {
    if (distribution == "cyclic" || distribution.substr(0, 6) == "plane=") return NodeOrder::known;
    if (distribution == "arbitrary" || reader.get("SLURM_JOB_SLUID")) {
        return own_step ? NodeOrder::of_step : NodeOrder::topology;
    }
    return NodeOrder::known;
}

}  // namespace

Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment) {
    LayoutText& layout = options.layout;
    if (!layout.nodelist.empty() || !layout.nodes.empty()) return std::optional<SlurmShape>{};
    Reader reader(environment);
    const bool in_step = in_step_of_tasks(environment);
    const bool own_step = in_step && layout.ntasks.empty() && layout.tasks_per_node.empty() &&
                          layout.distribution.empty();
    reader.complete(layout.nodelist, in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST");
    if (layout.nodelist.empty()) return std::optional<SlurmShape>{};
    if (layout.ntasks.empty()) {
        reader.complete(layout.tasks_per_node,
                        in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE");
    }
    NodeOrder order = NodeOrder::known;
    const bool one_node = in_step && environment.get("SLURM_STEP_NUM_NODES") == "1";
    if (layout.distribution.empty() && !one_node) {
        layout.distribution = distribution(reader);
        order = order_of(layout.distribution, own_step, reader);
        if (layout.distribution == "arbitrary" && order != NodeOrder::of_step) {
            return Error{"SLURM_DISTRIBUTION=arbitrary",
                         "no variable says which node each task runs on",
                         "give --distribution arbitrary=NODE,NODE,..."};
        }
    }
    if (options.gpus_per_node.empty() && options.gpus.empty() && options.gpu_list.empty()) {
        options.gpus_variable = "SLURM_GPUS_ON_NODE";
        reader.complete(options.gpus_per_node, "SLURM_GPUS_ON_NODE");
    }
    // A task knows what it has; outside, srun would take its own variable.
    if (!in_step) reader.complete(options.cpus_per_task, "SRUN_CPUS_PER_TASK");
    reader.complete(options.cpus_per_task, "SLURM_CPUS_PER_TASK");
    const StepId step{reader.number("SLURM_JOB_ID"), in_step ? reader.number("SLURM_STEP_ID") : 0,
                      reader.number("SLURM_RESTART_COUNT")};
    return std::optional(SlurmShape{std::move(options), step, own_step, order, reader.take_read()});
}

}  // namespace distgpu

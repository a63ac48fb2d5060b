// The node's plan of mapping.h: a NodePlan, and what C sees of it.
#include "base/format.h"
#include "c_api/facts.h"
#include "c_api/objects.h"
#include "c_api/sized.h"
#include "c_api/status.h"
#include "c_api/text.h"
#include "mapping/plan/plan.h"

#include <vector>

namespace distgpu::c_api {
namespace {

// Points into `plan`, which has to live as long.
class TaskView {
  public:
    explicit TaskView(const TaskPlan& plan) : unset_(list_of(plan.unset)) {
        for (const auto& [name, value] : plan.set) {
            variables_.push_back({name.c_str(), value.c_str()});
        }
        view_.rank = plan.rank.value;
        view_.local_rank = plan.local_rank.value;
        view_.node_rank = plan.node_rank.value;
        view_.unset = unset_.data();
        view_.variable_count = variables_.size();
        view_.variables = variables_.data();
        if (plan.binding) show(*plan.binding);
    }
    TaskView(const TaskView&) = delete;
    TaskView& operator=(const TaskView&) = delete;
    TaskView(TaskView&&) = delete;
    TaskView& operator=(TaskView&&) = delete;
    ~TaskView() = default;

    const distgpu_task* view() const { return &view_; }

  private:
    void show(const TaskBinding& binding) {
        cpus_ = binding.cpus.to_string();
        view_.cpus = cpus_.c_str();
        view_.gpu_count = binding.gpus.size();
        view_.gpus = binding.gpus.data();
    }

    std::vector<const char*> unset_;
    std::vector<distgpu_variable> variables_;
    std::string cpus_;
    distgpu_task view_{};
};

// What distgpu_node_plan_create() returns a part of.
class OwnedPlan : public distgpu_node_plan {
  public:
    OwnedPlan(const StepLayout& layout, NodePlan made)
        : distgpu_node_plan{}, made_(std::move(made)) {
        for (const Error& warning : made_.warnings) lines_.push_back(warning.message());
        warnings_ = list_of(lines_);
        for (const TaskPlan& task : made_.tasks) {
            owned_.push_back(std::make_unique<TaskView>(task));
            views_.push_back(owned_.back()->view());
        }
        node_name = made_.node_name.c_str();
        node_count = layout.node_count();
        world_size = layout.task_count();
        address = made_.rendezvous.address.c_str();
        port = made_.rendezvous.port;
        task_count = static_cast<std::uint32_t>(views_.size());
        tasks = views_.data();
        warnings = warnings_.data();
    }

  private:
    NodePlan made_;
    std::vector<std::string> lines_;
    std::vector<const char*> warnings_;
    std::vector<std::unique_ptr<TaskView>> owned_;
    std::vector<const distgpu_task*> views_;
};

Made<OwnedPlan> make_plan(const distgpu_request* request, const distgpu_layout* layout,
                          const distgpu_facts* facts, NodeIndex node) {
    if (request == nullptr) return tl::unexpected(missing("request"));
    if (layout == nullptr) return tl::unexpected(missing("layout"));
    const StepLayout& step = layout->value;
    if (node.value >= step.node_count()) {
        return fail(DISTGPU_ERANGE, {formatted("node {}", node.value),
                                     formatted("the layout has {} nodes", step.node_count()),
                                     "number them from 0"});
    }
    auto known = read_facts(facts, step.tasks_on(node));
    if (!known) return fail(DISTGPU_EINVAL, known.error());
    known->node.node = node;
    auto made = plan(request->value, Step{step, {}, std::move(known->rendezvous)}, known->node);
    if (!made) return fail(DISTGPU_EREFUSED, made.error());
    return std::make_unique<OwnedPlan>(step, *std::move(made));
}

}  // namespace
}  // namespace distgpu::c_api

distgpu_status distgpu_node_plan_create(const distgpu_request* request,
                                        const distgpu_layout* layout, const distgpu_facts* facts,
                                        std::uint32_t node, const distgpu_node_plan** plan,
                                        distgpu_error* error) {
    return distgpu::c_api::create("plan", plan, error, [&] {
        return distgpu::c_api::make_plan(request, layout, facts, distgpu::NodeIndex{node});
    });
}

void distgpu_node_plan_destroy(const distgpu_node_plan* plan) {
    delete static_cast<const distgpu::c_api::OwnedPlan*>(plan);
}

#include "plan/plan_order.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/layout/node_order.h"
#include "node/process_environment.h"

#include <utility>

namespace distgpu {

Result<OrderedLayout> ordered(const Request& request, StepLayout layout) {
    if (!layout.order().empty()) {
        std::string text = formatted("order: {}", excerpt(order_text(layout)));
        return OrderedLayout{std::move(layout), std::move(text)};
    }
    if (!reorders(request)) return OrderedLayout{std::move(layout), ""};
    const ProcessEnvironment environment;
    return read_order_list(*request.order, environment).and_then([&](const HostList& list) {
        return put_in_order(*request.order, list, layout, environment);
    });
}

bool depends_on_slurms_order(const StepLayout& layout) {
    const bool alike = layout.min_tasks_per_node() == layout.max_tasks_per_node();
    return layout.node_count() > 1 && (layout.order().empty() || !alike);
}

}  // namespace distgpu

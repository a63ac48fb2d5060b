// The layout of mapping.h.
#include "base/format.h"
#include "c_api/objects.h"
#include "c_api/sized.h"
#include "c_api/status.h"
#include "c_api/text.h"
#include "mapping/layout/layout_text.h"

using namespace distgpu;
using c_api::text_or_empty;

distgpu_status distgpu_layout_create(const distgpu_layout_text* text, distgpu_layout** layout,
                                     distgpu_error* error) {
    return c_api::create("layout", layout, error, [&]() -> c_api::Made<distgpu_layout> {
        if (text == nullptr) return tl::unexpected(c_api::missing("text"));
        auto parsed = c_api::read_sized("distgpu_layout_text", text)
                          .and_then([](const distgpu_layout_text& known) {
                              return parse_layout(
                                  {text_or_empty(known.nodelist), text_or_empty(known.nodes),
                                   text_or_empty(known.ntasks), text_or_empty(known.tasks_per_node),
                                   text_or_empty(known.distribution)});
                          });
        if (!parsed) return c_api::fail(DISTGPU_EINVAL, parsed.error());
        return std::make_unique<distgpu_layout>(distgpu_layout{*std::move(parsed)});
    });
}

void distgpu_layout_destroy(distgpu_layout* layout) {
    delete layout;
}

std::uint32_t distgpu_layout_node_count(const distgpu_layout* layout) {
    return layout == nullptr ? 0 : layout->value.node_count();
}

std::uint32_t distgpu_layout_task_count(const distgpu_layout* layout) {
    return layout == nullptr ? 0 : layout->value.task_count();
}

std::uint32_t distgpu_layout_tasks_on(const distgpu_layout* layout, std::uint32_t node) {
    std::uint32_t tasks = 0;
    // Counting takes memory.
    c_api::guarded(nullptr, [&]() -> std::optional<c_api::Failure> {
        if (node < distgpu_layout_node_count(layout))
            tasks = layout->value.tasks_on(NodeIndex{node});
        return std::nullopt;
    });
    return tasks;
}

distgpu_status distgpu_layout_find_node(const distgpu_layout* layout, const char* name,
                                        std::uint32_t* node, distgpu_error* error) {
    return c_api::guarded(error, [&]() -> std::optional<c_api::Failure> {
        if (layout == nullptr) return c_api::missing("layout");
        if (name == nullptr) return c_api::missing("name");
        if (node == nullptr) return c_api::missing("node");
        const auto found = layout->value.hosts().find(name);
        if (!found) {
            return c_api::Failure{DISTGPU_ERANGE,
                                  {formatted("node {}", name), "not in the layout",
                                   "use a name from the layout's text"}};
        }
        *node = found->value;
        return std::nullopt;
    });
}

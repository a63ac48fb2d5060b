// The layout of mapping.h.
#include "c_api_testing.h"

#include <cstdint>
#include <vector>

namespace distgpu::c_api_testing {
namespace {

Refused refused_layout(const distgpu_layout_text* text) {
    return refused<distgpu_layout>(
        [&](auto** object, auto* error) { return distgpu_layout_create(text, object, error); });
}

std::vector<std::uint32_t> tasks_of_all(const distgpu_layout* layout) {
    std::vector<std::uint32_t> tasks;
    for (std::uint32_t node = 0; node < distgpu_layout_node_count(layout); ++node) {
        tasks.push_back(distgpu_layout_tasks_on(layout, node));
    }
    return tasks;
}

TEST(CApiLayout, CountsNodesAndTasks) {
    const auto step = layout("n[1-3]", "2,1(x2)");
    EXPECT_EQ(distgpu_layout_node_count(step.get()), 3U);
    EXPECT_EQ(distgpu_layout_task_count(step.get()), 4U);
    EXPECT_EQ(tasks_of_all(step.get()), (std::vector<std::uint32_t>{2, 1, 1}));
    EXPECT_EQ(distgpu_layout_tasks_on(step.get(), 3), 0U);
}

TEST(CApiLayout, EveryTextIsRead) {
    distgpu_layout_text text = layout_text(nullptr, nullptr);
    text.nodes = "2";
    text.ntasks = "5";
    EXPECT_EQ(tasks_of_all(layout(text).get()), (std::vector<std::uint32_t>{3, 2}));
    text = layout_text("n[1-2]", nullptr);
    text.distribution = "arbitrary=n2,n1,n2";
    EXPECT_EQ(tasks_of_all(layout(text).get()), (std::vector<std::uint32_t>{1, 2}));
}

TEST(CApiLayout, FindsANodeByItsName) {
    const auto step = layout("n[1-3]", "1(x3)");
    std::uint32_t node = 77;
    distgpu_error error{"text of an earlier failure"};
    EXPECT_EQ(distgpu_layout_find_node(step.get(), "n3", &node, &error), DISTGPU_OK);
    EXPECT_EQ(node, 2U);
    EXPECT_STREQ(error.text, "");
    EXPECT_EQ(distgpu_layout_find_node(step.get(), "n4", &node, &error), DISTGPU_ERANGE);
    EXPECT_STREQ(error.text,
                 "distgpu: node n4: not in the layout; use a name from the layout's text");
    EXPECT_EQ(node, 2U);
}

TEST(CApiLayout, RefusesTextsThatAreNone) {
    const distgpu_layout_text nothing = layout_text(nullptr, nullptr);
    EXPECT_EQ(refused_layout(&nothing),
              (Refused{DISTGPU_EINVAL,
                       "distgpu: the step: no nodes are given; give --nodes N or "
                       "--nodelist NODES"}));
    distgpu_layout_text unsized = layout_text("n1", "1");
    unsized.size = 0;
    EXPECT_EQ(refused_layout(&unsized),
              (Refused{DISTGPU_EINVAL,
                       "distgpu: distgpu_layout_text.size 0: not the size of the struct; set it to "
                       "sizeof(struct distgpu_layout_text)"}));
    EXPECT_EQ(refused_layout(nullptr),
              (Refused{DISTGPU_EINVAL, "distgpu: text: is NULL; see distgpu/mapping.h"}));
}

TEST(CApiLayout, NullIsNoLayout) {
    EXPECT_EQ(distgpu_layout_node_count(nullptr), 0U);
    EXPECT_EQ(distgpu_layout_task_count(nullptr), 0U);
    EXPECT_EQ(distgpu_layout_tasks_on(nullptr, 0), 0U);
    const auto step = layout("n1", "1");
    std::uint32_t node = 0;
    EXPECT_EQ(distgpu_layout_find_node(nullptr, "n1", &node, nullptr), DISTGPU_EINVAL);
    EXPECT_EQ(distgpu_layout_find_node(step.get(), nullptr, &node, nullptr), DISTGPU_EINVAL);
    EXPECT_EQ(distgpu_layout_find_node(step.get(), "n1", nullptr, nullptr), DISTGPU_EINVAL);
    distgpu_layout_destroy(nullptr);
}

}  // namespace
}  // namespace distgpu::c_api_testing

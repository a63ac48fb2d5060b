// What the tests of mapping.h share: objects that destroy themselves.
#pragma once

#include <distgpu/mapping.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>

namespace distgpu::c_api_testing {

struct Destroy {
    void operator()(distgpu_request* request) const { distgpu_request_destroy(request); }
    void operator()(distgpu_layout* layout) const { distgpu_layout_destroy(layout); }
    void operator()(distgpu_topology* topology) const { distgpu_topology_destroy(topology); }
    void operator()(const distgpu_node_plan* plan) const { distgpu_node_plan_destroy(plan); }
};

template <class Object>
using Owned = std::unique_ptr<Object, Destroy>;

// An object that can be made: `create(&object, &error)`.
template <class Object, class Create>
Owned<Object> made(Create create) {
    Object* object = nullptr;
    distgpu_error error{"text of an earlier failure"};
    EXPECT_EQ(create(&object, &error), DISTGPU_OK) << error.text;
    EXPECT_STREQ(error.text, "");
    EXPECT_NE(object, nullptr);
    return Owned<Object>(object);
}

// One that cannot: the status and the message; the object has to become NULL.
struct Refused {
    distgpu_status status;
    std::string message;

    bool operator==(const Refused&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Refused& refused) {
    return out << refused.status << ' ' << refused.message;
}

template <class Object, class Create>
Refused refused(Create create) {
    alignas(std::max_align_t) static char place;
    auto* object = reinterpret_cast<Object*>(&place);
    distgpu_error error{};
    const distgpu_status status = create(&object, &error);
    EXPECT_EQ(object, nullptr);
    distgpu_error* const nobody = nullptr;
    EXPECT_EQ(create(&object, nobody), status);
    return {status, error.text};
}

inline Owned<distgpu_request> request(const char* spec) {
    return made<distgpu_request>(
        [&](auto** object, auto* error) { return distgpu_request_create(spec, object, error); });
}

inline distgpu_layout_text layout_text(const char* nodelist, const char* tasks_per_node) {
    distgpu_layout_text text{};
    text.size = sizeof(text);
    text.nodelist = nodelist;
    text.tasks_per_node = tasks_per_node;
    return text;
}

inline Owned<distgpu_layout> layout(const distgpu_layout_text& text) {
    return made<distgpu_layout>(
        [&](auto** object, auto* error) { return distgpu_layout_create(&text, object, error); });
}

inline Owned<distgpu_layout> layout(const char* nodelist, const char* tasks_per_node) {
    return layout(layout_text(nodelist, tasks_per_node));
}

}  // namespace distgpu::c_api_testing

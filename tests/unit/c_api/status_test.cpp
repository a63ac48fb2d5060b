// What a call from C answers where it fails.
#include "c_api/status.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace distgpu::c_api {
namespace {

TEST(Guarded, NoExceptionLeavesIt) {
    distgpu_error error{};
    const auto no_memory = []() -> std::optional<Failure> { throw std::bad_alloc(); };
    EXPECT_EQ(guarded(&error, no_memory), DISTGPU_ENOMEM);
    EXPECT_STREQ(error.text, "distgpu: memory: none left; describe a smaller step");
    const auto defect = []() -> std::optional<Failure> { throw std::logic_error("oops"); };
    EXPECT_EQ(guarded(&error, defect), DISTGPU_EDEFECT);
    EXPECT_STREQ(error.text, "distgpu: library: unknown exception; please report this");
    EXPECT_EQ(guarded(nullptr, defect), DISTGPU_EDEFECT);
}

TEST(Guarded, AMessageIsCutWhereItIsTooLong) {
    distgpu_error error{};
    const std::string long_text(2000, 'x');
    EXPECT_EQ(guarded(&error,
                      [&]() -> std::optional<Failure> {
                          return Failure{DISTGPU_EREFUSED, {"a", long_text, "b"}};
                      }),
              DISTGPU_EREFUSED);
    EXPECT_EQ(std::string(error.text), "distgpu: a: " + std::string(1023 - 12, 'x'));
}

TEST(Create, NothingIsHandedOutWhereTheObjectCannotBeMade) {
    int before = 0;
    int* handle = &before;
    EXPECT_EQ(create("handle", &handle, nullptr, []() -> Made<int> { throw std::bad_alloc(); }),
              DISTGPU_ENOMEM);
    EXPECT_EQ(handle, nullptr);
}

}  // namespace
}  // namespace distgpu::c_api

// Errors as users read them.
#include "base/result.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

TEST(Error, SaysWhatIsWrongAndWhatToDo) {
    const Error error{"step 1.0", "no tasks", "ask for one with --ntasks"};
    EXPECT_EQ(error.message(), "distgpu: step 1.0: no tasks; ask for one with --ntasks");
    EXPECT_EQ((Error{"step 1.0", "no tasks", ""}).message(), "distgpu: step 1.0: no tasks");
}

TEST(Error, IsEqualInAllThreeParts) {
    const Error error{"a", "b", "c"};
    EXPECT_EQ(error, (Error{"a", "b", "c"}));
    EXPECT_NE(error, (Error{"x", "b", "c"}));
    EXPECT_NE(error, (Error{"a", "x", "c"}));
    EXPECT_NE(error, (Error{"a", "b", "x"}));
}

}  // namespace
}  // namespace distgpu

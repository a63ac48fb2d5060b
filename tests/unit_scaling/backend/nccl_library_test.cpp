#include "backend/nccl_library.h"

#include <gtest/gtest.h>

namespace distgpu::scaling::nccl {
namespace {

TEST(VersionText, HasTwoDigitsOfEach) {
    EXPECT_EQ(version_text(21805), "2.18.5");
    EXPECT_EQ(version_text(23007), "2.30.7");
}

}  // namespace
}  // namespace distgpu::scaling::nccl

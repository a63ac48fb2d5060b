#include "run/environment.h"

#include <gtest/gtest.h>

#include <array>

namespace distgpu::scaling {
namespace {

TEST(KeptEnvironment, IsAnAllowList) {
    const std::array<const char*, 7> environment{"NCCL_DEBUG=INFO",
                                                 "AWS_SECRET_ACCESS_KEY=x",
                                                 "CUDA_VISIBLE_DEVICES=0,1",
                                                 "OMPI_MCA_btl=self,tcp",
                                                 "OMPI_MCA_orte_hnp_uri=y",
                                                 "MY_NCCL_DEBUG=z",
                                                 nullptr};
    const std::vector<std::pair<std::string, std::string>> kept{
        {"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_DEBUG", "INFO"}, {"OMPI_MCA_btl", "self,tcp"}};
    EXPECT_EQ(kept_environment(environment.data()), kept);
}

}  // namespace
}  // namespace distgpu::scaling

#include "run/environment.h"

#include "scratch_folder.h"

#include <gtest/gtest.h>

#include <array>

namespace distgpu::scaling {
namespace {

using Variables = std::vector<Variable>;

TEST(KeptEnvironment, IsAnAllowList) {
    const std::array<const char*, 7> environment{"NCCL_DEBUG=INFO",
                                                 "AWS_SECRET_ACCESS_KEY=x",
                                                 "CUDA_VISIBLE_DEVICES=0,1",
                                                 "OMPI_MCA_btl=self,tcp",
                                                 "OMPI_MCA_orte_hnp_uri=y",
                                                 "MY_NCCL_DEBUG=z",
                                                 nullptr};
    EXPECT_EQ(kept_environment(environment.data(), {}), (Variables{{"CUDA_VISIBLE_DEVICES", "0,1"},
                                                                   {"NCCL_DEBUG", "INFO"},
                                                                   {"OMPI_MCA_btl", "self,tcp"}}));
}

// As NCCL does: setenv() without overwriting, file after file.
TEST(KeptEnvironment, FilesAddWhatNobodyHasSetBeforeThem) {
    const ScratchFolder folder;
    const std::vector<ConfFile> files{
        {folder.path("none"), "none"},
        {folder.write("user", "NCCL_ALGO=Ring\nNCCL_DEBUG=WARN\nNCCL_ALGO=Tree\n"), "user"},
        {folder.write("all", "NCCL_ALGO=NVLS\nNCCL_PROTO=LL\nSECRET=x\n"), "all"}};
    const std::array<const char*, 3> environment{"NCCL_PROTO=", "NCCL_DEBUG=INFO", nullptr};
    EXPECT_EQ(kept_environment(environment.data(), files), (Variables{{"NCCL_ALGO", "Ring", "user"},
                                                                      {"NCCL_DEBUG", "INFO", ""},
                                                                      {"NCCL_PROTO", "", ""}}));
    const std::array<const char*, 1> nothing{nullptr};
    EXPECT_EQ(kept_environment(nothing.data(), files), (Variables{{"NCCL_ALGO", "Ring", "user"},
                                                                  {"NCCL_DEBUG", "WARN", "user"},
                                                                  {"NCCL_PROTO", "LL", "all"}}));
}

}  // namespace
}  // namespace distgpu::scaling

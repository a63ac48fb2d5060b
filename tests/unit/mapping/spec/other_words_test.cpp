// Other words for modes and keys: what is offered has to be one of ours.
#include "mapping/spec/other_words.h"

#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

TEST(OtherWords, MeanModesThatThereAre) {
    for (const char* word : {"ddp", "torch.distributed", "pl", "hf", "zero", "megatron-core",
                             "mosaic", "hvd", "openmpi", "keras", "flax"}) {
        const auto mode = mode_meant_by(word);
        ASSERT_TRUE(mode) << word;
        EXPECT_NE(find_framework(*mode), nullptr) << word;
        // Else nobody would have to be told.
        EXPECT_EQ(find_framework(word), nullptr) << word;
    }
    EXPECT_EQ(mode_meant_by("none"), "off");
    EXPECT_EQ(mode_meant_by("pytorch"), std::nullopt);
    EXPECT_EQ(mode_meant_by(""), std::nullopt);
}

TEST(OtherWords, MeanKeysThatThereAre) {
    const auto keys = spec_keys();
    for (const char* word : {"master-port", "main_process_ip", "NPROC_PER_NODE", "rdzv-backend",
                             "omp_num_threads", "gpu-bind", "cpu-bind", "ib", "debug", "test"}) {
        const auto ours = key_meant_by(word);
        ASSERT_TRUE(ours) << word;
        EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const SpecKey& key) {
            return key.name == *ours;
        })) << word;
    }
    EXPECT_EQ(key_meant_by("port"), std::nullopt);
}

}  // namespace
}  // namespace distgpu

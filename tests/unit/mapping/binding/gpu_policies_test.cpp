// The list of policies for GPUs against the words that the help and the messages name.
#include "mapping/binding/gpu_policies.h"

#include "base/format.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu {
namespace {

std::vector<std::string> words() {
    std::vector<std::string> all;
    for (const GpuPolicy* policy : gpu_policies()) all.emplace_back(policy->word);
    return all;
}

TEST(GpuPolicies, AreTheValuesOfTheKey) {
    const auto keys = spec_keys();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [](const SpecKey& other) { return other.name == "gpus"; });
    ASSERT_NE(key, keys.end());
    const std::vector<std::string> listed = words();
    EXPECT_EQ(key->placeholder, join(listed, "|"));
    for (const std::string& word : listed) {
        const auto policy = parse_gpu_policy(word);
        ASSERT_TRUE(policy) << word;
        EXPECT_EQ((*policy)->word, word);
    }
}

}  // namespace
}  // namespace distgpu

// srun's option --container, among its like.
#include "oci_container.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

bool named(std::vector<std::string> options, const char* variable = "") {
    std::vector<std::string> arguments{"srun"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"prog", "--container=x"});
    return names_container(arguments, 2, variable);
}

TEST(NamesContainer, IsSruns) {
    EXPECT_TRUE(named({"--container=/images/a"}));
    EXPECT_TRUE(named({"-N1", "--container", "/images/a"}));
    EXPECT_TRUE(named({"--conta=/images/a"}));
    EXPECT_TRUE(named({}, "/images/a"));
}

TEST(NamesContainer, IsNoOtherOptionAndNotTheProgramsOwn) {
    EXPECT_FALSE(named({}));
    EXPECT_FALSE(named({"--contiguous"}));
    EXPECT_FALSE(named({"--cont"}));
    EXPECT_FALSE(named({"--container-image=/images/a.sqsh", "--container-mounts=/a"}));
}

}  // namespace
}  // namespace distgpu

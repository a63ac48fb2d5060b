// Which steps belong to another launcher, and not to the user.
#include "slurm/srun_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Arguments = std::vector<std::string>;

TEST(ForeignLauncher, DaemonsOfMpirunAreForeign) {
    for (const char* daemon :
         {"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy"}) {
        EXPECT_TRUE(is_foreign_launcher(Arguments{daemon})) << daemon;
        EXPECT_TRUE(is_foreign_launcher(Arguments{std::string("/opt/mpi/bin/") + daemon, "-mca"}))
            << daemon;
        EXPECT_TRUE(is_foreign_launcher(Arguments{std::string("./") + daemon})) << daemon;
    }
}

TEST(ForeignLauncher, EverythingElseIsTheUsers) {
    const std::vector<Arguments> rows = {
        {},
        {""},
        {"/"},
        {"python3", "train.py"},
        {"/usr/bin/python3", "orted"},
        {"orted.py"},
        {"my_orted"},
        {"orted/train"},
        {"ORTED"},
        {"prterun"},
        {"mpirun"},
    };
    for (const auto& arguments : rows) {
        EXPECT_FALSE(is_foreign_launcher(arguments)) << (arguments.empty() ? "" : arguments[0]);
    }
}

}  // namespace
}  // namespace distgpu

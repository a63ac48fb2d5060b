// slurm.conf, and what Slurm's commands say of this host.
#include "slurm/slurm_conf.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

TEST(SlurmConfValue, IsOfTheKeyAlone) {
    const std::string conf =
        "ClusterName=x # PluginDir=/comment\n#PluginDir=/no\nPluginDirs=/other\n"
        "\tplugindir=\"/a:/b\"\r\nPlugStackConfig = /blank\n";
    EXPECT_EQ(slurm_conf_value(conf, "PluginDir"), "/a:/b");
    EXPECT_EQ(slurm_conf_value(conf, "ClusterName"), "x");
    EXPECT_EQ(slurm_conf_value(conf, "NodeName"), std::nullopt);
    // Slurm takes blanks around the sign.
    EXPECT_EQ(slurm_conf_value(conf, "PlugStackConfig"), "/blank");
}

TEST(PlugstackPath, IsConfiguredOrBesideSlurmConf) {
    const MadeUpFolder folder;
    folder.write("slurm.conf", "ClusterName=x\n");
    const MapEnvironment environment({{"SLURM_CONF", folder.path("slurm.conf")}});
    EXPECT_EQ(plugstack_path(environment), folder.path("plugstack.conf"));
    folder.write("slurm.conf", "PlugStackConfig=/etc/stack\n");
    EXPECT_EQ(plugstack_path(environment), "/etc/stack");
}

TEST(PluginFolders, AreThoseOfSlurmConfOrOfSlurmctld) {
    const MadeUpFolder folder;
    const MapEnvironment environment(
        {{"SLURM_CONF", folder.path("slurm.conf")}, {"PATH", folder.path() + ":/usr/bin:/bin"}});
    folder.write_program("scontrol",
                         "#!/bin/sh\necho 'PlugStackConfig  = /a'\necho 'PluginDir  = /b:/c'\n");
    folder.write("slurm.conf", "");
    EXPECT_EQ(*plugin_folders(environment), (std::vector<std::string>{"/b", "/c"}));
    folder.write("slurm.conf", "PluginDir=/opt/slurm/lib:/usr/lib\n");
    EXPECT_EQ(*plugin_folders(environment),
              (std::vector<std::string>{"/opt/slurm/lib", "/usr/lib"}));
}

TEST(ParseRelease, ReadsTheAnswersOfSlurmsCommands) {
    for (const char* text : {"slurm-wlm 22.05.8", "slurm 22.05.0-0rc1\n", "slurm 22.05\n"}) {
        const auto release = parse_release(text);
        ASSERT_TRUE(release) << text;
        EXPECT_EQ(*release, "22.05") << text;
    }
    for (const char* text : {"", "slurm", "slurm x.05", "slurm 22", "slurm 22."}) {
        EXPECT_FALSE(parse_release(text)) << text;
    }
}

TEST(SlurmRelease, IsThatOfSlurmdOrOfScontrol) {
    const MadeUpFolder folder;
    const MapEnvironment environment({{"PATH", folder.path() + ":/bin"}});
    EXPECT_FALSE(slurm_release(environment));
    folder.write_program("scontrol", "#!/bin/sh\n[ $1 = --version ] && echo slurm 24.11.5\n");
    EXPECT_EQ(*slurm_release(environment), "24.11");
    folder.write_program("slurmd", "#!/bin/sh\n[ $1 = -V ] && echo slurm 22.05.8\n");
    EXPECT_EQ(*slurm_release(environment), "22.05");
}

}  // namespace
}  // namespace distgpu

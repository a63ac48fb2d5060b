// What slurm.conf and Slurm's commands say of this host.
#include "check_config/slurm_here.h"

#include "made_up_folder.h"
#include "map_environment.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

TEST(PortRanges, AreThoseOfTheKernel) {
    EXPECT_EQ(parse_port_ranges("32768\t60999"), (std::vector<PortRange>{{32768, 60999}}));
    EXPECT_EQ(parse_port_ranges("4000-4100,5000"),
              (std::vector<PortRange>{{4000, 4100}, {5000, 5000}}));
    for (const char* none : {"", "x", "1-", "70000", "1-65536", "-"}) {
        EXPECT_TRUE(parse_port_ranges(none).empty()) << none;
    }
}

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

TEST(PluginFolders, AreThoseOfSlurmConf) {
    const MadeUpFolder folder;
    folder.write("slurm.conf", "PluginDir=/opt/slurm/lib:/usr/lib\n");
    const auto folders =
        plugin_folders(MapEnvironment({{"SLURM_CONF", folder.path("slurm.conf")}}));
    ASSERT_TRUE(folders);
    EXPECT_EQ(*folders, (std::vector<std::string>{"/opt/slurm/lib", "/usr/lib"}));
}

TEST(PluginFolders, AreElseThoseOfSlurmctld) {
    const MadeUpFolder folder;
    folder.write("slurm.conf", "");
    folder.write("scontrol",
                 "#!/bin/sh\necho 'PlugStackConfig  = /a'\necho 'PluginDir  = /b:/c'\n");
    std::filesystem::permissions(folder.path("scontrol"), std::filesystem::perms::owner_all);
    const auto folders = plugin_folders(MapEnvironment(
        {{"SLURM_CONF", folder.path("slurm.conf")}, {"PATH", folder.path() + ":/usr/bin:/bin"}}));
    ASSERT_TRUE(folders) << folders.error().message();
    EXPECT_EQ(*folders, (std::vector<std::string>{"/b", "/c"}));
}

TEST(ParseRelease, ReadsTheAnswersOfSlurmsCommands) {
    for (const char* text : {"slurm-wlm 22.05.8", "slurm 22.05.0-0rc1\n", "slurm 22.05\n"}) {
        const auto release = parse_release(text);
        ASSERT_TRUE(release) << text;
        EXPECT_EQ(*release, (SlurmRelease{22, 5})) << text;
    }
    for (const char* text : {"", "slurm", "slurm x.05", "slurm 22", "slurm 22."}) {
        EXPECT_FALSE(parse_release(text)) << text;
    }
}

}  // namespace
}  // namespace distgpu

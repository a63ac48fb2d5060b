#include "mapping/binding/binding.h"
#include "mapping/topology/port_verdicts.h"
#include "two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using State = HcaPort::State;
using Link = HcaPort::Link;

// The verdict on each HCA's one port; "" where it is eligible.
std::vector<std::string> judged(const std::vector<HcaPort>& ports) {
    NodeTopology node = two_socket_node({}, std::vector<std::uint32_t>(ports.size(), 0));
    for (std::size_t i = 0; i < ports.size(); ++i) node.hcas[i].ports = {ports[i]};
    std::vector<std::string> whys;
    for (const auto& of_hca : port_verdicts(node)) {
        EXPECT_EQ(of_hca[0].eligible, of_hca[0].why.empty());
        whys.push_back(of_hca[0].why);
    }
    return whys;
}

TEST(JudgePorts, ADownPortIsNotUsed) {
    EXPECT_THAT(judged({{1, State::active, Link::infiniband, 200},
                        {1, State::down, Link::infiniband, 200},
                        {1, State::unknown, Link::infiniband, 200}}),
                ElementsAre("", "down", "state not known"));
}

TEST(JudgePorts, AllPortsCountWhereNoStateIsKnown) {
    EXPECT_THAT(judged({{1, State::unknown, Link::infiniband, 200},
                        {1, State::unknown, Link::infiniband, 200}}),
                ElementsAre("", ""));
}

TEST(JudgePorts, AManagementNicIsTooSlow) {
    EXPECT_THAT(judged({{1, State::active, Link::ethernet, 400},
                        {1, State::active, Link::ethernet, 200},
                        {1, State::active, Link::ethernet, 25},
                        {1, State::active, Link::ethernet, 0}}),
                ElementsAre("", "", "25 Gb/s beside 400 Gb/s", ""));
}

TEST(JudgePorts, ADownPortsRateDoesNotCount) {
    EXPECT_THAT(
        judged({{1, State::down, Link::ethernet, 400}, {1, State::active, Link::ethernet, 100}}),
        ElementsAre("down", ""));
}

TEST(JudgePorts, EthernetBesideInfinibandIsAnotherNetwork) {
    EXPECT_THAT(judged({{1, State::active, Link::infiniband, 200},
                        {1, State::active, Link::ethernet, 200}}),
                ElementsAre("", "Ethernet beside InfiniBand"));
    EXPECT_THAT(
        judged({{1, State::down, Link::infiniband, 200}, {1, State::active, Link::ethernet, 200}}),
        ElementsAre("down", ""));
    // A slow InfiniBand port is not the compute fabric.
    EXPECT_THAT(
        judged({{1, State::active, Link::infiniband, 56}, {1, State::active, Link::ethernet, 400}}),
        ElementsAre("56 Gb/s beside 400 Gb/s", ""));
}

}  // namespace
}  // namespace distgpu

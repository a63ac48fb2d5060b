// Addresses that the user chose and at which rank 0 cannot be found.
#include "mapping/plan/rendezvous_address.h"

#include "plan_testing.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

// Rank 0 runs on node02 of node[01-03], whose addresses are 10.0.0.1 to 3.
Step arbitrary_step() {
    Step step = step_of(layout("node[01-03]", {{1, 1, 1, 1}, {0, 1, 1, 1}, {2, 1, 1, 1}}));
    step.facts.node_addresses =
        HostList::from_names(std::vector<std::string>{"10.0.0.1", "10.0.0.2", "10.0.0.3"});
    step.rendezvous.rank0_address = "10.0.0.2";
    return step;
}

std::string refused(const char* spec, Step step, std::optional<std::string> exported) {
    step.rendezvous.exported_address = std::move(exported);
    const auto error = refusal(request(spec), step);
    return error ? error->message() : "";
}

TEST(MisleadingAddress, IsTheLoopback) {
    for (const std::string host :
         {"localhost", "localhost.localdomain", "127.0.0.1", "127.0.1.1", "::1", "0.0.0.0", "::"}) {
        EXPECT_EQ(refused("pytorch", arbitrary_step(), host),
                  "distgpu: MASTER_ADDR=" + host +
                      ": each of the step's 3 nodes would look for rank 0 on itself; unset "
                      "MASTER_ADDR");
    }
}

TEST(MisleadingAddress, IsThatOfAnotherNode) {
    for (const std::string host : {"node01", "10.0.0.1", "node03", "10.0.0.3"}) {
        EXPECT_EQ(refused("torchrun", arbitrary_step(), host),
                  "distgpu: MASTER_ADDR=" + host + ": rank 0 runs on node02; unset MASTER_ADDR");
    }
}

TEST(MisleadingAddress, IsNoneThatCanBeRankZeros) {
    for (const char* host : {"node02", "10.0.0.2", "node02-ib0", "node01-ib0", "head.example",
                             "127.example", "localhost.example"}) {
        EXPECT_EQ(refused("pytorch", arbitrary_step(), host), "") << host;
    }
    EXPECT_EQ(refused("pytorch", arbitrary_step(), std::nullopt), "");
}

// Several slurmds of one machine.
TEST(MisleadingAddress, MayBeSharedByNodes) {
    Step step = arbitrary_step();
    step.facts.node_addresses =
        HostList::from_names(std::vector<std::string>{"10.0.0.9", "10.0.0.9", "10.0.0.9"});
    step.rendezvous.rank0_address = "";
    EXPECT_EQ(refused("pytorch", step, "10.0.0.9"), "");
    step.facts.node_addresses = {};
    step.rendezvous.rank0_address = "node01";
    EXPECT_EQ(refused("pytorch", step, "node01"), "");
}

TEST(MisleadingAddress, IsNoneOnOneNode) {
    EXPECT_EQ(refused("pytorch", step_of(layout("node01", {{0, 1, 4, 1}})), "localhost"), "");
}

TEST(MisleadingAddress, OfAKeyIsTheKeys) {
    EXPECT_EQ(refused("pytorch,master=127.0.0.1", arbitrary_step(), "node02"),
              "distgpu: master=127.0.0.1: each of the step's 3 nodes would look for rank 0 on "
              "itself; leave master= out");
    EXPECT_EQ(refused("pytorch,master=node03", arbitrary_step(), std::nullopt),
              "distgpu: master=node03: rank 0 runs on node02; leave master= out");
    EXPECT_EQ(refused("pytorch,master=name", arbitrary_step(), "localhost"), "");
}

TEST(MisleadingAddress, DoesNotMatterWithoutARendezvous) {
    EXPECT_EQ(refused("horovod", arbitrary_step(), "localhost"), "");
    EXPECT_NE(refused("horovod,backend=gloo", arbitrary_step(), "localhost"), "");
}

// The nodes know what --export made of it.
TEST(MisleadingAddress, IsRefusedByThePlanOfANode) {
    Step step = arbitrary_step();
    step.rendezvous.exported_address = "localhost";
    EXPECT_FALSE(plan(request("jax"), step, NodeFacts{.node = NodeIndex{2}}));
}

}  // namespace
}  // namespace distgpu::plan_testing

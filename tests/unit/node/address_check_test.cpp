// Addresses that the user chose for rank 0's node, compared with this machine's. All are numbers or
// this machine's own name: nothing is looked up in the network.
#include "node/address_check.h"

#include "mapping/spec/parse_spec.h"
#include "node/machine.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

StepLayout tasks_on_n1(std::uint32_t tasks) {
    return *StepLayout::from_assignment(HostList::from_names(std::vector<std::string>{"n1"}),
                                        std::vector<std::uint32_t>(tasks, 0));
}

// Empty: the address is accepted.
std::string refused(const char* spec, std::string address, std::uint32_t tasks = 2) {
    RendezvousFacts facts;
    facts.rank0_address = "10.0.0.1";
    facts.exported_address = std::move(address);
    std::vector<Error> warnings;
    const auto error =
        check_address(*parse_spec("SPEC", spec), tasks_on_n1(tasks), facts, warnings);
    EXPECT_TRUE(warnings.empty());
    return error ? error->message() : "";
}

TEST(CheckAddress, RefusesThatOfAnotherMachine) {
    EXPECT_EQ(refused("pytorch", "192.0.2.7"),
              "distgpu: MASTER_ADDR=192.0.2.7: not an address of n1, where rank 0 runs; unset "
              "MASTER_ADDR");
    EXPECT_EQ(refused("pytorch,master=192.0.2.7", "n1"),
              "distgpu: master=192.0.2.7: not an address of n1, where rank 0 runs; leave master= "
              "out");
    EXPECT_NE(refused("torchrun", "192.0.2.7", 1), "");
}

TEST(CheckAddress, TakesTheNodesOwn) {
    for (const std::string& own : {std::string("n1"), std::string("10.0.0.1"), host_name(),
                                   std::string("127.0.0.1"), std::string("::1")}) {
        EXPECT_EQ(refused("pytorch", own), "") << own;
    }
}

TEST(CheckAddress, DoesNotMatterWhereNobodyLooksForRankZero) {
    EXPECT_EQ(refused("pytorch", "192.0.2.7", 1), "");
    EXPECT_EQ(refused("horovod", "192.0.2.7"), "");
    EXPECT_EQ(refused("pytorch,master=name", "192.0.2.7"), "");
}

}  // namespace
}  // namespace distgpu

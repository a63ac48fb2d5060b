// A process that puts the nodes of its step into an order by itself, as distgpu exec does.
#include "base/environment.h"
#include "mapping/spec/parse_spec.h"
#include "node/own_task.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

ProcessPlace place_of(Launcher launcher, const char* nodes, const char* tasks) {
    ProcessPlace place{
        launcher,
        *StepLayout::distribute(*HostList::parse(nodes), *parse_tasks_per_node(tasks), {}),
        NodeIndex{0}, LocalRank{0}};
    place.knows_hosts = launcher == Launcher::slurm;
    return place;
}

// What order_nodes() says, of a process with RING in its environment.
std::string ordered(const char* spec, ProcessPlace& place) {
    const EnvironmentCopy environment(EnvironmentCopy::Variables{{"RING", "n2,n1"}});
    const auto text = order_nodes(*parse_spec("SPEC", spec), place, environment);
    return text ? *text : text.error().message();
}

TEST(OrderNodes, TakesTheUsersList) {
    ProcessPlace place = place_of(Launcher::slurm, "n[1-2]", "2(x2)");
    EXPECT_EQ(ordered("pytorch,order=$RING", place), "order: $RING");
    EXPECT_EQ(place.layout.rank(NodeIndex{0}, LocalRank{0}), GlobalRank{2});
}

TEST(OrderNodes, LeavesThemWhereNobodyAskedOrSomebodyDidSo) {
    ProcessPlace place = place_of(Launcher::slurm, "n[1-2]", "2(x2)");
    EXPECT_EQ(ordered("pytorch", place), "");
    EXPECT_EQ(ordered("pytorch,order=slurm", place), "");
    EXPECT_TRUE(place.layout.order().empty());
    place.layout = *place.layout.with_order({NodeIndex{0}, NodeIndex{1}});
    EXPECT_EQ(ordered("pytorch,order=$RING", place), "");
    EXPECT_EQ(place.layout.order().front(), NodeIndex{0});
}

TEST(OrderNodes, NeedsTheirNames) {
    ProcessPlace place = place_of(Launcher::mpirun, "n[1-2]", "2(x2)");
    EXPECT_EQ(ordered("pytorch,order=$RING", place),
              "distgpu: order=$RING: mpirun does not name the nodes; start it with srun");
}

// Each of them would be a question to slurmctld.
TEST(OrderNodes, AsksNotForTooManyTasks) {
    ProcessPlace place = place_of(Launcher::slurm, "n[1-2]", "257,256");
    EXPECT_EQ(ordered("pytorch,order=switch", place),
              "distgpu: order=switch: at most 512 tasks may ask slurmctld, but the step has 513; "
              "name the nodes in a file (order=./FILE), or use srun --distgpu");
    EXPECT_EQ(ordered("pytorch,order=$RING", place), "order: $RING");
}

}  // namespace
}  // namespace distgpu

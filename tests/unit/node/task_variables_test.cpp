// A task's variables beside those of the plan.
#include "node/task_variables.h"

#include "map_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Variables = MapEnvironment::Variables;

TaskPlan task() {
    TaskPlan task;
    task.unset = {"PET_*", "OMPI_COMM_WORLD_RANK"};
    task.set = {{"RANK", "1"},       {"MASTER_ADDR", "10"}, {"MASTER_PORT", "2000"},
                {"TF_CONFIG", "{}"}, {"PET_NNODES", "2"},   {"OMP_NUM_THREADS", "4"}};
    return task;
}

Variables prepared() {
    return {{"RANK", "1"},
            {"MASTER_ADDR", "10"},
            {"MASTER_PORT", "2000"},
            {"TF_CONFIG", "{}"},
            {"PET_NNODES", "2"}};
}

std::vector<Difference> of(const Variables& variables) {
    return differences(MapEnvironment(variables), task());
}

TEST(Differences, NoneInAPreparedTask) {
    // Nor in OMP_NUM_THREADS, which the user may have taken away.
    EXPECT_THAT(of(prepared()), IsEmpty());
}

TEST(Differences, NotInAddressesPortsAndTexts) {
    Variables variables = prepared();
    variables["MASTER_ADDR"] = "11";
    variables["MASTER_PORT"] = "3000";
    variables["TF_CONFIG"] = "{\"cluster\": {}}";
    variables["OMP_NUM_THREADS"] = "8";
    EXPECT_THAT(of(variables), IsEmpty());
}

TEST(Differences, ARankIsAnother) {
    Variables variables = prepared();
    variables["RANK"] = "2";
    EXPECT_THAT(of(variables), ElementsAre(Difference{"RANK", "2", "1"}));
}

TEST(Differences, AVariableIsMissingOrEmpty) {
    Variables variables = prepared();
    variables.erase("RANK");
    variables["MASTER_PORT"] = "";
    variables.erase("TF_CONFIG");
    EXPECT_THAT(of(variables), ElementsAre(Difference{"RANK", std::nullopt, "1"},
                                           Difference{"MASTER_PORT", std::nullopt, "2000"},
                                           Difference{"TF_CONFIG", std::nullopt, "{}"}));
}

TEST(Differences, AVariableIsLeftThatWasToBeRemoved) {
    Variables variables = prepared();
    variables["PET_NPROC_PER_NODE"] = "8";
    variables["OMPI_COMM_WORLD_RANK"] = "0";
    variables["OMPI_COMM_WORLD_SIZE"] = "1";  // not named
    EXPECT_THAT(of(variables), ElementsAre(Difference{"OMPI_COMM_WORLD_RANK", "0", std::nullopt},
                                           Difference{"PET_NPROC_PER_NODE", "8", std::nullopt}));
}

}  // namespace
}  // namespace distgpu

// docs/variables.md says what the code does.
#include "mapping/texts/variables.h"

#include "base/format.h"
#include "golden_file.h"
#include "mapping/frameworks/framework.h"
#include "variables_page.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu::golden {
namespace {

TEST(VariablesPage, IsUpToDate) {
    expect_file(DISTGPU_SOURCE_DIR "/docs/variables.md", variables_page());
}

TEST(VariablesPage, NamesEveryVariable) {
    const std::string page = read_file(DISTGPU_SOURCE_DIR "/docs/variables.md");
    const auto names = [&page](std::string_view variable) {
        return page.find(formatted("| `{}` |", variable)) != std::string::npos;
    };
    for (const Framework* framework : frameworks()) {
        EXPECT_NE(page.find(formatted("\n## {}\n", framework->mode)), std::string::npos);
        for (const SetVariable& variable : framework->sets) EXPECT_TRUE(names(variable.name));
        for (const UnsetVariable& variable : framework->unsets) EXPECT_TRUE(names(variable.name));
    }
    for (const char* variable :
         {spec_variable, sent_variable, cpu_bind_variable, rows_variable, given_variable,
          ranks_variable, prepared_variable, bound_variable, layout_variable, secret_variable,
          container_variable, inherited_variable, "SBATCH_DISTGPU", "SALLOC_DISTGPU", "MASTER_ADDR",
          "MASTER_PORT", "SLURM_STEP_RESV_PORTS"}) {
        EXPECT_TRUE(names(variable)) << variable;
    }
}

}  // namespace
}  // namespace distgpu::golden

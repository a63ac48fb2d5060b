// The list of frameworks against the folder of their files, and what every record has to keep to.

#include "base/format.h"
#include "mapping/binding/device_values.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace distgpu {
namespace {

using Names = std::set<std::string, std::less<>>;

bool matches(std::string_view name, std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
}

// The records defined in one source file.
std::vector<std::string> records_in(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string source = text.str();
    const std::regex definition(R"(\nconst Framework (\w+)\{)");
    std::vector<std::string> names;
    for (auto match = std::sregex_iterator(source.begin(), source.end(), definition);
         match != std::sregex_iterator(); ++match) {
        names.push_back((*match)[1]);
    }
    return names;
}

// All records: the frameworks, and the variants that hang on them.
std::vector<const Framework*> all_records() {
    std::vector<const Framework*> records(frameworks().begin(), frameworks().end());
    for (const Framework* framework : frameworks()) {
        for (const Variant& variant : framework->variants) {
            if (std::find(records.begin(), records.end(), variant.framework) == records.end()) {
                records.push_back(variant.framework);
            }
        }
    }
    return records;
}

// What every task of a framework may get.
std::vector<SetVariable> all_variables(const Framework& framework) {
    std::vector<SetVariable> all;
    for (const auto variables : {framework.sets, common_variables(), device_variables()}) {
        all.insert(all.end(), variables.begin(), variables.end());
    }
    return all;
}

TEST(Frameworks, EachRecordOfTheFolderIsListed) {
    std::vector<std::string> defined;
    for (const auto& entry :
         std::filesystem::directory_iterator(DISTGPU_SOURCE_DIR "/libmapping/mapping/frameworks")) {
        const auto records = records_in(entry.path());
        defined.insert(defined.end(), records.begin(), records.end());
    }
    EXPECT_EQ(defined.size(), all_records().size());
    for (const Framework* framework : frameworks()) {
        EXPECT_EQ(std::count(defined.begin(), defined.end(), framework->mode), 1)
            << framework->mode.view();
    }
}

TEST(Frameworks, ModesAreUniqueWordsOfTheGrammar) {
    Names modes{"off", "help"};
    for (const Framework* framework : frameworks()) {
        const std::string mode(framework->mode);
        EXPECT_TRUE(modes.insert(mode).second) << mode << " stands twice";
        EXPECT_TRUE(std::regex_match(mode, std::regex("[a-z][a-z0-9-]*"))) << mode;
        EXPECT_EQ(find_framework(mode), framework);
        EXPECT_EQ(find_framework(mode + "x"), nullptr);
        for (const std::string_view alias : framework->aliases) {
            EXPECT_TRUE(modes.insert(std::string(alias)).second) << alias << " stands twice";
            EXPECT_EQ(find_framework(alias), framework) << alias;
        }
    }
}

// A message that names a record's mode can be typed again.
TEST(Frameworks, ModesAndVariantsAreWhatTheUserWrites) {
    for (const Framework* framework : frameworks()) {
        for (const Variant& variant : framework->variants) {
            const std::string spec = formatted("{},{}", framework->mode, variant.key);
            const auto request = parse_spec("--distgpu", spec);
            ASSERT_TRUE(request) << spec;
            EXPECT_EQ(request->framework, variant.framework) << spec;
        }
    }
    for (const Framework* record : all_records()) {
        const auto request = parse_spec("--distgpu", record->mode);
        ASSERT_TRUE(request) << record->mode.view();
        EXPECT_EQ(request->framework, record) << record->mode.view();
    }
}

// A set variable that an unset pattern matches would depend on the order.
TEST(Frameworks, NoVariableIsBothSetAndUnset) {
    for (const Framework* framework : all_records()) {
        for (const SetVariable& variable : all_variables(*framework)) {
            for (const UnsetVariable& pattern : framework->unsets) {
                EXPECT_FALSE(matches(variable.name, pattern.name))
                    << framework->mode.view() << ": " << variable.name.view() << ", "
                    << pattern.name.view();
            }
        }
    }
}

TEST(Frameworks, VariablesStandOnceInARecord) {
    for (const Framework* framework : all_records()) {
        Names set;
        for (const SetVariable& variable : all_variables(*framework)) {
            EXPECT_TRUE(set.insert(std::string(variable.name)).second)
                << framework->mode.view() << ": " << variable.name.view();
            EXPECT_NE(variable.value, nullptr)
                << framework->mode.view() << ": " << variable.name.view();
        }
        for (const UnsetVariable& one : framework->unsets) {
            for (const UnsetVariable& other : framework->unsets) {
                EXPECT_TRUE(&one == &other || !matches(one.name, other.name))
                    << framework->mode.view() << ": " << one.name.view() << ", "
                    << other.name.view();
            }
        }
    }
}

TEST(Frameworks, NeverTouchWhatIsSlurmsOrTheUsers) {
    for (const Framework* framework : all_records()) {
        for (const SetVariable& variable : framework->sets) {
            for (const char* pattern : {"OMPI_MCA_*", "PMIX_*", "PMI_*", "NCCL_*", "UCX_*"}) {
                EXPECT_FALSE(matches(variable.name, pattern)) << variable.name.view();
            }
        }
        for (const UnsetVariable& variable : framework->unsets) {
            for (const char* name : {"SLURM_PROCID", "MASTER_ADDR", "MASTER_PORT", "PMIX_RANK",
                                     "NCCL_DEBUG", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}) {
                EXPECT_FALSE(matches(name, variable.name))
                    << framework->mode.view() << ": " << name;
            }
        }
    }
}

// A framework's own are its contract, but for how torchrun ends.
TEST(Frameworks, OnlyTheseStayWithTheUser) {
    Names own;
    for (const Framework* framework : all_records()) {
        for (const SetVariable& variable : framework->sets) {
            if (variable.users_own) own.insert(std::string(variable.name));
        }
    }
    EXPECT_EQ(own, (Names{"PET_SHUTDOWN_TIMEOUT", "PET_SIGNALS_TO_HANDLE"}));
    Names kept;
    for (const SetVariable& variable : all_variables(Framework{})) {
        if (variable.users_own) kept.insert(std::string(variable.name));
    }
    EXPECT_EQ(kept,
              (Names{"CUDA_DEVICE_ORDER", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_RAS_ADDR",
                     "NCCL_RAS_ENABLE", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS",
                     "TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE", "UCX_NET_DEVICES"}));
}

// docs/variables.md puts them into the cells of a table.
TEST(Frameworks, TextsAreFitForTheDocumentation) {
    const auto fit = [](std::string_view text) {
        return !text.empty() && !text.ends_with('.') &&
               text.find_first_of("|\n") == std::string_view::npos;
    };
    for (const Framework* framework : all_records()) {
        EXPECT_TRUE(fit(framework->summary)) << framework->mode.view();
        for (const SetVariable& variable : all_variables(*framework)) {
            EXPECT_TRUE(fit(variable.meaning)) << variable.name.view();
        }
        for (const UnsetVariable& variable : framework->unsets) {
            EXPECT_TRUE(fit(variable.reason)) << variable.name.view();
        }
    }
}

}  // namespace
}  // namespace distgpu

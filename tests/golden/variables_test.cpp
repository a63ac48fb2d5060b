// docs/variables.md says what the code does: what a framework sets and removes comes from its
// record, and what distgpu itself reads and hands on is named.
#include "mapping/texts/variables.h"

#include "base/format.h"
#include "golden_file.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::golden {
namespace {

template <class Variables>
std::string set_table(const Variables& variables) {
    std::string rows = "| Variable | Meaning |\n|---|---|\n";
    for (const SetVariable& variable : variables) {
        rows += formatted("| `{}` | {} |\n", variable.name, variable.meaning);
    }
    return rows + '\n';
}

std::string option_table(const Service& service) {
    std::string text =
        service.companion.empty()
            ? "Options that `distgpu exec` adds to the program, unless you wrote them"
            : formatted("Options of the `{}` that `distgpu exec` starts on every node",
                        join(service.companion, " "));
    text +=
        ". What it starts does not get `MASTER_ADDR`, `MASTER_PORT`, `NODE_RANK` and `NODE_ADDR`:"
        "\n\n| Option | Meaning |\n|---|---|\n";
    for (const ProgramOption& option : service.options) {
        text += formatted("| `{}` | {} |\n", option.name, option.meaning);
    }
    return text + '\n';
}

// Removed variables by their reason, in the order of the record.
std::string removed_line(const Framework& framework) {
    std::vector<std::string_view> reasons;
    for (const UnsetVariable& variable : framework.unsets) {
        if (std::find(reasons.begin(), reasons.end(), variable.reason) == reasons.end()) {
            reasons.push_back(variable.reason);
        }
    }
    std::vector<std::string> groups;
    for (const std::string_view reason : reasons) {
        std::vector<std::string> names;
        for (const UnsetVariable& variable : framework.unsets) {
            if (variable.reason == reason) names.push_back(formatted("`{}`", variable.name));
        }
        groups.push_back(formatted("{} ({})", join(names, ", "), reason));
    }
    return groups.empty() ? "" : formatted("Removed: {}.\n\n", join(groups, "; "));
}

bool same_variables(const Framework& left, const Framework& right) {
    return std::equal(left.sets.begin(), left.sets.end(), right.sets.begin(), right.sets.end(),
                      [](const SetVariable& a, const SetVariable& b) {
                          return a.name == b.name && a.meaning == b.meaning;
                      }) &&
           removed_line(left) == removed_line(right) && left.service == right.service;
}

// The modes' sections; modes with the same variables share one. A variable that an earlier section
// explains is only named.
class Sections {
  public:
    void append(const Framework& framework) {
        const auto same =
            std::find_if(sections_.begin(), sections_.end(), [&](const Section& earlier) {
                return same_variables(*earlier.modes.front(), framework);
            });
        if (same != sections_.end()) {
            same->modes.push_back(&framework);
        } else {
            std::string variables = variables_of(framework);
            if (framework.service != nullptr) variables += option_table(*framework.service);
            sections_.push_back({{&framework}, std::move(variables)});
        }
    }
    std::string text() const {
        std::string text;
        for (const Section& section : sections_) {
            std::vector<std::string_view> modes;
            std::vector<std::string_view> summaries;
            for (const Framework* framework : section.modes) {
                modes.push_back(framework->mode);
                summaries.push_back(framework->summary);
            }
            text += formatted("## {}\n{}.{}", join(modes, ", "), join(summaries, "; "),
                              section.variables);
        }
        return text;
    }

  private:
    struct Section {
        std::vector<const Framework*> modes;
        std::string variables;
    };

    std::string variables_of(const Framework& framework) {
        std::vector<std::string> known;
        std::vector<SetVariable> fresh;
        for (const SetVariable& variable : framework.sets) {
            const std::string name(variable.name);
            const std::string meaning(variable.meaning);
            if (const auto found = meanings_.find(name);
                found != meanings_.end() && found->second == meaning) {
                known.push_back(formatted("`{}`", name));
            } else {
                fresh.push_back(variable);
                meanings_[name] = meaning;
            }
        }
        std::string text = known.empty() ? "" : formatted(" Set as above: {}.", join(known, ", "));
        if (fresh.size() <= most_in_a_sentence) {
            std::vector<std::string> items;
            for (const SetVariable& variable : fresh) {
                items.push_back(formatted("`{}` ({})", variable.name, variable.meaning));
            }
            if (!items.empty()) text += formatted(" Set: {}.", join(items, ", "));
        }
        const std::string removed = removed_line(framework);
        const bool has_table = fresh.size() > most_in_a_sentence;
        text += has_table ? "\n\n" + set_table(fresh) : removed.empty() ? "\n\n" : "\n";
        return text + removed;
    }

    static constexpr std::size_t most_in_a_sentence = 3;  // variables; more are a table

    std::vector<Section> sections_;
    std::map<std::string, std::string> meanings_;
};

// What the page has between its first part and its last ones.
std::string tables() {
    std::string text = set_table(common_variables()) +
                       "GPUs and network devices, if the node's topology is known "
                       "([binding](binding.md) says who gets what). An exported `NCCL_*`, `UCX_*` "
                       "or `GLOO_*` variable stays as it is:\n\n" +
                       set_table(device_variables());
    Sections sections;
    for (const Framework* framework : frameworks()) {
        sections.append(*framework);
        for (const Variant& variant : framework->variants) {
            // Others have sections of their own.
            if (variant.framework->mode.view().find(',') != std::string_view::npos) {
                sections.append(*variant.framework);
            }
        }
    }
    return text + sections.text();
}

TEST(VariablesPage, IsUpToDate) {
    const std::string path = DISTGPU_SOURCE_DIR "/docs/variables.md";
    const std::string page = read_file(path);
    const std::string heading = "## In every mode\n";
    const std::size_t begin = page.find(heading);
    const std::size_t end = page.find("## Variables that distgpu reads\n");
    ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end);
    expect_file(path, page.substr(0, begin) + heading + tables() + page.substr(end));
}

TEST(VariablesPage, NamesEveryVariable) {
    const std::string page = read_file(DISTGPU_SOURCE_DIR "/docs/variables.md");
    const auto names = [&page](std::string_view variable) {
        return page.find(formatted("`{}`", variable)) != std::string::npos;
    };
    std::string modes = " ";  // of all sections
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("## ")) modes += line.substr(3) + ", ";
    }
    for (const Framework* framework : frameworks()) {
        EXPECT_NE(modes.find(formatted(" {}, ", framework->mode)), std::string::npos);
        for (const SetVariable& variable : framework->sets) EXPECT_TRUE(names(variable.name));
        for (const UnsetVariable& variable : framework->unsets) EXPECT_TRUE(names(variable.name));
    }
    for (const char* variable :
         {spec_variable, sent_step_variable, cpu_bind_variable, srun_port_variable, given_variable,
          ranks_variable, job_name_variable, prepared_variable, bound_variable, layout_variable,
          secret_variable, container_variable, inherited_variable, "SBATCH_DISTGPU",
          "SALLOC_DISTGPU", "MASTER_ADDR", "MASTER_PORT", "SLURM_STEP_RESV_PORTS"}) {
        EXPECT_TRUE(names(variable)) << variable;
    }
}

}  // namespace
}  // namespace distgpu::golden

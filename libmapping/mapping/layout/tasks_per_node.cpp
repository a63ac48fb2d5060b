// Reading Slurm's counts of tasks per node, "4(x2),1".
#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/layout/step_layout.h"

#include <charconv>
#include <string>
#include <utility>

namespace distgpu {

namespace {

class CountsParser {
  public:
    CountsParser(std::string_view text, StepSize most) : text_{text}, most_{most} {}

    Result<std::vector<TasksRun>> parse();

  private:
    Error refuse(std::size_t offset, std::string problem, std::string remedy) const {
        return {.object = place_in_text("tasks per node", text_, offset),
                .problem = std::move(problem),
                .remedy = std::move(remedy)};
    }

    Result<TasksRun> read_run();
    Result<std::uint32_t> read_count(std::string_view of, std::uint64_t most);
    bool skip(std::string_view expected);

    std::string_view text_;
    StepSize most_;
    std::size_t at_ = 0;
};

Result<std::vector<TasksRun>> CountsParser::parse() {
    std::vector<TasksRun> runs;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    do {
        const auto begin = at_;
        const auto run = read_run();
        if (!run) return run.error();
        nodes += run->nodes;
        tasks += std::uint64_t{run->tasks} * run->nodes;
        if (nodes > most_.nodes) {
            return refuse(begin, formatted("more than {} nodes", most_.nodes),
                          "check the counts after 'x'");
        }
        if (tasks > most_.tasks) {
            return refuse(begin, formatted("more than {} tasks", most_.tasks), "check the counts");
        }
        runs.push_back(*run);
    } while (skip(","));
    if (at_ < text_.size()) {
        return refuse(at_, "expected ',' or the end", "write counts such as 4(x2),1");
    }
    return runs;
}

// "4" or "4(x2)".
Result<TasksRun> CountsParser::read_run() {
    const auto tasks = read_count("tasks", most_.tasks);
    if (!tasks) return tasks.error();
    TasksRun run{.tasks = *tasks, .nodes = 1};
    if (!skip("(x")) return run;
    const auto nodes = read_count("nodes", most_.nodes);
    if (!nodes) return nodes.error();
    run.nodes = *nodes;
    if (!skip(")")) return refuse(at_, "expected ')'", "write counts such as 4(x2),1");
    return run;
}

Result<std::uint32_t> CountsParser::read_count(std::string_view of, std::uint64_t most) {
    const auto begin = at_;
    const auto rest = text_.substr(at_);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error == std::errc::invalid_argument) {
        return refuse(begin, formatted("expected a number of {}", of),
                      "write counts such as 4(x2),1");
    }
    if (error == std::errc::result_out_of_range || count > most) {
        return refuse(begin, formatted("more than {} {}", most, of), "check the counts");
    }
    if (count == 0) {
        return refuse(begin, formatted("0 {}", of), "each count must be at least 1");
    }
    at_ += static_cast<std::size_t>(end - rest.data());
    return static_cast<std::uint32_t>(count);
}

bool CountsParser::skip(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
}

}  // namespace

Result<std::vector<TasksRun>> parse_tasks_per_node(std::string_view text, StepSize most) {
    return CountsParser{text, most}.parse();
}

}  // namespace distgpu

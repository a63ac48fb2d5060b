#include "run/slurm_state.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "inspect/sample_all_nodes.h"
#include "output.h"
#include "slurm/slurm_queries.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::chrono::seconds query_limit{30};

std::optional<std::time_t> read_time(std::string_view text) {
    std::tm local{};
    const char* const end = strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%S", &local);
    if (end == nullptr) return std::nullopt;
    local.tm_isdst = -1;
    return std::mktime(&local);
}

bool is_lost(std::string_view state) {
    return state.find('*') != std::string_view::npos ||
           std::ranges::any_of(words_in(state, "+*"), [](std::string_view word) {
               return has_word("DOWN FAIL FAILING NOT_RESPONDING POWERED_DOWN", word);
           });
}

}  // namespace

JobRecord read_job_record(std::string_view text) {
    JobRecord record;
    for (std::string_view word : words_in(text)) {
        const std::string_view name = cut_until(word, '=');
        if (name == "EndTime") record.end = read_time(word);
        if (name == "Requeue") record.may_be_requeued = word == "1";
        if (name == "JobState") record.is_running = word == "RUNNING";
        if (name == "ExcNodeList" && word != "(null)") record.excluded = word;
    }
    return record;
}

Result<JobRecord> ask_job_record(const Environment& environment) {
    return run_slurm_command(environment,
                             {"scontrol", "--oneliner", "show", "job", own_job(environment)},
                             query_limit)
        .transform([](const std::string& text) { return read_job_record(text); });
}

std::string own_job(const Environment& environment) {
    const std::string array = environment.text("SLURM_ARRAY_JOB_ID");
    if (array.empty()) return environment.text("SLURM_JOB_ID");
    return formatted("{}_{}", array, environment.text("SLURM_ARRAY_TASK_ID"));
}

std::vector<std::string> read_lost_nodes(std::string_view text) {
    std::vector<std::string> lost;
    while (!text.empty()) {
        std::string_view name;
        std::string_view state;
        for (const std::string_view word : words_in(cut_until(text, '\n'))) {
            if (word.starts_with("NodeName=")) name = word.substr(word.find('=') + 1);
            if (word.starts_with("State=")) state = word.substr(word.find('=') + 1);
        }
        if (!name.empty() && is_lost(state)) lost.emplace_back(name);
    }
    return lost;
}

Result<std::vector<std::string>> ask_lost_nodes(const Environment& environment) {
    return run_slurm_command(
               environment,
               {"scontrol", "--oneliner", "show", "node", environment.text("SLURM_JOB_NODELIST")},
               query_limit)
        .transform([](const std::string& text) { return read_lost_nodes(text); });
}

std::vector<std::string> find_silent_nodes(const std::vector<std::string>& nodes,
                                           const Environment& environment) {
    constexpr std::chrono::seconds limit{90};
    const std::string job = environment.text("SLURM_JOB_ID");
    RunningStep all{job, {{job + ".0", job, HostList::from_names(nodes)}}};
    // In a child, because it changes the environment.
    const auto silent = output_of_child(
        [&] {
            const auto answers = ask_all_nodes(
                all,
                [](const StepPart&) {
                    return std::vector<std::string>{"run", "--node"};
                },
                std::chrono::seconds(0));
            if (answers) return join(answers->front().silent, " ");
            print_error_line(answers.error().message());
            return std::string();
        },
        Clock::now() + limit);
    std::vector<std::string> names;
    for (const std::string_view name : words_in(silent.value_or(""))) names.emplace_back(name);
    return names;
}

ExitCode answer_from_node(const Environment& environment) {
    return print_result(answer_lines(environment.text("SLURMD_NODENAME"), "here"), ExitCode::done);
}

// One scontrol does both, because the requeue ends the job's processes: a second one would often
// come too late. Only a pending job accepts the list of nodes.
Result<std::string> requeue_job(const Environment& environment,
                                const std::vector<std::string>& left_out) {
    const std::string job = own_job(environment);
    std::vector<std::string> words{"sh", "-c", R"(printf '%s\n' "$@" | scontrol)", "sh",
                                   "requeue " + job};
    if (!left_out.empty()) {
        const auto record = ask_job_record(environment);
        if (!record) return record.error();
        const std::string others = record->excluded.empty() ? "" : "," + record->excluded;
        words.push_back(
            formatted("update JobId={} ExcNodeList={}{}", job, join(left_out, ","), others));
    }
    auto requeued = run_slurm_command(environment, words, query_limit);
    if (requeued) return requeued;
    return Error{"scontrol requeue", requeued.error().problem, requeued.error().remedy};
}

}  // namespace distgpu

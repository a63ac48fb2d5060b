#include "inspect/rank_facts.h"

#include "base/json_fields.h"

#include <array>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.rank-facts/1";

constexpr std::array<std::string_view, 4> since_words{"start", "given", "planned", "others"};

std::optional<Change::Since> since_of(std::string_view word) {
    for (std::size_t i = 0; i < since_words.size(); ++i) {
        if (since_words.at(i) == word) return static_cast<Change::Since>(i);
    }
    return std::nullopt;
}

JsonText change_json(const Change& change) {
    return {{"since", name_of(change.since)},
            {"name", change.name},
            {"then", change.then},
            {"now", change.now}};
}

JsonText gpu_json(const GpuFacts& gpu) {
    return {{"name", gpu.name},
            {"pci", json_text_or_null(gpu.pci)},
            {"file", json_text_or_null(gpu.file)},
            {"model", json_text_or_null(gpu.model)}};
}

JsonText variable_json(const Variable& variable) {
    return {{"name", variable.name}, {"value", variable.value}};
}

std::optional<std::uint32_t> optional_number(const JsonFields& fields, const char* name) {
    if (fields.value(name).is_null()) return std::nullopt;
    return fields.count<std::uint32_t>(name);
}

std::optional<std::string> text_or_nothing(const JsonFields& fields, const char* name) {
    if (fields.value(name).is_null()) return std::nullopt;
    return fields.text(name);
}

Change read_change(const JsonFields& fields) {
    return {fields.named("since", since_of), fields.text("name"), text_or_nothing(fields, "then"),
            text_or_nothing(fields, "now")};
}

RankFacts read_rank(const JsonFields& fields) {
    RankFacts rank;
    rank.rank = fields.count<std::uint32_t>("rank");
    rank.local_rank = optional_number(fields, "local_rank");
    rank.task = optional_number(fields, "task");
    rank.pid = fields.count<pid_t>("pid");
    rank.command = fields.text("command");
    rank.launchers = fields.texts("launchers");
    rank.cpus = fields.optional_text("cpus");
    rank.cpus_then = fields.optional_text("cpus_then");
    rank.gpus = fields.objects("gpus", [](const JsonFields& gpu) {
        return GpuFacts{gpu.text("name"), gpu.optional_text("pci"), gpu.optional_text("file"),
                        gpu.optional_text("model")};
    });
    rank.open_gpus = fields.texts("open_gpus");
    rank.variables = fields.objects("variables", [](const JsonFields& variable) {
        return Variable{variable.text("name"), variable.text("value")};
    });
    rank.changes = fields.objects("changes", read_change);
    rank.is_hidden = fields.flag("hidden");
    return rank;
}

}  // namespace

std::string_view name_of(Change::Since since) {
    return since_words.at(static_cast<std::size_t>(since));
}

JsonText to_json(const RankFacts& rank) {
    return {{"rank", rank.rank},
            {"local_rank", rank.local_rank},
            {"task", rank.task},
            {"pid", rank.pid},
            {"command", rank.command},
            {"launchers", JsonText::list(rank.launchers)},
            {"cpus", json_text_or_null(rank.cpus)},
            {"cpus_then", json_text_or_null(rank.cpus_then)},
            {"gpus", JsonText::list(rank.gpus, gpu_json)},
            {"open_gpus", JsonText::list(rank.open_gpus)},
            {"variables", JsonText::list(rank.variables, variable_json)},
            {"changes", JsonText::list(rank.changes, change_json)},
            {"hidden", rank.is_hidden}};
}

JsonText to_json(const NodeFactsNow& facts) {
    const auto rank_json = [](const RankFacts& rank) { return to_json(rank); };
    return {{"schema", schema},
            {"node", facts.node},
            {"spec", facts.spec},
            {"by_variable", facts.by_variable},
            {"ranks", JsonText::list(facts.ranks, rank_json)},
            {"problem", facts.problem}};
}

std::optional<NodeFactsNow> read_node_facts_now(std::string_view text) {
    NodeFactsNow facts;
    const auto problem = read_json(text, [&](const JsonFields& fields) {
        if (fields.text("schema") != schema) fields.refuse("schema", "another");
        facts.node = fields.text("node");
        facts.spec = fields.text("spec");
        facts.by_variable = fields.flag("by_variable");
        facts.ranks = fields.objects("ranks", read_rank);
        facts.problem = fields.text("problem");
    });
    return problem ? std::nullopt : std::optional(std::move(facts));
}

}  // namespace distgpu

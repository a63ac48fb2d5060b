// See golden_plan.h.
#include "golden_plan.h"

#include "mapping/layout/node_order.h"
#include "mapping/spec/parse_spec.h"
#include "plan/plan_formats.h"
#include "plan/shape.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace distgpu::golden {
namespace {

using Words = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

Error refuse(std::string object, std::string problem) {
    return {std::move(object), std::move(problem), "see golden_plan.h"};
}

Result<Words> read_options(std::string_view shape) {
    Words options;
    const auto words = split(shape, ' ');
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        if (!options.emplace(words[i], words[i + 1]).second) {
            return refuse(words[i], "given twice");
        }
    }
    if (words.size() % 2 != 0) return refuse(words.back(), "an option without a value");
    for (const auto& [name, value] : options) {
        if (name != "--nodelist" && name != "--tasks-per-node" && name != "--distribution" &&
            name != "--gpus-per-node" && name != "--cpus-per-task" && name != "--order") {
            return refuse(name, "unknown option");
        }
    }
    return options;
}

struct CaseShape {
    ShapeOptions options;
    std::string order;
};

Result<CaseShape> read_shape(std::string_view text) {
    return read_options(text).transform([](Words options) {
        ShapeOptions shape;
        shape.layout.nodelist = options["--nodelist"];
        shape.layout.tasks_per_node = options["--tasks-per-node"];
        shape.layout.distribution = options["--distribution"];
        shape.gpus_per_node = options.emplace("--gpus-per-node", "0").first->second;
        shape.cpus_per_task = options.emplace("--cpus-per-task", "8").first->second;
        return CaseShape{std::move(shape), options["--order"]};
    });
}

}  // namespace

Result<Case> read_case(std::string_view text) {
    Words lines;
    for (const std::string& line : split(text, '\n')) {
        if (line.empty()) continue;
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) return refuse(line, "not 'NAME: TEXT'");
        if (!lines.emplace(line.substr(0, colon), line.substr(colon + 2)).second) {
            return refuse(line, "given twice");
        }
    }
    const std::size_t needed = lines.count("about") + lines.count("spec") + lines.count("shape");
    if (needed != 3 || lines.size() != 3 + lines.count("program")) {
        return refuse("case", "not the three lines about, spec and shape, or program besides");
    }
    return Case{lines["about"], lines["spec"], lines["shape"], lines["program"]};
}

Result<std::string> case_plan(const Case& golden_case) {
    auto request = parse_spec("--distgpu", golden_case.spec);
    if (!request) return request.error();
    if (request->framework == nullptr) return refuse(golden_case.spec, "not a framework's mode");
    const auto read = read_shape(golden_case.shape);
    if (!read) return read.error();
    auto layout = parse_layout(read->options.layout).and_then([&](const StepLayout& slurms) {
        return read->order.empty() ? Result<StepLayout>(slurms) : in_order(slurms, read->order);
    });
    if (!layout) return layout.error();
    auto shape = Shape::make(read->options, *std::move(layout), {});
    if (!shape) return shape.error();
    constexpr StepId step{4242, 0, 0};
    std::string text;
    PlanInput input{*std::move(request), *std::move(shape), step};
    if (!golden_case.program.empty()) input.facts.program = split(golden_case.program, ' ');
    return write_plan_json(input,
                           [&text](std::string_view piece) -> Result<Done> {
                               text += piece;
                               return Done{};
                           })
        .transform([&](Done /*done*/) { return text; });
}

}  // namespace distgpu::golden

#include "check/report.h"

#include "base/excerpt.h"
#include "base/json_fields.h"
#include "base/json_text.h"

#include <utility>
#include <vector>

namespace distgpu {
namespace {

// Anybody may send anything.
std::string text(const JsonFields& fields, const char* name) {
    constexpr std::size_t longest = 500;
    return printable(fields.text(name).substr(0, longest));
}

std::vector<JsonMember> members_of(const Error& error) {
    return {{"object", error.object}, {"problem", error.problem}, {"remedy", error.remedy}};
}

Error read_error(const JsonFields& fields) {
    return {text(fields, "object"), text(fields, "problem"), text(fields, "remedy")};
}

Finding::Weight read_weight(const JsonFields& fields) {
    return fields.flag("fatal") ? Finding::Weight::fatal : Finding::Weight::warning;
}

JsonText finding_json(const Finding& finding) {
    auto members = members_of(finding.error);
    members.push_back({"fatal", is_fatal(finding)});
    members.push_back({"check", finding.check});
    return members;
}

Finding read_finding(const JsonFields& fields) {
    return {read_weight(fields), read_error(fields), text(fields, "check")};
}

JsonText trait_json(const NodeTrait& trait) {
    const bool fatal = trait.weight == Finding::Weight::fatal;
    return {{"name", trait.name}, {"value", trait.value}, {"fatal", fatal}};
}

NodeTrait read_trait(const JsonFields& fields) {
    return {text(fields, "name"), text(fields, "value"), read_weight(fields)};
}

Report read_report(const JsonFields& fields) {
    return {fields.count<std::uint32_t>("rank"),
            fields.count<std::uint32_t>("node"),
            text(fields, "cpus"),
            fields.count<std::uint32_t>("gpus"),
            text(fields, "interface"),
            text(fields, "ports"),
            text(fields, "rendezvous"),
            fields.objects("findings", read_finding),
            fields.objects("traits", read_trait),
            fields.number("clock"),
            fields.flag("stays"),
            text(fields, "trial"),
            fields.optional_object("unreached", read_error)};
}

}  // namespace

std::string encode_report(const Report& report) {
    std::vector<JsonMember> members{{"rank", report.rank},
                                    {"node", report.node},
                                    {"cpus", report.cpus},
                                    {"gpus", report.gpus},
                                    {"interface", report.interface},
                                    {"ports", report.ports},
                                    {"rendezvous", report.rendezvous},
                                    {"findings", JsonText::list(report.findings, finding_json)},
                                    {"traits", JsonText::list(report.traits, trait_json)},
                                    {"clock", report.clock},
                                    {"stays", report.stays},
                                    {"trial", report.trial}};
    if (report.unreached) members.push_back({"unreached", members_of(*report.unreached)});
    return JsonText(members).line();
}

std::optional<Report> decode_report(std::string_view line) {
    Report report;
    const auto problem =
        read_json(line, [&](const JsonFields& fields) { report = read_report(fields); });
    return problem ? std::nullopt : std::optional(std::move(report));
}

}  // namespace distgpu

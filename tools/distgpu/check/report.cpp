// See report.h.
#include "check/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

using Json = nlohmann::json;

// Also where a name holds bytes that are no UTF-8.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string text(const Json& object, const char* name) {
    constexpr std::size_t longest = 500;
    std::string value = object.at(name).get<std::string>().substr(0, longest);
    std::replace_if(
        value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return value;
}

Json to_json(const Error& error) {
    return {{"object", error.object}, {"problem", error.problem}, {"remedy", error.remedy}};
}

Error to_error(const Json& json) {
    return {text(json, "object"), text(json, "problem"), text(json, "remedy")};
}

}  // namespace

std::string encode_report(const Report& report) {
    Json json{{"rank", report.rank},
              {"node", report.node},
              {"cpus", report.cpus},
              {"gpus", report.gpus},
              {"interface", report.interface},
              {"ports", report.ports},
              {"rendezvous", report.rendezvous},
              {"findings", Json::array()}};
    for (const Finding& finding : report.findings) {
        Json entry = to_json(finding.error);
        entry["fatal"] = is_fatal(finding);
        json["findings"].push_back(std::move(entry));
    }
    if (report.unreached) json["unreached"] = to_json(*report.unreached);
    return dump(json);
}

std::optional<Report> decode_report(std::string_view line) {
    try {
        const Json json = Json::parse(line);
        Report report{json.at("rank").get<std::uint32_t>(),
                      json.at("node").get<std::uint32_t>(),
                      text(json, "cpus"),
                      json.at("gpus").get<std::uint32_t>(),
                      text(json, "interface"),
                      text(json, "ports"),
                      text(json, "rendezvous"),
                      {},
                      {}};
        for (const Json& finding : json.at("findings")) {
            const bool fatal = finding.at("fatal").get<bool>();
            report.findings.push_back(
                {fatal ? Finding::Weight::fatal : Finding::Weight::warning, to_error(finding)});
        }
        if (json.contains("unreached")) report.unreached = to_error(json["unreached"]);
        return report;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace distgpu

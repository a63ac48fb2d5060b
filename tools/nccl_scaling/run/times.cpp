#include "run/times.h"

#include "base/values.h"
#include "report/formats.h"

#include <string_view>
#include <utility>

namespace distgpu::scaling {
namespace {

std::optional<NodesTime> nodes_time(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto nodes = whole_number(text.substr(0, equals));
    const auto seconds = decimal(text.substr(equals + 1));
    if (!nodes || !seconds) return std::nullopt;
    return NodesTime{*nodes, *seconds};
}

}  // namespace

Result<TimesReport> parse_times(const std::vector<std::string>& texts) {
    std::vector<NodesTime> times;
    times.reserve(texts.size());
    for (const std::string& text : texts) {
        const auto time = nodes_time(text);
        if (!time) return Error{text, "not NODES=SECONDS", "write 4=25 for 25 s on 4 nodes"};
        times.push_back(*time);
    }
    auto weak = scaling_efficiency(Scaling::weak, times);
    if (!weak) return refusal_of(weak.error());
    auto strong = scaling_efficiency(Scaling::strong, std::move(times));
    if (!strong) return refusal_of(strong.error());
    return TimesReport{*std::move(weak), *std::move(strong)};
}

std::optional<Error> report_times(const Times& times, std::FILE* out) {
    static_cast<void>(std::fputs(times_table(times.report).c_str(), out));
    const auto json = [&] { return times_json(times.report); };
    return write_files({{times.files.json, json},
                        {times.files.csv, [&] { return times_csv(times.report); }},
                        {times.files.html, [&] { return to_html(json()); }}});
}

}  // namespace distgpu::scaling

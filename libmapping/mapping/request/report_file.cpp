#include "mapping/request/report_file.h"

namespace distgpu {

std::optional<std::string> with_names(std::string_view pattern, const StepNames& names) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%') {
            text += pattern[at];
            continue;
        }
        switch (++at < pattern.size() ? pattern[at] : '\0') {
            case 'j':
                text += std::to_string(names.job);
                break;
            case 's':
                text += std::to_string(names.step);
                break;
            case 'u':
                text += names.user;
                break;
            case '%':
                text += '%';
                break;
            default:
                return std::nullopt;
        }
    }
    return text;
}

std::string report_file(const ReportChoice& choice, const StepNames& names,
                        const std::string& folder) {
    const std::string_view pattern =
        choice.file.empty() ? default_report_file : std::string_view(choice.file);
    std::string file = with_names(pattern, names).value_or(std::string(pattern));
    if (file.starts_with("./")) file.erase(0, 2);
    return file.starts_with('/') ? file : folder + '/' + file;
}

}  // namespace distgpu

// See output_files.h.
#include "run/output_files.h"

#include "run/whole_file.h"

namespace distgpu::scaling {

std::optional<Error> write_files(const OutputFiles& files, const FileTexts& texts) {
    std::optional<Error> first;
    const auto write = [&](const std::string& path, const std::function<std::string()>& text) {
        if (path.empty()) return;
        auto error = replace_file(path, text());
        if (!first) first = std::move(error);
    };
    write(files.json, texts.json);
    write(files.csv, texts.csv);
    write(files.html, texts.html);
    return first;
}

}  // namespace distgpu::scaling

// See output_files.h.
#include "run/output_files.h"

#include "base/io/write.h"

namespace distgpu::scaling {

std::optional<Error> write_files(const OutputFiles& files, const FileTexts& texts) {
    std::optional<Error> first;
    const auto write = [&](const std::string& path, const std::function<std::string()>& text) {
        if (path.empty()) return;
        const auto written = replace_file(path, text(), Readers::by_umask);
        if (!written && !first) first = written.error();
    };
    write(files.json, texts.json);
    write(files.csv, texts.csv);
    write(files.html, texts.html);
    return first;
}

}  // namespace distgpu::scaling

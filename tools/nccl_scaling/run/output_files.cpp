#include "run/output_files.h"

#include "base/io/write.h"

namespace distgpu::scaling {

std::optional<Error> write_files(const std::vector<OutputFile>& files) {
    std::optional<Error> first;
    for (const auto& [path, text] : files) {
        if (path.empty()) continue;
        const auto written = replace_file(path, text(), Readers::by_umask);
        if (!written && !first) first = written.error();
    }
    return first;
}

}  // namespace distgpu::scaling

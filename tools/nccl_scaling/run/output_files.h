// The files that the command writes where it was asked to.
#pragma once

#include "base/result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// Paths; empty: not asked for.
struct OutputFiles {
    std::string json;
    std::string csv;
    std::string html;
    std::string prometheus{};
    std::string drain_reason{};
};

struct OutputFile {
    std::string path;
    std::function<std::string()> text;  // made only if it is written
};

// Replaces each file, also those after one that cannot be written. The first error.
std::optional<Error> write_files(const std::vector<OutputFile>& files);

}  // namespace distgpu::scaling

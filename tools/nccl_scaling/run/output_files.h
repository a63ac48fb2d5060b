// The files that the command writes where it was asked to.
#pragma once

#include "base/result.h"

#include <functional>
#include <optional>
#include <string>

namespace distgpu::scaling {

// Paths; empty: not asked for.
struct OutputFiles {
    std::string json;
    std::string csv;
    std::string html;
};

// What each file would hold, made only for those that are written.
struct FileTexts {
    std::function<std::string()> json;
    std::function<std::string()> csv;
    std::function<std::string()> html;
};

// Replaces each file, also those after one that cannot be written. The first error.
std::optional<Error> write_files(const OutputFiles& files, const FileTexts& texts);

}  // namespace distgpu::scaling

// A file that is read as a whole.
#pragma once

#include "base/result.h"

#include <string>

namespace distgpu::scaling {

// Error: it cannot be read, for the system's reason; `remedy` is the error's.
Result<std::string> read_text_file(const std::string& path, std::string remedy);

}  // namespace distgpu::scaling

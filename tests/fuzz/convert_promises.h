// What holds for every file that distgpu converts.
#pragma once

#include "convert/conversion.h"

#include <string_view>

namespace distgpu {

// Notes are lines that a terminal may show, each of a line of the file.
void require_conversion(const Result<Conversion>& conversion, std::string_view text);

}  // namespace distgpu

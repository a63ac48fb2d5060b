// What a target defines.
#pragma once

#include <string_view>

namespace distgpu {

// Reads the text as the program does that gets it, and require()s what must hold whatever it is.
void try_text(std::string_view text);

}  // namespace distgpu

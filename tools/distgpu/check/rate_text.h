// Rates of the network as people write them.
#pragma once

#include <string>

namespace distgpu {

// "94.2 Mb/s", "9.41 Gb/s". `rate`: bytes a second.
std::string rate_text(double rate);

}  // namespace distgpu

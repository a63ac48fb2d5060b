// The one rule for the order of plugstack.conf's lines: distgpu's stands after that of pyxis. The
// plugin notices it as it runs, `distgpu check-config` before.
#pragma once

#include <string_view>

namespace distgpu {

// The name of its file.
inline constexpr std::string_view pyxis_plugin = "spank_pyxis.so";

inline constexpr std::string_view before_pyxis =
    "its line stands before that of pyxis, whose containers then replace what distgpu sets";

}  // namespace distgpu

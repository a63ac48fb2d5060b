// See format.h.
#include "base/format.h"

namespace distgpu {

std::string formatted_by(fmt::string_view text, fmt::format_args arguments) {
    return fmt::vformat(text, arguments);
}

}  // namespace distgpu

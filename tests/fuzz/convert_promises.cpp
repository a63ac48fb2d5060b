// See convert_promises.h.
#include "convert_promises.h"

#include "require.h"

namespace distgpu {

void require_conversion(const Result<Conversion>& conversion, std::string_view text) {
    if (!conversion) return require_line(conversion.error().message());
    for (const Note& note : conversion->notes) {
        require_line(note.text);
        // YAML has more kinds of line ends than \n.
        require(note.line <= text.size() + 1, "a note names a line of the file");
    }
    if (!conversion->diff.empty()) require(!conversion->script.empty(), "a diff is of a script");
}

}  // namespace distgpu

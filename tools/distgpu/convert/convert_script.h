// A batch script that sets up the ranks by hand, rewritten with --distgpu.
#pragma once

#include "convert/conversion.h"
#include "convert/text_edits.h"

#include <string_view>
#include <vector>

namespace distgpu {

struct ScriptConversion {
    std::vector<LineChange> changes;  // none: nothing was understood
    std::vector<Note> notes;          // by line
};

// Only commands that are understood change: those that start a training get --distgpu and lose the
// options that it replaces; variables of the ranks, and those that are of no use without them, go
// where nothing that is left mentions them.
ScriptConversion convert_script(std::string_view script);

}  // namespace distgpu

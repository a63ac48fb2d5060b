// Azure ML jobs in YAML, for distgpu convert.
#include "convert_promises.h"
#include "target.h"

namespace distgpu {

void try_text(std::string_view text) {
    require_conversion(convert_file("job.yml", text), text);
}

}  // namespace distgpu

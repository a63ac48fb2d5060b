#include "convert/conversion.h"

#include "base/excerpt.h"
#include "convert/azure_job.h"
#include "convert/azure_python.h"
#include "convert/azure_yaml.h"
#include "convert/convert_script.h"
#include "convert/text_edits.h"
#include "slurm/job_script.h"

#include <utility>

namespace distgpu {

namespace {

Result<Conversion> convert(const std::string& file, std::string_view text) {
    if (file.ends_with(".yml") || file.ends_with(".yaml")) {
        return read_azure_yaml(file, text).and_then([&](const AzureValue& job) {
            return convert_azure_yaml(file, text, job);
        });
    }
    if (file.ends_with(".py")) return convert_azure_python(file, text, read_python_calls(text));
    if (auto refused = windows_line_ends(file, text)) return *std::move(refused);
    ScriptConversion script = convert_script(text);
    Conversion conversion{"", std::move(script.notes), ""};
    if (script.changes.empty()) return conversion;
    conversion.script = changed(text, script.changes);
    conversion.diff = unified_diff(file, text, script.changes);
    return conversion;
}

}  // namespace

// What the notes quote, anybody may have written.
Result<Conversion> convert_file(const std::string& file, std::string_view text) {
    return convert(file, text).transform([](Conversion conversion) {
        for (Note& note : conversion.notes) note.text = printable(note.text);
        return conversion;
    });
}

}  // namespace distgpu

// An Azure ML job as a batch script.
#pragma once

#include "base/result.h"
#include "convert/azure_value.h"
#include "convert/conversion.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Of a v2 job: the fields of YAML's commandJob, or of Python's command(). Of a v1 job: of
// ScriptRunConfig() and the *Configuration() that it names. The names and defaults are those of
// azure-ai-ml 1.31 and azureml-core 1.60.
// Errors (object: `file`): no such job in it; a distribution that has no mode.
// `text`: the file's, in which a framework may be named.
Result<Conversion> convert_azure_yaml(const std::string& file, std::string_view text,
                                      const AzureValue& from);
Result<Conversion> convert_azure_python(const std::string& file, std::string_view text,
                                        const std::vector<AzureValue>& calls);

}  // namespace distgpu

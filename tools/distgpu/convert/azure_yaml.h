// An Azure ML job in YAML (v2), read by libyaml.
#pragma once

#include "base/result.h"
#include "convert/azure_value.h"

#include <string>
#include <string_view>

namespace distgpu {

// Errors (object: "FILE:LINE"): no YAML; more than 10,000 values, as aliases of aliases make them;
// no map.
Result<AzureValue> read_azure_yaml(const std::string& file, std::string_view text);

}  // namespace distgpu

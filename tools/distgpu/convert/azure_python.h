// The calls in a Python script by which it makes an Azure ML job. It is read, never run: what is
// not a literal, or a name that one was given, stays unknown.
#pragma once

#include "convert/azure_value.h"

#include <string_view>
#include <vector>

namespace distgpu {

// Every call with its literal arguments, inner ones too, in the order in which they end.
std::vector<AzureValue> read_python_calls(std::string_view script);

}  // namespace distgpu

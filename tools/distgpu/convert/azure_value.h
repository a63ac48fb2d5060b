// What an Azure ML job's file says, whichever language it is in: YAML (v2) or Python (v1, v2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {

struct AzureValue {
    enum class Kind {
        unknown,  // only Python knows it; `text` is how it begins
        text,     // a string or a number
        list,
        map,  // also a call: its keyword arguments
    };
    Kind kind = Kind::unknown;
    std::string text{};
    std::string callee{};                                      // of a call: "PyTorchConfiguration"
    std::vector<AzureValue> items{};                           // of a list; of a call: the others
    std::vector<std::pair<std::string, AzureValue>> fields{};  // of a map
    std::size_t line = 0;                                      // in the file, from 1

    // Null: it has no such field.
    const AzureValue* field(std::string_view name) const {
        for (const auto& [key, value] : fields) {
            if (key == name) return &value;
        }
        return nullptr;
    }
};

}  // namespace distgpu

// Parts of the results as JSON, which ranks tell each other too.
#pragma once

#include "base/json_fields.h"
#include "base/json_text.h"
#include "results/results.h"

namespace distgpu::scaling {

inline JsonText rates_json(const Rates& rates) {
    return {{"memory", rates.memory},
            {"to_gpu", rates.to_gpu},
            {"from_gpu", rates.from_gpu},
            {"port", rates.port}};
}

inline Rates read_rates(const JsonFields& fields) {
    return {fields.value("memory").number(), fields.value("to_gpu").number(),
            fields.value("from_gpu").number(), fields.value("port").number()};
}

// Pairs, not an object: their order is part of the results.
inline JsonText fingerprint_json(const Fingerprint& fingerprint) {
    return JsonText::list(fingerprint, [](const auto& pair) -> JsonText {
        return {{"name", pair.first}, {"value", pair.second}};
    });
}

inline Fingerprint read_fingerprint(const JsonFields& fields) {
    return fields.objects("fingerprint", [](const JsonFields& pair) {
        return std::pair(pair.text("name"), pair.text("value"));
    });
}

}  // namespace distgpu::scaling

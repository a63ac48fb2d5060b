// Rates as JSON: what a rank tells rank 0, and what the results have of it.
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

}  // namespace distgpu::scaling

#include "backend/mpi_operations.h"

#include "backend/number.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace distgpu::scaling {
namespace {

struct Larger {
    float operator()(float a, float b) const { return std::max(a, b); }
};
struct Smaller {
    float operator()(float a, float b) const { return std::min(a, b); }
};

// The signature is MPI_User_function.
template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float), class Combine>
// NOLINTNEXTLINE(readability-non-const-parameter)
void reduce_16_bits(void* in, void* in_out, int* length, MPI_Datatype* /*type*/) {
    const auto* from = static_cast<const std::uint16_t*>(in);
    auto* to = static_cast<std::uint16_t*>(in_out);
    std::transform(from, from + *length, to, to, [](std::uint16_t a, std::uint16_t b) {
        return narrow(Combine()(widen(a), widen(b)));
    });
}

struct Row {
    Op op;
    MPI_Op native;  // of MPI's own types
    MPI_User_function* halves;
    MPI_User_function* bfloats;
};

template <class Combine>
Row row(Op op, MPI_Op native) {
    return {op, native, reduce_16_bits<half_to_float, float_to_half, Combine>,
            reduce_16_bits<bfloat_to_float, float_to_bfloat, Combine>};
}

const std::array<Row, 4>& rows() {
    static const std::array all{row<std::plus<>>(Op::sum, MPI_SUM),
                                row<std::multiplies<>>(Op::prod, MPI_PROD),
                                row<Larger>(Op::max, MPI_MAX), row<Smaller>(Op::min, MPI_MIN)};
    return all;
}

}  // namespace

MPI_Datatype mpi_type(DataType type) {
    switch (type) {
        case DataType::f32:
            return MPI_FLOAT;
        case DataType::f64:
            return MPI_DOUBLE;
        case DataType::f16:
        case DataType::bf16:
            return MPI_UINT16_T;
        case DataType::i32:
            return MPI_INT32_T;
        case DataType::i64:
            return MPI_INT64_T;
        case DataType::f8e4m3:
        case DataType::f8e5m2:
        case DataType::i8:
            break;
    }
    return MPI_INT8_T;
}

void MpiOperations::make() {
    constexpr int commutes = 1;
    for (std::size_t i = 0; i < count; ++i) {
        MPI_Op_create(rows()[i].halves, commutes, &made_[i].of_halves);
        MPI_Op_create(rows()[i].bfloats, commutes, &made_[i].of_bfloats);
    }
}

void MpiOperations::free() {
    for (Made& made : made_) {
        MPI_Op_free(&made.of_halves);
        MPI_Op_free(&made.of_bfloats);
    }
}

MPI_Op MpiOperations::of(DataType type, Op op) const {
    const auto row = std::find_if(rows().begin(), rows().end(),
                                  [&](const Row& known) { return known.op == op; });
    const Made& made = made_[static_cast<std::size_t>(row - rows().begin())];
    if (type == DataType::f16) return made.of_halves;
    return type == DataType::bf16 ? made.of_bfloats : row->native;
}

}  // namespace distgpu::scaling

// What MPI calls the types and operations, and its own ones for the types that it lacks.
#pragma once

#include "results/results.h"

#include <array>
#include <mpi.h>

namespace distgpu::scaling {

// Two bytes for the floating-point numbers of 16 bits. Precondition: no fp8.
MPI_Datatype mpi_type(DataType type);

class MpiOperations {
  public:
    static bool has(Op op) { return op != Op::avg; }

    // Between MPI_Init and MPI_Finalize.
    void make();
    void free();

    // Precondition: it has that.
    MPI_Op of(DataType type, Op op) const;

  private:
    struct Made {
        MPI_Op of_halves = MPI_OP_NULL;
        MPI_Op of_bfloats = MPI_OP_NULL;
    };
    static constexpr std::size_t count = 4;
    std::array<Made, count> made_{};
};

}  // namespace distgpu::scaling

// Finds the module of the mpi back end: beside the program or where the package has it, which
// the program's RUNPATH says.
#include "backend/backend.h"
#include "backend/mpi_module.h"
#include "base/io/shared_library.h"

namespace distgpu::scaling {

Result<std::unique_ptr<Backend>> load_mpi_backend() {
    auto module = SharedLibrary::load(
        mpi_module_file, "install an MPI library, and the package that was built with it");
    if (!module) return module.error();
    Backend* (*make)() = nullptr;
    module->resolve(make, mpi_module_symbol);
    if (make == nullptr) {
        return Error{mpi_module_file, std::string("has no ") + mpi_module_symbol,
                     "install it from the same build"};
    }
    return std::unique_ptr<Backend>(make());
}

}  // namespace distgpu::scaling

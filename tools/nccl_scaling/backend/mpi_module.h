// The boundary of the module that alone is linked with MPI. A module, since a program linked with
// libmpi would not start on a machine without it, where it is to run the nccl back end.
#pragma once

namespace distgpu::scaling {

inline constexpr const char* mpi_module_file = "libnccl_scaling_mpi.so";
inline constexpr const char* mpi_module_symbol = "distgpu_scaling_make_mpi_backend";

}  // namespace distgpu::scaling

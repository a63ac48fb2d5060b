# Finds an MPI to build `nccl-scaling --backend mpi` with. Defines MPI_C_FOUND and MPI::MPI_C.
#
# A compiler wrapper without headers, as in Debian's openmpi-bin alone, counts as not found: CMake's
# FindMPI would end with an error.
find_program(MPICC_PROGRAM mpicc)
set(mpi_headers_missing FALSE)
if(MPICC_PROGRAM)
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/mpi_header.c "#include <mpi.h>\n")
  execute_process(
    COMMAND ${MPICC_PROGRAM} -E ${CMAKE_BINARY_DIR}/CMakeFiles/mpi_header.c
    RESULT_VARIABLE mpi_headers_missing
    OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT mpi_headers_missing)
  find_package(MPI COMPONENTS C)
endif()

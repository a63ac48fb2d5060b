# The parts that are built besides the library: the plugin, the command and nccl-scaling. Each has
# an option:
#   ON     the part is built; if it needs a package that is missing, CMake prints which and ends
#   OFF    the part is omitted
#   AUTO   the part is built if the packages that it needs are found
# CMake prints a line for each omitted part. DISTGPU_BUILDS_NAME is TRUE if NAME is built.
find_package(Slurm QUIET)
find_package(CLI11 QUIET)
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(Hwloc QUIET IMPORTED_TARGET hwloc>=2.2)
endif()
find_package(Sodium QUIET)
include(OptionalMpi)

set(missing_Slurm "Slurm's headers: not found; install libslurm-dev (Debian) or slurm-devel (EL), or \
name Slurm's prefix with -DSlurm_ROOT=PREFIX")
set(missing_Hwloc "hwloc 2.2 or newer: not found by pkg-config; install libhwloc-dev and pkg-config \
(Debian) or hwloc-devel and pkgconf (EL)")
set(missing_Sodium "libsodium.a: not found; install libsodium-dev (Debian) or libsodium-static (EL)")
set(missing_CLI11 "CLI11: not found; install libcli11-dev (Debian) or cli11-devel (EL)")

# distgpu_part(NAME WHAT NEED...): the option DISTGPU_NAME of WHAT, which needs these packages.
function(distgpu_part name what)
  set(DISTGPU_${name} AUTO CACHE STRING "Build ${what}: AUTO, ON or OFF")
  set_property(CACHE DISTGPU_${name} PROPERTY STRINGS AUTO ON OFF)
  set(choice "${DISTGPU_${name}}")
  if(NOT choice MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "DISTGPU_${name}=${choice}: not a choice; give AUTO, ON or OFF")
  endif()

  set(missing "")
  foreach(need IN LISTS ARGN)
    if(NOT ${need}_FOUND)
      string(APPEND missing ": ${missing_${need}}")
    endif()
  endforeach()

  set(builds FALSE)
  if(choice STREQUAL OFF)
    message(STATUS "Left out: ${what}: DISTGPU_${name} is OFF")
  elseif(NOT missing)
    set(builds TRUE)
  elseif(choice STREQUAL ON)
    message(FATAL_ERROR "DISTGPU_${name}=ON: ${what}${missing}")
  else()
    message(STATUS "Left out: ${what}${missing}")
  endif()
  set(DISTGPU_BUILDS_${name} ${builds} PARENT_SCOPE)
endfunction()

distgpu_part(PLUGIN "the Slurm plugin" Slurm)
distgpu_part(COMMAND "the command distgpu" Hwloc CLI11 Sodium)
distgpu_part(NCCL_SCALING "nccl-scaling" CLI11 Sodium)

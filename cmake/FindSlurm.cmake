# Finds Slurm's headers (never its library: the plugin must not link libslurm,
# whose ABI changes with every release).
#
# Defines the target Slurm::headers and Slurm_VERSION (major.minor.micro), the
# release into which the plugin will load. For a Slurm outside the system's
# prefix, set -DSlurm_ROOT=PREFIX.
find_path(Slurm_INCLUDE_DIR NAMES slurm/spank.h)

if(Slurm_INCLUDE_DIR)
  # slurm_version.h: #define SLURM_VERSION_NUMBER 0xMMmmuu, in decimal digits.
  file(STRINGS ${Slurm_INCLUDE_DIR}/slurm/slurm_version.h slurm_number_line
       REGEX "SLURM_VERSION_NUMBER[ \t]+0x")
  string(REGEX MATCH "0x([0-9a-fA-F]+)" _ "${slurm_number_line}")
  set(slurm_number ${CMAKE_MATCH_1})
  math(EXPR slurm_major "(0x${slurm_number} >> 16) & 0xff")
  math(EXPR slurm_minor "(0x${slurm_number} >> 8) & 0xff")
  math(EXPR slurm_micro "0x${slurm_number} & 0xff")
  set(Slurm_VERSION ${slurm_major}.${slurm_minor}.${slurm_micro})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Slurm
  REQUIRED_VARS Slurm_INCLUDE_DIR
  VERSION_VAR Slurm_VERSION
  REASON_FAILURE_MESSAGE "install libslurm-dev (Debian) or slurm-devel (EL)")

if(Slurm_FOUND AND NOT TARGET Slurm::headers)
  add_library(Slurm::headers INTERFACE IMPORTED)
  set_target_properties(Slurm::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                  ${Slurm_INCLUDE_DIR})
endif()

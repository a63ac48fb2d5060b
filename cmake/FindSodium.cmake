# Finds libsodium's static library, as Sodium::archive: the command runs in containers whose images
# have no libsodium.so.
find_library(Sodium_LIBRARY NAMES libsodium.a)
find_path(Sodium_INCLUDE_DIR sodium.h)
mark_as_advanced(Sodium_LIBRARY Sodium_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Sodium REQUIRED_VARS Sodium_LIBRARY Sodium_INCLUDE_DIR)

if(Sodium_FOUND AND NOT TARGET Sodium::archive)
  add_library(Sodium::archive STATIC IMPORTED)
  set_target_properties(Sodium::archive PROPERTIES IMPORTED_LOCATION "${Sodium_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${Sodium_INCLUDE_DIR}")
endif()

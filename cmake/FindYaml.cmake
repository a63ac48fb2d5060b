# libyaml as Yaml::yaml: its archive where there is one, since the command runs in containers, whose
# images have no libyaml.
find_library(Yaml_LIBRARY NAMES libyaml.a yaml)
find_path(Yaml_INCLUDE_DIR yaml.h)
mark_as_advanced(Yaml_LIBRARY Yaml_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Yaml REQUIRED_VARS Yaml_LIBRARY Yaml_INCLUDE_DIR)

if(Yaml_FOUND AND NOT TARGET Yaml::yaml)
  add_library(Yaml::yaml UNKNOWN IMPORTED)
  set_target_properties(Yaml::yaml PROPERTIES IMPORTED_LOCATION "${Yaml_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${Yaml_INCLUDE_DIR}")
endif()

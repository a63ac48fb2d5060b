# Compiler settings that every target of distgpu shares, as one interface
# target, so that no directory-wide flag leaks into a consumer.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    # All checkouts share the cache, because objects do not contain the checkout's path.
    set(ccache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
               ${CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
  endif()
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# For executables too, if that is not the compiler's default.
include(CheckPIESupported)
check_pie_supported()

add_library(distgpu_build_settings INTERFACE)
target_compile_features(distgpu_build_settings INTERFACE cxx_std_20)
target_compile_options(
  distgpu_build_settings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
            -Wold-style-cast -Wcast-qual -Wformat=2 -fvisibility=hidden -ffunction-sections
            -fdata-sections)
# Small code: what a launch runs is run once, so that reading it into memory takes longer than
# running it. Not in the interface target, whose options come after those of tests/, which compiles
# its own code without optimizing it.
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-Os>")
# Keep this checkout's path out of objects, unless a package's build does so with its own flags.
if(NOT CMAKE_CXX_FLAGS MATCHES "prefix-map")
  target_compile_options(
    distgpu_build_settings INTERFACE -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
                                     -fmacro-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
if(DISTGPU_WERROR)
  target_compile_options(distgpu_build_settings INTERFACE -Werror)
endif()
# Hardening, in addition to a package's flags. Sanitizers and gcov add their own checks instead.
if(NOT DISTGPU_SANITIZE AND NOT DISTGPU_COVERAGE)
  # The plugin's symbols can also be bound when it is loaded, because each of Slurm's programs that
  # load plugins has all of SPANK's symbols.
  target_link_options(distgpu_build_settings INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(DISTGPU_HARDEN)
    include(HardenedCode)
  endif()
endif()
if(DISTGPU_SANITIZE)
  target_compile_options(distgpu_build_settings INTERFACE -fsanitize=${DISTGPU_SANITIZE}
                                                          -fno-sanitize-recover=all)
  target_link_options(distgpu_build_settings INTERFACE -fsanitize=${DISTGPU_SANITIZE})
endif()
if(DISTGPU_COVERAGE)
  target_compile_options(distgpu_build_settings INTERFACE --coverage)
  target_link_options(distgpu_build_settings INTERFACE --coverage)
endif()

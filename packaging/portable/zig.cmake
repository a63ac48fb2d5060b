# Toolchain of the builds for any Linux: zig's wrappers and libraries, all from DISTGPU_PORTABLE,
# a folder with the name of the architecture.
set(DISTGPU_PORTABLE "" CACHE PATH "Folder with the wrappers and the static libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DISTGPU_PORTABLE)
set(CMAKE_SYSTEM_NAME Linux)
cmake_path(GET DISTGPU_PORTABLE FILENAME CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${DISTGPU_PORTABLE}/bin/zig-cc)
set(CMAKE_CXX_COMPILER ${DISTGPU_PORTABLE}/bin/zig-c++)
set(CMAKE_AR ${DISTGPU_PORTABLE}/bin/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${DISTGPU_PORTABLE}/bin/zig-ranlib CACHE FILEPATH "")
# The machine's strip knows only the machine's architecture.
set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
# Use nothing from /usr: its headers and libraries are for a newer glibc.
set(CMAKE_FIND_ROOT_PATH ${DISTGPU_PORTABLE}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${DISTGPU_PORTABLE}/root/usr/lib/pkgconfig)

# What the compiler adds to the code of what is installed, for an error in memory to end the process
# rather than to be of use to somebody.
target_compile_options(distgpu_build_settings INTERFACE -fstack-protector-strong
                                                        -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i.86)$")
  target_compile_options(distgpu_build_settings INTERFACE -fcf-protection)
endif()
# A value of the distributor's stays. The C library warns of it in code that is not optimised.
if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  if(CMAKE_CXX_FLAGS MATCHES "-O[1-3s]")
    set(optimised 1)
  endif()
  target_compile_options(distgpu_build_settings
                         INTERFACE "$<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

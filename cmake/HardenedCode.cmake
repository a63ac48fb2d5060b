# Compiler options for installed code: a memory error should end the process instead of being
# exploitable.
target_compile_options(distgpu_build_settings INTERFACE -fstack-protector-strong
                                                        -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i.86)$")
  target_compile_options(distgpu_build_settings INTERFACE -fcf-protection)
endif()
# Keeps a distributor's value. Only for optimised code, because glibc warns of it in other code.
if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  if(CMAKE_CXX_FLAGS MATCHES "-O[1-3s]")
    set(optimised 1)
  endif()
  target_compile_options(distgpu_build_settings
                         INTERFACE "$<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

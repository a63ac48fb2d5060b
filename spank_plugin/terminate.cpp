// Reports an exception that nothing catches, and ends the process. libstdc++'s own handler would
// link its demangler into the plugin: 60 kB, one page of which the loader would have to write in
// each process.
#include <slurm/spank.h>

#include <cstdlib>
#include <exception>

namespace __gnu_cxx {

// Takes the place of libsupc++'s vterminate.cc (GCC 11 to 16) in the static libstdc++.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the library's name.
void __verbose_terminate_handler() {
    try {
        if (std::current_exception()) throw;
        slurm_error("distgpu: std::terminate() was called");
    } catch (const std::exception& exception) {
        slurm_error("distgpu: ended by an exception: %s", exception.what());
    } catch (...) {
        slurm_error("distgpu: ended by an exception");
    }
    std::abort();
}

}  // namespace __gnu_cxx

// What ends the process after an exception that nothing can catch any more. libstdc++'s own
// function would bring its demangler with it: 60 kB, of which the loader would write a page in each
// process that loads the plugin.
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

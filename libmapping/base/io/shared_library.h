// A shared library that is loaded at run time.
#pragma once

#include "base/result.h"

#include <dlfcn.h>
#include <link.h>

namespace distgpu {

// The library stays loaded until the process ends.
class SharedLibrary {
  public:
    // Errors (object: the file): not found, or not loadable.
    static Result<SharedLibrary> load(const char* file, const char* remedy) {
        // Global, because Open MPI's plugins need the symbols of libmpi.
        void* const handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
        if (handle != nullptr) return SharedLibrary(handle);
        // It begins with the file's name if the file was not found.
        std::string problem = dlerror();
        if (const std::string name = std::string(file) + ": "; problem.starts_with(name)) {
            problem.erase(0, name.size());
        }
        return Error{file, std::move(problem), remedy};
    }

    // Sets `function` to the symbol's address. The first missing symbol is kept for missing().
    template <class Function>
    void resolve(Function*& function, const char* symbol) {
        resolve_optional(function, symbol);
        if (function == nullptr && missing_.empty()) missing_ = symbol;
    }

    // The same for a symbol that older versions lack; null if it is missing.
    template <class Function>
    void resolve_optional(Function*& function, const char* symbol) const {
        function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    }

    // The first symbol that was missing; empty if none was.
    const std::string& missing() const { return missing_; }

    // The path of the file that was loaded.
    std::string path() const {
        link_map* map = nullptr;
        return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
    }

  private:
    explicit SharedLibrary(void* handle) : handle_(handle) {}

    void* handle_;
    std::string missing_;
};

}  // namespace distgpu

// How a call from C ends: with a status and, for who asks, a text. Nothing is thrown past it.
#pragma once

#include "base/result.h"

#include <distgpu/mapping.h>

#include <tl/expected.hpp>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu::c_api {

struct Failure {
    distgpu_status status;
    Error error;
};

// A new object, or why there is none.
template <class Object>
using Made = tl::expected<std::unique_ptr<Object>, Failure>;

inline tl::unexpected<Failure> fail(distgpu_status status, Error error) {
    return tl::unexpected<Failure>(Failure{status, std::move(error)});
}

// For an argument that is NULL.
inline Failure missing(const char* argument) {
    return {DISTGPU_EINVAL, {argument, "is NULL", "see distgpu/mapping.h"}};
}

// `text`, as much as fits.
inline void write(distgpu_error* error, std::string_view text) {
    if (error != nullptr) error->text[text.copy(error->text, sizeof(error->text) - 1)] = '\0';
}

// Runs `call`, which answers nothing or a Failure, and says what became of it.
template <class Call>
distgpu_status guarded(distgpu_error* error, Call call) noexcept {
    try {
        const std::optional<Failure> failure = call();
        write(error, failure ? failure->error.message() : std::string{});
        return failure ? failure->status : DISTGPU_OK;
    } catch (const std::bad_alloc&) {
        write(error, "distgpu: memory: none left; describe a smaller step");
        return DISTGPU_ENOMEM;
    } catch (...) {
        write(error, "distgpu: library: unknown exception; please report this");
        return DISTGPU_EDEFECT;
    }
}

// Hands the object that `make` made to the caller, who will destroy it. `name`: of the argument.
template <class Handle, class Make>
distgpu_status create(const char* name, Handle** handle, distgpu_error* error, Make make) noexcept {
    return guarded(error, [&]() -> std::optional<Failure> {
        if (handle == nullptr) return missing(name);
        *handle = nullptr;
        auto made = make();
        if (!made) return std::move(made.error());
        *handle = made->release();
        return std::nullopt;
    });
}

}  // namespace distgpu::c_api

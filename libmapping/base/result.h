// Error handling: functions return Result<T>, a value or an Error that says what was wrong, where,
// and what to do about it; commands end with an ExitCode.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace distgpu {

// Every field is shown to the user, so `object` is something that the user can find
// ("--distgpu=pytroch", "port 29500 on node07").
struct Error {
    std::string object;
    std::string problem;
    std::string remedy;  // empty if there is none

    // "distgpu: <object>: <problem>; <remedy>", one line without a newline.
    [[nodiscard]] std::string message() const {
        return "distgpu: " + object + ": " + problem + (remedy.empty() ? "" : "; " + remedy);
    }

    // "<object>: <problem>", for use inside another error's text.
    [[nodiscard]] std::string cause() const { return object + ": " + problem; }

    bool operator==(const Error&) const = default;
    static void fields(auto& io, auto& it) {  // json_fields.h
        io("object", it.object, "problem", it.problem, "remedy", it.remedy);
    }
};

// A value of type T or an Error. The operations have the names that they have in std::expected
// (C++23), so that it can replace this class one day.
template <class T>
class [[nodiscard]] Result {
  public:
    using value_type = T;

    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(tl::unexpect, std::move(error)) {}

    [[nodiscard]] bool has_value() const { return state_.has_value(); }
    explicit operator bool() const { return has_value(); }

    // Precondition of both: has_value().
    const T& operator*() const& { return *state_; }
    T& operator*() & { return *state_; }
    T&& operator*() && { return *std::move(state_); }
    const T* operator->() const { return &*state_; }
    T* operator->() { return &*state_; }

    // Precondition: not has_value().
    [[nodiscard]] const Error& error() const { return state_.error(); }

    // f(T) -> Result<U>: continues with f, or passes the error on.
    template <class F>
    auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
        if (!state_) return std::move(state_.error());
        return std::forward<F>(f)(*std::move(state_));
    }

    // f(T) -> U: maps the value, or passes the error on.
    template <class F>
    auto transform(F&& f) && -> Result<std::invoke_result_t<F, T&&>> {
        if (!state_) return std::move(state_.error());
        return std::forward<F>(f)(*std::move(state_));
    }

  private:
    tl::expected<T, Error> state_;
};

// The exit status of every command.
enum class ExitCode {
    done = 0,
    check_failed = 1,
    usage = 2,
    environment = 3,  // the environment is unsuitable or failed
    timed_out = 4,
    wrong_data = 5,
    skipped = 77,  // there was nothing to check
    // Only of `distgpu exec`, in addition to the program's own; the same as env(1) uses.
    exec_failed = 125,
    not_executable = 126,
    not_found = 127,
};

}  // namespace distgpu

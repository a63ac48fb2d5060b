// How failure is reported: functions return Result<T>, a value or an Error that says what was
// wrong, where, and what to do about it; commands end with an ExitCode.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace distgpu {

// What was refused. Every field is shown to the user, so `object` is a thing
// that the user can find ("--distgpu=pytroch", "port 29500 on node07").
struct Error {
    std::string object;
    std::string problem;
    std::string remedy;  // empty when nothing can be advised

    // "distgpu: <object>: <problem>; <remedy>", one line without a newline.
    [[nodiscard]] std::string message() const {
        return "distgpu: " + object + ": " + problem + (remedy.empty() ? "" : "; " + remedy);
    }

    // "<object>: <problem>", as a part of another one.
    [[nodiscard]] std::string cause() const { return object + ": " + problem; }

    bool operator==(const Error&) const = default;
    static void fields(auto& io, auto& it) {  // json_fields.h
        io("object", it.object, "problem", it.problem, "remedy", it.remedy);
    }
};

// A value of type T or an Error, with the operations that std::expected (C++23) has under the same
// name, so that it can take over one day.
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

    // f(T) -> Result<U>: continues with f, or hands the error on.
    template <class F>
    auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
        if (!state_) return std::move(state_.error());
        return std::forward<F>(f)(*std::move(state_));
    }

    // f(T) -> U: maps the value, or hands the error on.
    template <class F>
    auto transform(F&& f) && -> Result<std::invoke_result_t<F, T&&>> {
        if (!state_) return std::move(state_.error());
        return std::forward<F>(f)(*std::move(state_));
    }

  private:
    tl::expected<T, Error> state_;
};

// How every command ends.
enum class ExitCode {
    done = 0,
    check_failed = 1,
    usage = 2,
    environment = 3,  // it is not what is needed, or failed
    timed_out = 4,
    wrong_data = 5,
    skipped = 77,  // nothing was there to be checked
    // Of `distgpu exec`, beside the program's own, as env(1) has them.
    exec_failed = 125,
    not_executable = 126,
    not_found = 127,
};

}  // namespace distgpu

#pragma once

#include "backend/support/check.h"
#include "backend/support/diagnostics.h"

#include <optional>
#include <utility>
#include <variant>

namespace imbrex {

/// An error on its way into a `Result` of any type.
template <class E>
struct Failure {
  E error;
};
template <class E>
Failure(E) -> Failure<E>;

/// `return fail(Diag::SharedMemoryOverflow, where, …);`
template <class... Args>
Failure<Diagnostic> fail(Diag kind, Location where, const Args &...arguments) {
  return {diagnostic(kind, where, arguments...)};
}

/// A value, or the reason why there is none. No exceptions cross the compiler: to take the value of
/// a failed result is a bug and aborts. The public layer turns the error into an exception.
template <class T, class E = Diagnostic>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
  Result(Failure<F> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &value() & { return checked(), std::get<0>(state_); }
  const T &value() const & { return checked(), std::get<0>(state_); }
  T &&value() && { return checked(), std::get<0>(std::move(state_)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  const E &error() const & {
    IMBREX_CHECK(!ok(), "the error of a result that has a value was taken");
    return std::get<1>(state_);
  }
  /// The error again, for a caller whose own result has another type.
  Failure<E> failure() const { return {error()}; }

private:
  void checked() const {
    IMBREX_CHECK(ok(), "the value of a failed result was taken: {0}", describe());
  }
  std::string describe() const {
    if constexpr (requires(const E &e) { render(e); })
      return ok() ? "" : render(error());
    else
      return "";
  }

  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
public:
  Result() = default;
  template <class F>
  Result(Failure<F> failure) : error_(std::move(failure.error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }

  const E &error() const {
    IMBREX_CHECK(!ok(), "the error of a result without one was taken");
    return *error_;
  }
  Failure<E> failure() const { return {error()}; }

private:
  std::optional<E> error_;
};

} // namespace imbrex

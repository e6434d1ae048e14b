#pragma once

#include <imbrex/detail/compiler.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace imbrex {

/// A line of the user's source; `line` is 0 where none is known.
struct source_place {
  std::string file;
  unsigned line = 0;
};

/// A mistake in a kernel or in its use. `what()` is the whole text: `file:line: error: …`, then a
/// line per hint and note.
class error : public std::runtime_error {
public:
  error(std::string code, source_place where, std::vector<std::string> notes,
        const std::string &text)
      : std::runtime_error(text), details_(std::make_shared<const details>(details{
                                      std::move(code), std::move(where), std::move(notes)})) {}

  /// The kind of mistake: the name of its row in the table of diagnostics.
  std::string_view code() const noexcept { return details_->code; }
  const source_place &where() const noexcept { return details_->where; }
  const std::vector<std::string> &notes() const noexcept { return details_->notes; }

private:
  struct details {
    std::string code;
    source_place where;
    std::vector<std::string> notes;
  };
  std::shared_ptr<const details> details_;
};

namespace detail {
/// In the library, so that a file which is compiled without exceptions can call it: where nothing
/// can catch, the program ends and prints the text.
[[noreturn]] void throw_error(const error &mistake);
} // namespace detail

/// A value, or the error that stands in its way. `value()` throws the error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : value_(std::move(value)) {}
  result(imbrex::error why) : error_(std::move(why)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T &value() & { return checked(), *value_; }
  const T &value() const & { return checked(), *value_; }
  T value() && { return checked(), std::move(*value_); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  /// Only when not ok().
  const imbrex::error &error() const { return error_.value(); }

private:
  void checked() const {
    if (error_) detail::throw_error(*error_);
  }
  std::optional<T> value_;
  std::optional<imbrex::error> error_;
};

/// Nothing, or the error that stands in its way.
template <>
class [[nodiscard]] result<void> {
public:
  result() {} // NOLINT(modernize-use-equals-default): which would set all of it to zeros
  result(imbrex::error why) : error_(std::move(why)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (error_) detail::throw_error(*error_);
  }
  /// Only when not ok().
  const imbrex::error &error() const { return error_.value(); }

private:
  std::optional<imbrex::error> error_;
};

} // namespace imbrex

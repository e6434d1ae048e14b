#pragma once

#include "backend/support/text.h"

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace imbrex {

/// What a failing check prints besides itself while this object lives: the pass that runs, its IR,
/// the command that reproduces. Notes nest, per thread; the innermost is printed first. The
/// function is called on a failure only.
class CrashNote {
public:
  explicit CrashNote(std::function<std::string()> describe);
  ~CrashNote();
  CrashNote(const CrashNote &) = delete;
  CrashNote &operator=(const CrashNote &) = delete;

private:
  friend void printCrashNotes();
  std::function<std::string()> describe_;
  CrashNote *outer_;
};

/// Print the failed condition and the notes of the thread to stderr, then abort.
[[noreturn]] void failCheck(std::string_view file, int line, std::string_view condition,
                            std::string_view message, std::span<const std::string> arguments);

template <class... Args>
[[noreturn]] void failCheckWith(std::string_view file, int line, std::string_view condition,
                                std::string_view message, const Args &...arguments) {
  const std::array<std::string, sizeof...(Args)> texts{std::string(toText(arguments))...};
  failCheck(file, line, condition, message, texts);
}

} // namespace imbrex

/// Abort unless the condition holds, in every build: it is our bug and not the user's mistake. The
/// message may have {0} fillers.
#define IMBREX_CHECK(condition, ...)                                                               \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::imbrex::failCheckWith(__FILE__, __LINE__, #condition, __VA_ARGS__);                        \
  } while (false)

/// Behind a switch over all kinds of an enum, none of which falls through.
#define IMBREX_UNREACHABLE(...)                                                                    \
  ::imbrex::failCheckWith(__FILE__, __LINE__, "unreachable", __VA_ARGS__)

#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace imbrex {

/// What stands for a value in a message. A type of one's own takes part by a `toText` beside it.
inline std::string toText(std::string_view text) { return std::string(text); }
inline std::string toText(char c) { return std::string(1, c); }
template <std::integral T>
std::string toText(T value) {
  if constexpr (std::same_as<T, bool>)
    return value ? "true" : "false";
  else
    return std::to_string(value);
}
std::string toText(double value); ///< The shortest text that reads back as the same value.

/// `1 warp`, `4 warps`: of a noun that takes an s.
template <std::integral T>
std::string counted(T count, std::string_view noun) {
  return toText(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// What stands for each of them, with `between` between two.
template <class Range>
std::string joined(const Range &range, std::string_view between = ", ") {
  std::string text;
  std::string_view before;
  for (const auto &one : range) {
    text.append(before).append(toText(one));
    before = between;
  }
  return text;
}

/// How many arguments a pattern wants: one more than its largest `{n}`.
constexpr int countFillers(std::string_view pattern) {
  int count = 0;
  for (std::size_t i = 0; i + 2 < pattern.size(); ++i) {
    const char digit = pattern[i + 1];
    if (pattern[i] != '{' || pattern[i + 2] != '}' || digit < '0' || digit > '9') continue;
    count = count > digit - '0' ? count : digit - '0' + 1;
  }
  return count;
}

/// Replace every `{n}`, one digit, by `arguments[n]`. Other braces stay, and a filler without an
/// argument stays as it is written: a message about a mistake must not make one.
std::string fill(std::string_view pattern, std::span<const std::string> arguments);

/// Letters and digits alone, in lower case: what is left of SM-90a and of sm_90a.
std::string squeezed(std::string_view word);

/// The candidate that a misspelt `word` probably meant, empty where none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`.
std::string alternatives(std::span<const std::string_view> names);

} // namespace imbrex

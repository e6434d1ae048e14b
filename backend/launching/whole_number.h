#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace imbrex::launching {

/// A number from 1 to `most`, and nothing behind it.
inline std::optional<std::int64_t> wholeNumber(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const char *const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const bool isWhole = error == std::errc{} && end == last;
  return isWhole && number >= 1 && number <= most ? std::optional(number) : std::nullopt;
}

} // namespace imbrex::launching

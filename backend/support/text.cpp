#include "backend/support/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>
#include <vector>

namespace imbrex {

std::string toText(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string fill(std::string_view pattern, std::span<const std::string> arguments) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 2] == '}') {
      const auto index = static_cast<std::size_t>(static_cast<unsigned char>(pattern[i + 1])) - '0';
      if (index < 10 && index < arguments.size()) {
        text += arguments[index];
        i += 2;
        continue;
      }
    }
    text += pattern[i];
  }
  return text;
}

std::string squeezed(std::string_view word) {
  std::string text;
  for (const char letter : word) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code)) text += static_cast<char>(std::tolower(code));
  }
  return text;
}

namespace {

/// Levenshtein's distance: how many letters are inserted, dropped or replaced.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string asItIs(std::string_view word) { return std::string(word); }

/// Who stopped early meant the shortest that goes on: of sm_80 and sm_90a, sm_90 is the latter.
std::string_view continued(std::string_view word, std::span<const std::string_view> candidates,
                           std::string (&read)(std::string_view)) {
  constexpr std::size_t kTelling = 3;
  const std::string begun = read(word);
  std::string_view best;
  for (std::string_view candidate : candidates)
    if (begun.size() >= kTelling && read(candidate).starts_with(begun) &&
        (best.empty() || candidate.size() < best.size()))
      best = candidate;
  return best;
}

} // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best = continued(word, candidates, asItIs);
  if (best.empty()) best = continued(word, candidates, squeezed);
  if (!best.empty()) return best;
  // A third of the letters wrong is another word. Of two that are as near, who begins alike is
  // meant.
  auto nearestYet = std::pair(word.size() / 3 + 1, std::size_t{0});
  const std::string letters = squeezed(word);
  for (std::string_view candidate : candidates) {
    const std::string of = squeezed(candidate);
    const auto [mine, theirs] = std::ranges::mismatch(letters, of);
    const auto differing = static_cast<std::size_t>(letters.end() - mine);
    const auto distance = std::pair(editDistance(letters, of), differing);
    if (distance.first > nearestYet.first || (!best.empty() && distance >= nearestYet)) continue;
    best = candidate;
    nearestYet = distance;
  }
  return best;
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += "'" + std::string(names[i]) + "'";
  }
  return text;
}

} // namespace imbrex

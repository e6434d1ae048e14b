#pragma once

#include <imbrex/imbrex.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

/// What a selection of the k best has to give, in plain C++: the answer itself, and apart from it
/// the promises that any answer keeps.
namespace imbrex::testing {

using Places = std::vector<std::int64_t>;

/// Every score as a number that C++ compares: exact, for integers stay what they are.
template <class T>
auto comparable(T score) {
  if constexpr (float_element<T>)
    return static_cast<double>(score);
  else
    return score;
}

/// Whether a score is better than another, strictly; nothing is better than NaN, or worse.
template <class T>
bool isBetter(T a, T b, bool largest) {
  return largest ? comparable(a) > comparable(b) : comparable(a) < comparable(b);
}

template <class T>
T worst(bool largest) {
  if constexpr (float_element<T>)
    return T(largest ? -INFINITY : INFINITY);
  else
    return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

template <class T>
bool isSelectable(T score, bool largest) {
  return isBetter(score, worst<T>(largest), largest);
}

template <class T>
Places selectable(std::span<const T> row, bool largest) {
  Places places;
  for (std::int64_t i = 0; i < std::ssize(row); ++i)
    if (isSelectable(row[static_cast<std::size_t>(i)], largest)) places.push_back(i);
  return places;
}

/// The places of a row's k best: better ones first, of equal ones the first, -1 behind the last.
template <class T>
Places referenceTopk(std::span<const T> row, std::int64_t k, bool largest) {
  Places places = selectable(row, largest);
  std::ranges::stable_sort(places, [&](std::int64_t a, std::int64_t b) {
    return isBetter(row[static_cast<std::size_t>(a)], row[static_cast<std::size_t>(b)], largest);
  });
  places.resize(static_cast<std::size_t>(k), -1);
  return places;
}

/// Which promise an answer breaks, if it does. It knows nothing of how to find one, and not which
/// of several equal scores is due, nor in which order.
template <class T>
std::optional<std::string> brokenPromise(std::span<const T> row, bool largest, const Places &got) {
  const auto size = std::ssize(row);
  const Places all = selectable(row, largest);
  const std::int64_t due = std::min(std::ssize(got), std::ssize(all));
  std::set<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::ssize(got); ++i) {
    const std::int64_t place = got[static_cast<std::size_t>(i)];
    if (i >= due && place != -1) return "the tail is not -1";
    if (i >= due) continue;
    if (place < 0 || place >= size) return "an index is out of range";
    if (!isSelectable(row[static_cast<std::size_t>(place)], largest))
      return "a dead score is selected";
    if (!chosen.insert(place).second) return "an index is there twice";
  }
  for (const std::int64_t in : chosen)
    for (const std::int64_t other : all)
      if (!chosen.contains(other) && isBetter(row[static_cast<std::size_t>(other)],
                                              row[static_cast<std::size_t>(in)], largest))
        return "a better score is not selected";
  return std::nullopt;
}

} // namespace imbrex::testing

#pragma once

#include <imbrex/error.hpp>

#include <string>

namespace imbrex::testing {

/// The kind of error that an action throws, and "nowhere" behind it where that names no line; empty
/// where it throws none.
template <class Action>
std::string thrownCode(const Action &action) {
  try {
    action();
  } catch (const error &mistake) {
    return std::string(mistake.code()) + (mistake.where().line > 0 ? "" : " nowhere");
  }
  return "";
}

} // namespace imbrex::testing

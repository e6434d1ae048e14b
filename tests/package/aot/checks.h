#pragma once

#include <imbrex/aot.hpp>

#include <doctest/doctest.h>

#include <string>

namespace imbrex::aot_tests {

inline void check(const aot::status &came) {
  CHECK_MESSAGE(came.ok(), std::string(came.message()));
}

inline void checkRefused(const aot::status &came, imbrex_status code, const std::string &text) {
  CHECK(came.code() == code);
  CHECK(std::string(came.message()) == text);
}

} // namespace imbrex::aot_tests

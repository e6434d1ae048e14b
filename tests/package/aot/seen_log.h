#pragma once

#include <imbrex/aot.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace imbrex::aot_tests {

/// What the log has, of the whole program.
inline std::vector<std::string> logLines;

[[maybe_unused]] inline const bool isLogKept = [] {
  setenv("IMBREX_LOG", "device:info,load:info", 1);
  imbrex_set_log_receiver(
      [](std::int32_t level, const char *topic, const char *text, void *own) {
        static_cast<std::vector<std::string> *>(own)->push_back(std::to_string(level) + " " +
                                                                topic + ": " + text);
      },
      &logLines);
  return true;
}();

} // namespace imbrex::aot_tests

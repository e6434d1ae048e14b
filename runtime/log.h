#pragma once

#include "backend/support/text.h"
#include "imbrex/log.hpp"

#include <array>
#include <string>
#include <string_view>

namespace imbrex::runtime {

/// Whether anybody wants this event: to be asked before work that only the log needs.
bool isLogged(log_level level, std::string_view topic);

/// One line, `imbrex: debug: cache: text`; never to stdout, which is the user's.
void writeLog(log_level level, std::string_view topic, std::string_view text);

template <class... Args>
void log(log_level level, std::string_view topic, std::string_view pattern,
         const Args &...arguments) {
  if (!isLogged(level, topic)) return;
  using imbrex::toText; // this namespace has one of its own
  const std::array<std::string, sizeof...(Args)> texts{std::string(toText(arguments))...};
  writeLog(level, topic, fill(pattern, texts));
}

} // namespace imbrex::runtime

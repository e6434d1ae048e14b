#include "imbrex/log.hpp"

#include "backend/support/log.h"

namespace imbrex {

static_assert(static_cast<int>(log_level::debug) == static_cast<int>(LogLevel::Debug));

void set_logger(logger receiver) {
  if (!receiver) return setLogger({});
  setLogger([receiver = std::move(receiver)](LogLevel level, std::string_view topic,
                                             std::string_view text) {
    receiver(static_cast<log_level>(level), topic, text);
  });
}

} // namespace imbrex

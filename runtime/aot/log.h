#pragma once

#include "backend/launching/log_filter.h"

/// A line for what is loaded and launched, if IMBREX_LOG asks for it.
namespace imbrex::aot {

using launching::LogLevel;

/// As printf makes it, without a newline.
[[gnu::format(printf, 3, 4)]] void log(LogLevel level, const char *topic, const char *format, ...);

} // namespace imbrex::aot

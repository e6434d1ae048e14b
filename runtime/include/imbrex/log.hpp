#pragma once

#include <imbrex/detail/compiler.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace imbrex {

enum class log_level : std::uint8_t { none, error, warn, info, debug };

/// Gets the events that IMBREX_LOG asks for: one line of text each, without a newline, which is
/// valid during the call only.
using logger = std::function<void(log_level level, std::string_view topic, std::string_view text)>;

/// Send events to a logger instead of stderr; an empty one brings stderr back. It is called from
/// any thread, but from one at a time: it may be in the middle of a launch, and calls nothing of
/// imbrex itself.
void set_logger(logger receiver);

/// Replace what IMBREX_LOG asks for, in the same words: `info`, or `warn,cache:debug` for other
/// levels of some topics. False, and nothing is changed, where a level is unknown.
bool set_log_filter(std::string_view levels);

} // namespace imbrex

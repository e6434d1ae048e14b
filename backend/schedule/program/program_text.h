#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <optional>
#include <string>
#include <string_view>

/// The text form of schedules, described in docs/schedule-text.md and, by example, at the head of
/// program.h. It is exact for programs that are well formed (well_formed.h): what is printed parses
/// to a program that says the same, and prints as the same text. Ids are by place in the text: what
/// lies in a ring comes with its ring, and a role's cursors and queues with the role.
namespace imbrex::schedule {

/// Never fails: what is not well formed is printed too (with `%?` for what does not exist), so that
/// a failing check can show it.
std::string print(const Program &program);

/// The one schedule of a text; nothing, and errors reported, where it is not one. Operations get
/// their line of `fileName` as their place. What parses need not be well formed.
std::optional<Program> parse(std::string_view text, std::string_view fileName,
                             Diagnostics &diagnostics);

} // namespace imbrex::schedule

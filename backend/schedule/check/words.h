#pragma once

#include "backend/schedule/program/program.h"

#include <string>

/// How a program's parts are called in messages.
namespace imbrex::schedule::check {

/// "wait 'full'", "issue on 'products'".
std::string describe(const Program &program, const ScheduleOp &op);

} // namespace imbrex::schedule::check

#pragma once

#include "backend/schedule/program/program.h"

namespace imbrex::schedule {

/// A program with neither barriers nor what orders by them, as `addBarriers` wants it.
Program withoutBarriers(Program program);

} // namespace imbrex::schedule

#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

namespace imbrex::schedule {

/// How far a program is made.
enum class Completeness : std::uint8_t {
  Complete,
  WithoutBarriers, // a copy need not say where its bytes count: `addBarriers` will
};

/// Whether a program says something at all: every name and number in it means something where it
/// stands (docs/schedule-text.md lists the rules). What does not is reported, each error at its
/// operation. Total: any program is accepted or reported, whatever wrote it; an accepted one has no
/// id, part or number out of range, and all that it says is in its text.
///
/// Whether what it says is right, without races and deadlocks, is the checker's question. So a
/// buffer may lie over another (that is what offsets are for), two meetings may share a number, and
/// a cursor may be reset.
bool verify(const Program &program, Diagnostics &diagnostics,
            Completeness form = Completeness::Complete);

} // namespace imbrex::schedule

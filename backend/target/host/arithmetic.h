#pragma once

#include "backend/lower/values/combine.h"
#include "backend/target/host/compiler.h"

/// What all targets compute with, and what a processor does better.
namespace imbrex::host {

lower::Natives nativesOf(const Machine &machine);

using lower::accumulatorOf;
using lower::emitAccumulate;
using lower::emitCast;
using lower::emitCombine;
using lower::emitCombineArg;
using lower::emitElementwise;
using lower::identityOf;
using lower::Indexed;
using lower::lanesLike;
using lower::laneType;
using lower::splatBits;
using lower::startOf;

} // namespace imbrex::host

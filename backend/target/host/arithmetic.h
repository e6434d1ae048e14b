#pragma once

#include "backend/lower/values/combine.h"
#include "backend/target/host/compiler.h"

/// What all targets compute with, and what a processor does better.
namespace imbrex::host {

lower::NativeInstructions nativesOf(const HostMachine &machine);

using lower::accumulatorOf;
using lower::emitAccumulate;
using lower::emitCast;
using lower::emitCombine;
using lower::emitCombineArg;
using lower::emitElementwise;
using lower::identityOf;
using lower::lanesLike;
using lower::laneType;
using lower::splatBits;
using lower::startOf;
using lower::ValueWithIndex;

} // namespace imbrex::host

#pragma once

#include "backend/ir/kernel.h"

/// What a kernel requires of its launches: the ops `require`, whose conditions the launch can
/// compute from its arguments before anything runs.
namespace imbrex::ir {

/// The first op that a value needs and a launch cannot compute; null where it can. It computes
/// scalars, from constants, scalar parameters and the extents and strides of views.
const Op *unknownToLaunch(const Kernel &kernel, ValueId value);

/// What each requirement of a kernel is, in order.
std::vector<const Op *> requirementsOf(const Kernel &kernel);

/// What all has to hold for a condition to hold, in its order: the sides of its `&&`, or itself.
std::vector<ValueId> conjunctsOf(const Kernel &kernel, ValueId condition);

/// A value that a launch can compute, as C++ writes it: `a.extent(1) == b.extent(0)`.
std::string writtenOut(const Kernel &kernel, ValueId value);

/// What a launch gives for it, in the order in which it is written: parameters and extents.
std::vector<ValueId> givenFor(const Kernel &kernel, ValueId value);

} // namespace imbrex::ir

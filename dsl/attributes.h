#pragma once

#include "backend/ir/op.h"
#include <imbrex/detail/recorder.hpp>

namespace imbrex::dsl {

/// The attributes of an op of this kind with the named fields set. A name that its struct does not
/// have, or a word that its enum does not have, is a bug of ours and aborts.
ir::Attributes attributesFor(ir::OpKind kind, detail::list<detail::attribute> given);

} // namespace imbrex::dsl

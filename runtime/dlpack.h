#pragma once

#include "backend/support/result.h"
#include "runtime/bind.h"

namespace imbrex::runtime {

/// A DLPack array as an argument for this parameter, if its device, elements and axes are right.
Result<detail::launch_argument> fromDlpack(const dlpack::tensor &tensor, const Parameter &parameter,
                                           Location where);

} // namespace imbrex::runtime

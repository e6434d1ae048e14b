#pragma once

#include "backend/support/result.h"
#include "runtime/bind.h"

namespace imbrex::runtime {

/// A DLPack array as an argument for this parameter of a launch on a device, if its memory,
/// elements and axes are right.
Result<detail::launch_argument> fromDlpack(const dlpack::tensor &tensor, const Parameter &parameter,
                                           device on, Location where);
/// The same, if its version and the parameter's right to write are right, too.
Result<detail::launch_argument> fromDlpack(const dlpack::managed_tensor_versioned &tensor,
                                           const Parameter &parameter, device on, Location where);

} // namespace imbrex::runtime

#pragma once

#include "backend/ir/kernel.h"

#include <string>
#include <vector>

/// What a launch computes from its arguments before anything runs, as kernels for the processor.
namespace imbrex::archive {

/// What a requirement or a tuning table is about, and where a launch's words for the processor have
/// it (host::argumentWords).
struct GivenWord {
  std::string name; ///< "a.extent(1)"
  std::int32_t word;
  ir::ElementKind element;
};

/// A requirement of a kernel, or one of several that stand behind one `&&` the other.
struct RequiredPart {
  ir::ValueId condition;
  std::string written; ///< As C++ has it.
  std::string text;
  std::vector<GivenWord> given;
};
std::vector<RequiredPart> requiredBy(const ir::Kernel &kernel);

/// All that a launch has a number for: scalars, extents and strides.
std::vector<GivenWord> givenBy(const ir::Kernel &kernel);

/// Takes the kernel's parameters and behind them a view of one i64, where it writes the number of
/// the first requirement that such a launch does not keep; -1 where it keeps all.
///
///   before                                        after
///   require %c, "both are of one length"          %n = select %c, -1, 0
///   …                                             view.store %unmet, %n, 0
ir::Kernel checkKernel(const ir::Kernel &kernel, const std::vector<RequiredPart> &required);

} // namespace imbrex::archive

#include "backend/lower/kernel_interface.h"

#include "backend/support/check.h"

namespace imbrex::lower {

std::uint64_t wordOf(const Word &word, llvm::ArrayRef<ir::Argument> arguments) {
  const ir::Argument &argument = arguments[static_cast<std::size_t>(word.parameter)];
  const auto axis = static_cast<std::size_t>(word.axis);
  switch (word.kind) {
  case WordKind::Scalar: return argument.scalar;
  case WordKind::Pointer: return reinterpret_cast<std::uintptr_t>(argument.data);
  case WordKind::Extent: return static_cast<std::uint64_t>(argument.extents[axis]);
  case WordKind::Stride: return static_cast<std::uint64_t>(argument.strides[axis]);
  case WordKind::Observations:
  case WordKind::BoxMap: break;
  }
  IMBREX_UNREACHABLE("a word that is made for each launch");
}

} // namespace imbrex::lower

#include "runtime/promises.h"

namespace imbrex::runtime {
namespace {

const ir::Type &typeOf(const ir::Kernel &kernel, std::size_t parameter) {
  return kernel.type(kernel.body().arguments[parameter]);
}

/// Whether two arguments may share a byte; of a bare pointer nobody knows where its memory ends.
bool mayOverlap(const ir::Argument &a, const ir::Argument &b) {
  if (a.data == nullptr || b.data == nullptr || a.bytes == 0 || b.bytes == 0) return false;
  const auto reaches = [](const ir::Argument &from, const ir::Argument &to) {
    return from.bytes == ir::Argument::kUnknownSize || from.data + from.bytes > to.data;
  };
  return a.data <= b.data ? reaches(a, b) : reaches(b, a);
}

} // namespace

lower::Promises promisesOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments) {
  lower::Promises kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type &type = typeOf(kernel, i);
    if (type.isTile()) continue;
    if (type.isView() && arguments[i].strides[static_cast<std::size_t>(type.rank()) - 1] != 1)
      kept.unitStrides = false;
    for (std::size_t other = 0; other < i; ++other)
      if (!typeOf(kernel, other).isTile() && mayOverlap(arguments[i], arguments[other]))
        kept.disjoint = false;
  }
  return kept;
}

} // namespace imbrex::runtime

#include "backend/lower/kernel_interface.h"

#include "backend/support/check.h"
#include "llvm/Support/MathExtras.h"

namespace imbrex::lower {

std::uint64_t wordOf(const Word &word, llvm::ArrayRef<ir::Argument> arguments) {
  const ir::Argument &argument = arguments[static_cast<std::size_t>(word.parameter)];
  const auto axis = static_cast<std::size_t>(word.axis);
  switch (word.kind) {
  case WordKind::Scalar: return argument.scalar;
  case WordKind::Pointer:
  case WordKind::Table: return reinterpret_cast<std::uintptr_t>(argument.data);
  case WordKind::Extent: return static_cast<std::uint64_t>(argument.extents[axis]);
  case WordKind::Stride: return static_cast<std::uint64_t>(argument.strides[axis]);
  case WordKind::Observations:
  case WordKind::BoxMap: break;
  }
  IMBREX_UNREACHABLE("a word that is made for each launch");
}

std::vector<std::int64_t> placesOf(llvm::ArrayRef<Word> words) {
  std::vector<std::int64_t> places;
  std::int64_t end = 0;
  for (const Word &word : words) {
    const std::int32_t alignment = word.kind == WordKind::BoxMap ? BoxMap::kAlignment : word.bytes;
    places.push_back(static_cast<std::int64_t>(
        llvm::alignTo(static_cast<std::uint64_t>(end), static_cast<std::uint64_t>(alignment))));
    end = places.back() + word.bytes;
  }
  places.push_back(end);
  return places;
}

} // namespace imbrex::lower

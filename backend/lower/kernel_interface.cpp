#include "backend/lower/kernel_interface.h"

#include "backend/support/check.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace imbrex::lower {

const void *sourceOf(const Word &word, const ir::Argument &argument) {
  const auto axis = static_cast<std::size_t>(word.axis);
  switch (word.kind) {
  case WordKind::Scalar: return &argument.scalar;
  case WordKind::Pointer:
  case WordKind::Table: return static_cast<const void *>(&argument.data);
  case WordKind::Extent: return &argument.extents[axis];
  case WordKind::Stride: return &argument.strides[axis];
  case WordKind::Observations:
  case WordKind::BoxMap: break;
  }
  IMBREX_UNREACHABLE("a word that is made for each launch");
}

std::uint64_t wordOf(const Word &word, llvm::ArrayRef<ir::Argument> arguments) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, sourceOf(word, arguments[static_cast<std::size_t>(word.parameter)]),
              sizeof bits);
  return bits;
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

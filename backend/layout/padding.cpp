#include "backend/layout/padding.h"

#include "backend/layout/matrix.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::layout {
namespace {

/// Along one axis: the coordinates at which the threads hold one register.
PaddedThreads paddingAlong(const LinearLayout &layout, Bits element, Dim axis,
                           std::int64_t extent) {
  Span threads;
  for (const Dim dim : {Dim::Lane, Dim::Warp})
    for (const Bits column : layout.columns(dim)) threads.add(layout.outputPart(column, axis));
  const Bits coordinate = layout.outputPart(element, axis), end = static_cast<Bits>(extent);
  if (threads.least(coordinate) >= end) return PaddedThreads::AllThreads;
  return threads.greatest(coordinate) < end ? PaddedThreads::NoThread : PaddedThreads::SomeThreads;
}

} // namespace

bool isPadding(const LinearLayout &layout, Bits element, llvm::ArrayRef<std::int64_t> extents) {
  return llvm::any_of(llvm::enumerate(extents), [&](const auto &axis) {
    const Dim dim = axisDim(static_cast<std::int32_t>(axis.index()));
    return layout.outputPart(element, dim) >= static_cast<Bits>(axis.value());
  });
}

PaddedThreads paddingIn(const LinearLayout &layout, std::int32_t registerIndex,
                        llvm::ArrayRef<std::int64_t> extents) {
  const Bits element = layout.apply(Dim::Register, static_cast<Bits>(registerIndex));
  PaddedThreads most = PaddedThreads::NoThread;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    most = std::max(most, paddingAlong(layout, element, axisDim(static_cast<std::int32_t>(axis)),
                                       extents[axis]));
  return most;
}

bool hasPadding(const LinearLayout &layout, llvm::ArrayRef<std::int64_t> extents) {
  return llvm::any_of(llvm::enumerate(extents), [&](const auto &axis) {
    const std::int32_t bits = layout.outputBits(axisDim(static_cast<std::int32_t>(axis.index())));
    return axis.value() != std::int64_t{1} << bits;
  });
}

} // namespace imbrex::layout

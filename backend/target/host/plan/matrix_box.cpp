#include "backend/target/host/plan/matrix_box.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::host {
namespace {

using ir::OpKind;
using ir::ValueId;

/// Where each axis of a value is in another one; none: of one index, nowhere in particular.
using Axes = llvm::SmallVector<std::optional<size_t>, 5>;

/// A value whose elements all are another's, in other places.
struct Moved {
  ValueId source;
  Axes axes; // of the value, in the source
};

llvm::SmallVector<size_t, 5> axesOfMore(const ir::Shape &shape) {
  llvm::SmallVector<size_t, 5> axes;
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] != 1) axes.push_back(static_cast<size_t>(axis));
  return axes;
}

/// Where axes of a reshape's result are in its operand; nothing where it does more than to take
/// away and to add axes of one index.
std::optional<Axes> axesOfReshape(const ir::Shape &from, const ir::Shape &to) {
  const auto before = axesOfMore(from), behind = axesOfMore(to);
  const auto isAlike = [&](size_t x, size_t y) {
    return from[static_cast<std::int32_t>(x)] == to[static_cast<std::int32_t>(y)];
  };
  if (!std::ranges::equal(before, behind, isAlike)) return std::nullopt;
  Axes axes(static_cast<size_t>(to.rank()));
  for (const auto [x, y] : llvm::zip(before, behind)) axes[y] = x;
  return axes;
}

/// Where axes of the op's result are in its operand; nothing where it computes other elements.
std::optional<Axes> axesInOperand(const ir::Kernel &kernel, const ir::Op &op) {
  if (op.kind == OpKind::Reshape)
    return axesOfReshape(kernel.type(op.operand(0)).shape(), kernel.type(op.result()).shape());
  if (op.kind != OpKind::Permute) return std::nullopt;
  Axes axes;
  for (const std::int64_t axis : op.attrs<ir::PermuteAttrs>().order)
    axes.emplace_back(static_cast<size_t>(axis));
  return axes;
}

/// Back through ops whose results are used once.
Moved movedFrom(const ir::Kernel &kernel, llvm::ArrayRef<std::int32_t> uses, ValueId value) {
  Moved moved{.source = value, .axes = {}};
  for (size_t axis = 0; axis < static_cast<size_t>(kernel.type(value).rank()); ++axis)
    moved.axes.emplace_back(axis);
  while (const ir::Op *op = kernel.definition(moved.source)) {
    const auto before = axesInOperand(kernel, *op);
    if (!before || uses[moved.source.index()] != 1) break;
    for (std::optional<size_t> &axis : moved.axes)
      if (axis) axis = (*before)[*axis];
    moved.source = op->operand(0);
  }
  return moved;
}

/// The axis of a tile of matrices that says which of them; nothing: there is one. Fails where there
/// are several such axes.
bool findBatch(const ir::Shape &shape, std::optional<size_t> &batch) {
  const auto axes = axesOfMore(shape);
  const auto isBefore = [&](size_t axis) { return axis + 2 < static_cast<size_t>(shape.rank()); };
  const auto *const end = llvm::find_if_not(axes, isBefore);
  if (end != axes.begin()) batch = axes.front();
  return end - axes.begin() <= 1;
}

} // namespace

std::optional<MatrixBox> factorBox(const ir::Kernel &kernel, llvm::ArrayRef<std::int32_t> uses,
                                   const ir::Op &product, size_t factor) {
  const ValueId matrix = product.operand(factor);
  const auto [source, axes] = movedFrom(kernel, uses, matrix);
  const ir::Op *load = kernel.definition(source);
  if (load == nullptr || load->kind != OpKind::ViewLoad || uses[source.index()] != 1)
    return std::nullopt;
  MatrixBox box{.access = load, .column = static_cast<size_t>(kernel.type(source).rank()) - 1};
  const std::optional<size_t> row = axes[axes.size() - 2], column = axes.back();
  box.isTransposed = factor == 1 && column != box.column;
  box.row = box.isTransposed ? column : row;
  std::optional<size_t> batch;
  if ((box.isTransposed ? row : column) != box.column ||
      !findBatch(kernel.type(matrix).shape(), batch))
    return std::nullopt;
  if (batch) box.batch = axes[*batch];
  return box;
}

std::optional<MatrixBox> sumsBox(const ir::Kernel &kernel, llvm::ArrayRef<std::int32_t> uses,
                                 const ir::Op &store, ValueId sums) {
  const auto [source, axes] = movedFrom(kernel, uses, store.operand(1));
  const auto column = static_cast<size_t>(kernel.type(sums).rank()) - 1;
  std::optional<size_t> batch;
  if (source != sums || axes.back() != column || !findBatch(kernel.type(sums).shape(), batch))
    return std::nullopt;
  const auto inStore = [&](size_t axis) -> std::optional<size_t> {
    const auto *const found = llvm::find(axes, std::optional(axis));
    if (found == axes.end()) return std::nullopt;
    return static_cast<size_t>(found - axes.begin());
  };
  MatrixBox box{.access = &store, .column = axes.size() - 1, .row = inStore(column - 1)};
  if (batch) box.batch = inStore(*batch);
  return box;
}

} // namespace imbrex::host

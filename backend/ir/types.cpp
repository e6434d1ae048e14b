#include "backend/ir/types.h"

#include "backend/support/check.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::ir {
namespace {

constexpr auto kElements = std::to_array<ElementInfo>({
#define IMBREX_ELEMENT(Kind, name, bits, family, format, dlpack)                                   \
  {name, bits, ElementFamily::family, dlpack},
#include "backend/ir/element_types.def"
});

constexpr auto kElementKinds = std::to_array<ElementKind>({
#define IMBREX_ELEMENT(Kind, ...) ElementKind::Kind,
#include "backend/ir/element_types.def"
});

} // namespace

const ElementInfo &info(ElementKind kind) { return kElements[static_cast<size_t>(kind)]; }

std::optional<ElementKind> elementNamed(std::string_view name) {
  const auto found = std::ranges::find(kElements, name, &ElementInfo::name);
  if (found == kElements.end()) return std::nullopt;
  return kElementKinds[static_cast<size_t>(found - kElements.begin())];
}

llvm::ArrayRef<ElementKind> allElementKinds() { return kElementKinds; }

const llvm::fltSemantics &floatFormat(ElementKind kind) {
  static constexpr auto kFormats = std::to_array<const llvm::fltSemantics &(*)()>({
#define IMBREX_ELEMENT(Kind, name, bits, family, format, dlpack) &llvm::APFloat::format,
#include "backend/ir/element_types.def"
  });
  IMBREX_CHECK(isFloat(kind) || isNarrowFloat(kind), "only floats have a float format");
  return kFormats[static_cast<size_t>(kind)]();
}

std::int32_t storageBits(ElementKind kind) {
  return kind == ElementKind::Bool ? 8 : info(kind).bits;
}

Shape::Shape(llvm::ArrayRef<std::int64_t> extents)
    : rank_(static_cast<std::int32_t>(extents.size())) {
  IMBREX_CHECK(rank_ <= kMaxRank, "a tile has at most 5 axes");
  std::ranges::copy(extents, extents_.begin());
}

std::int64_t Shape::elements() const { return llvm::product_of(extents()); }

bool isPossible(const Shape &shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape.extents()) {
    if (extent < 1 || extent > kMaxElements / elements) return false;
    elements *= extent;
  }
  return true;
}

bool Shape::hasPowersOfTwo() const {
  return llvm::all_of(extents(), [](std::int64_t extent) {
    return llvm::has_single_bit(static_cast<std::uint64_t>(extent));
  });
}

Shape Shape::withAxis(std::int32_t axis, std::int64_t extent) const {
  Shape result = *this;
  result.extents_[static_cast<size_t>(axis)] = extent;
  return result;
}

Shape Shape::withoutAxis(std::int32_t axis) const {
  Shape result;
  for (std::int32_t i = 0; i < rank_; ++i)
    if (i != axis) result = result.withAppended((*this)[i]);
  return result;
}

Shape Shape::withAppended(std::int64_t extent) const {
  IMBREX_CHECK(rank_ < kMaxRank, "a tile has at most 5 axes");
  Shape result = *this;
  result.extents_[static_cast<size_t>(result.rank_++)] = extent;
  return result;
}

Type Type::tile(ElementKind element, Shape shape) {
  Type type;
  type.element_ = element;
  type.shape_ = shape;
  return type;
}

Type Type::pointerTile(ElementKind pointee, Shape shape, bool isConst) {
  Type type = tile(pointee, shape);
  type.form_ = Form::PointerTile;
  type.isConst_ = isConst;
  return type;
}

Type Type::view(ElementKind element, std::int32_t rank, bool isConst) {
  Type type = tile(element);
  type.form_ = Form::View;
  type.isConst_ = isConst;
  type.viewRank_ = rank;
  return type;
}

Type Type::table(ElementKind pointee, bool isConst) {
  Type type = view(pointee, 1, isConst);
  type.form_ = Form::Table;
  return type;
}

Type Type::variable(const Type &held) {
  IMBREX_CHECK(held.isTileOrPointers(), "a variable holds a tile");
  Type type = held;
  type.form_ = held.isTile() ? Form::Variable : Form::PointerVariable;
  return type;
}

Type Type::ring(const Type &held) {
  IMBREX_CHECK(held.isTile(), "shared memory holds tiles of elements");
  Type type = held;
  type.form_ = Form::Ring;
  return type;
}

Type Type::shared(const Type &held) {
  Type type = ring(held);
  type.form_ = Form::Shared;
  return type;
}

Type Type::barrier() {
  Type type;
  type.form_ = Form::Barrier;
  return type;
}

Type Type::withShape(const Shape &shape) const {
  Type type = *this;
  type.shape_ = shape;
  return type;
}

Type Type::held() const {
  IMBREX_CHECK(isVariable() || isRing() || isShared(),
               "only variables, rings and shared tiles hold values");
  Type type = *this;
  type.form_ = form_ == Form::PointerVariable ? Form::PointerTile : Form::Tile;
  return type;
}

std::string toString(const Shape &shape) { return joined(shape.extents(), "x"); }

std::string toString(const Type &type) {
  if (type.isVariable()) return "var<" + toString(type.held()) + ">";
  if (type.isBarrier()) return "barrier";
  if (type.isRing()) return "ring<" + toString(type.held()) + ">";
  if (type.isShared()) return "shared<" + toString(type.held()) + ">";
  const std::string element =
      std::string(type.isConst() ? "const " : "") + std::string(info(type.element()).name);
  if (type.isView()) return "view<" + element + ", " + std::to_string(type.rank()) + ">";
  if (type.isTable()) return "table<" + element + ">";
  std::string text = type.isPointerTile() ? "ptr<" + element + ">" : element;
  if (type.rank() > 0) text += "[" + toString(type.shape()) + "]";
  return text;
}

} // namespace imbrex::ir

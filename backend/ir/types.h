#pragma once

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex::ir {

enum class ElementKind : std::uint8_t {
#define IMBREX_ELEMENT(Kind, ...) Kind,
#include "backend/ir/element_types.def"
};

enum class ElementFamily : std::uint8_t { Bool, Signed, Unsigned, Float, NarrowFloat };

struct ElementInfo {
  std::string_view name;
  std::int32_t bits;
  ElementFamily family;
  std::uint8_t dlpackCode; ///< Of DLPack's data types, which have bits besides.
};

const ElementInfo &info(ElementKind kind);
std::optional<ElementKind> elementNamed(std::string_view name);
llvm::ArrayRef<ElementKind> allElementKinds();

/// The binary format of a float or a narrow float.
const llvm::fltSemantics &floatFormat(ElementKind kind);
/// The bits that one element takes in memory: a bool a byte, an f4e2m1 a nibble, others their own.
std::int32_t storageBits(ElementKind kind);
/// Whether two of them are in a byte.
inline bool sharesByte(ElementKind kind) { return storageBits(kind) < 8; }
inline bool isInteger(ElementKind kind) {
  return info(kind).family == ElementFamily::Signed || info(kind).family == ElementFamily::Unsigned;
}
inline bool isSigned(ElementKind kind) { return info(kind).family == ElementFamily::Signed; }
/// A float with arithmetic of its own: f16, bf16, f32, f64.
inline bool isFloat(ElementKind kind) { return info(kind).family == ElementFamily::Float; }
inline bool isNarrowFloat(ElementKind kind) {
  return info(kind).family == ElementFamily::NarrowFloat;
}

/// The extents of a tile, rank 0 (a scalar) to 5.
class Shape {
public:
  static constexpr std::int32_t kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(llvm::ArrayRef<std::int64_t>(extents)) {}
  explicit Shape(llvm::ArrayRef<std::int64_t> extents);

  std::int32_t rank() const { return rank_; }
  std::int64_t operator[](std::int32_t axis) const { return extents_[static_cast<size_t>(axis)]; }
  llvm::ArrayRef<std::int64_t> extents() const {
    return {extents_.data(), static_cast<size_t>(rank_)};
  }
  /// The product of the extents; 1 for a scalar.
  std::int64_t elements() const;
  /// Whether every extent is one, so that the tile has no padding.
  bool hasPowersOfTwo() const;

  Shape withAxis(std::int32_t axis, std::int64_t extent) const;
  Shape withoutAxis(std::int32_t axis) const;
  Shape withAppended(std::int64_t extent) const;

  bool operator==(const Shape &) const = default;

private:
  std::array<std::int64_t, kMaxRank> extents_{}; // beyond the rank: 0, so that == may compare all
  std::int32_t rank_ = 0;
};

/// The most elements that a tile may have, so that i32 holds every index and every count of them.
inline constexpr std::int64_t kMaxElements = 0x7fffffff;

/// Whether a tile can have this shape: extents from 1, at most kMaxElements elements.
bool isPossible(const Shape &shape);

/// The type of a value: a tile of elements or of pointers (rank 0: a scalar), a view of global
/// memory, a table of pointers to it, a variable that has not been turned into SSA values yet, a
/// ring of tiles, a tile that lies in shared memory, or barriers.
///
///   f32[128x64]   i64   ptr<f32>[128]   view<const bf16, 2>   table<f32>   var<f32[128]>
///   ring<f16[128x64]>   shared<f16[128x64]>   barrier
class Type {
public:
  enum class Form : std::uint8_t {
    Tile,
    PointerTile,
    View,
    Table,
    Variable,
    PointerVariable,
    Ring,
    Shared,
    Barrier
  };

  Type() = default;
  static Type tile(ElementKind element, Shape shape = {});
  static Type pointerTile(ElementKind pointee, Shape shape = {}, bool isConst = false);
  static Type view(ElementKind element, std::int32_t rank, bool isConst);
  /// Pointers that a launch brings, one behind the other; a kernel reads them and no more.
  static Type table(ElementKind pointee, bool isConst = false);
  /// A variable that holds a tile of type `held`.
  static Type variable(const Type &held);
  /// Slots for tiles of this type, which has elements.
  static Type ring(const Type &held);
  /// A tile of this type, which has elements, where it lies in shared memory.
  static Type shared(const Type &held);
  static Type barrier();

  Form form() const { return form_; }
  bool isTile() const { return form_ == Form::Tile; }
  bool isPointerTile() const { return form_ == Form::PointerTile; }
  /// A tile of elements or of pointers: all that can be an SSA value inside a kernel.
  bool isTileOrPointers() const { return isTile() || isPointerTile(); }
  bool isView() const { return form_ == Form::View; }
  bool isTable() const { return form_ == Form::Table; }
  /// What a parameter alone can be: how many elements there are, the launch says.
  bool hasExtents() const { return isView() || isTable(); }
  /// Leads to global memory that a launch brings.
  bool hasMemory() const { return hasExtents() || isPointerTile(); }
  bool isVariable() const { return form_ == Form::Variable || form_ == Form::PointerVariable; }
  bool isRing() const { return form_ == Form::Ring; }
  bool isShared() const { return form_ == Form::Shared; }
  bool isBarrier() const { return form_ == Form::Barrier; }
  bool isScalar() const { return isTile() && shape_.rank() == 0; }
  bool isScalar(ElementKind kind) const { return isScalar() && element_ == kind; }

  /// The element; of a pointer tile, a view or a table: what it points to.
  ElementKind element() const { return element_; }
  bool isConst() const { return isConst_; }
  const Shape &shape() const { return shape_; }
  std::int32_t rank() const { return hasExtents() ? viewRank_ : shape_.rank(); }

  Type withElement(ElementKind element) const { return tile(element, shape_); }
  Type withShape(const Shape &shape) const;
  /// What a variable, a slot of a ring, or shared memory holds.
  Type held() const;

  bool operator==(const Type &) const = default;

private:
  Form form_ = Form::Tile;
  ElementKind element_ = ElementKind::Bool;
  bool isConst_ = false;
  std::int32_t viewRank_ = 0; // of a table 1
  Shape shape_;
};

std::string toString(const Shape &shape);
std::string toString(const Type &type);
/// For messages.
inline std::string toText(const Type &type) { return toString(type); }

} // namespace imbrex::ir

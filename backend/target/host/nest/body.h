#pragma once

#include "backend/target/host/nest/lane_arithmetic.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <set>

/// Emits what one trip of a nest computes: pulls the elements of tiles at points.
namespace imbrex::host {

using PointId = std::uint32_t;

class Body : public LaneArithmetic {
public:
  using LaneArithmetic::LaneArithmetic;

  /// From here on points have so many lanes; what was computed for others is forgotten.
  void setWidth(std::int32_t width);
  /// The trips of the inner loop, for the check that offsets do not wrap inside it.
  void setInnerTrips(std::int64_t trips) { innerTrips_ = trips; }
  /// Put the inner loop's checks (all must hold) to the builder's place; null when there is none.
  llvm::Value *takeChecks();

  /// What is assumed of every box of a view.
  enum class Assumes : std::uint8_t {
    Nothing,
    InsideBy16,      ///< It lies inside its view; rows that are streamed are aligned to 16 bytes,
    InsideByVectors, ///< or to whole vectors.
  };
  /// From here on; what was computed otherwise is forgotten.
  void setAssumes(Assumes assumes);
  /// What the version behind the one that is there now assumes.
  Assumes nextAssumes() const;
  /// Put the conditions for that (all must hold) to the builder's place; null when there is none.
  llvm::Value *takeAssumptions();

  /// These loads prefetch, from here on, where they read whole vectors of neighbours.
  void setReadAhead(llvm::ArrayRef<ReadAhead> loads) { ahead_ = loads; }

  PointId intern(const Point &point);
  const Point &point(PointId id) const { return points_[id]; }

  Lanes read(ir::ValueId value, PointId at);
  /// The operands that an op with effect needs, at the builder's place.
  llvm::Value *readVector(ir::ValueId value, PointId at) { return vector(read(value, at)); }

  Lanes loadBuffer(const ScratchTile &buffer, llvm::Value *address, PointId at);
  void storeBuffer(const ScratchTile &buffer, llvm::Value *address, PointId at, const Lanes &lanes);
  /// Evaluate a store's operands; the returned function then writes.
  std::function<void()> prepareStore(const ir::Op &op, PointId at);

  /// Where the box of a view.load or view.store begins, in memory and along each axis, and whether
  /// it lies inside its view; at the builder's place.
  struct BoxPlace {
    llvm::Value *address, *isInside;
    llvm::SmallVector<llvm::Value *, 5> start;
  };
  BoxPlace placeOf(const ir::Op &op);

  // Combine regions and the like: values of scalar type that are lanes here.
  void bind(ir::ValueId value, PointId at, const Lanes &lanes) {
    memo_[{value.index(), at}] = lanes;
  }

private:
  using MemoKey = std::pair<std::uint32_t, PointId>;
  using CoordinateKey = std::tuple<llvm::Value *, bool, std::int64_t, llvm::Value *>;

  Lanes compute(ir::ValueId value, const ir::Op &op, PointId at);
  Lanes elementwise(const ir::Op &op, PointId at);
  std::optional<Lanes> affine(const ir::Op &op, llvm::ArrayRef<Lanes> operands);
  bool isQuotientByOne(const ir::Op &op, llvm::ArrayRef<Lanes> operands) const;
  Lanes quotientByOne(const Lanes &dividend, const Lanes &divisor);
  Lanes cast(const ir::Op &op, PointId at);
  Lanes bitcast(const ir::Op &op, PointId at);
  Lanes nibbles(const ir::Op &op, PointId at, bool unpacks);
  Lanes tablePointer(const ir::Op &op, PointId at);
  Lanes pointerAdd(const ir::Op &op, PointId at);
  Lanes load(const ir::Op &op, PointId at);
  Lanes viewLoad(const ir::Op &op, PointId at);
  Lanes gather(const ir::Op &op, PointId at);
  Lanes join(const ir::Op &op, PointId at);
  Lanes concat(const ir::Op &op, PointId at);
  Lanes arange(const ir::Op &op, PointId at);
  Lanes reduceOfOne(const ir::Op &op, ir::ValueId value, PointId at);

  // Access to memory (emit_memory.cpp, emit_view.cpp). An address is an LLVM pointer or a vector of
  // them, a step is in bytes; a mask or an alternative without a value is not there.
  struct Access {
    Lanes address;
    Lanes mask;
  };
  Lanes readMemory(const ir::Type &type, const Access &access, const Lanes &other);
  llvm::Value *readOne(llvm::Type *memory, llvm::Value *address, llvm::Value *mask);
  llvm::Value *readMany(llvm::Type *memory, const Access &access, llvm::Value *off);
  void writeMemory(const ir::Type &type, const Access &access, const Lanes &value,
                   bool isStreaming = false);
  void prefetchNext(const ir::Op &load, const Lanes &address);
  Lanes addressLanes(const Lanes &pointers);
  Lanes bufferLanes(const ScratchTile &buffer, llvm::Value *address, PointId at);
  llvm::Value *guarded(llvm::Value *address, llvm::Value *mask, llvm::Type *memory);

  struct ViewAccess {
    Lanes element; // i64: elements from the view's first
    Lanes mask;
  };
  ViewAccess viewAccess(const ir::Op &op, size_t firstCoordinate, const ir::Shape &box, PointId at);
  const llvm::SmallVector<llvm::Value *, 5> &boxStart(const ir::Op &op, size_t firstCoordinate,
                                                      const ir::Shape &box);
  void assumeInside(const ir::Op &op, size_t firstCoordinate, const ir::Shape &box);
  static constexpr std::int64_t kLeastStreamed = 16; // movntps of a quarter of a vector
  /// Of a vector of such elements.
  std::int64_t streamedAlignment(std::int64_t elementBytes) const;
  void assumeAligned(ir::ValueId view, const ir::Op &op);
  Lanes orFirst(const Lanes &element, const Lanes &isTouched);
  Lanes viewAddress(ir::ValueId view, const Lanes &element);
  Lanes readNibbles(ir::ValueId view, const ViewAccess &access);
  void writeNibble(ir::ValueId view, const ViewAccess &access, llvm::Value *value);

  // Where an op's operand is read, given where its result is (emit_shape.cpp).
  PointId broadcastPoint(const ir::Op &op, PointId at);
  PointId reshapePoint(const ir::Shape &from, const ir::Shape &to, PointId at);
  void reshapeGroup(llvm::ArrayRef<std::int64_t> from, llvm::ArrayRef<std::int64_t> to,
                    llvm::ArrayRef<Coordinate> at, Point &result);
  PointId permutePoint(const ir::Op &op, PointId at);
  PointId slicePoint(const ir::Op &op, PointId at);
  PointId flipPoint(const ir::Op &op, PointId at);

  Lanes extendTo64(const Lanes &offset, ir::ValueId value, PointId at);
  std::int64_t innerTrips_ = 0;
  Assumes assumes_ = Assumes::Nothing;
  llvm::ArrayRef<ReadAhead> ahead_;
  std::vector<llvm::Value *> assumptions_;
  std::set<const ir::Op *> assumedInside_, assumedAligned_;
  bool streamsMoreThan16_ = false; // bytes in a vector, where it is assumed that these are aligned
  std::vector<Point> points_;
  std::map<std::vector<CoordinateKey>, PointId> pointIds_;
  llvm::DenseMap<MemoKey, Lanes> memo_;
  std::map<const ir::Op *, llvm::SmallVector<llvm::Value *, 5>> boxStarts_;
  struct Check {
    ir::ValueId value;
    Point start;
    std::int64_t reach; // what the inner loop adds at most, signed
  };
  std::vector<Check> checks_;
};

/// Whether a store asks for its data to go past the caches.
bool isStreamed(const ir::Op &op);
/// Whether so many elements of a view from `start` on, along an axis of this extent, are there.
llvm::Value *areInside(llvm::IRBuilder<> &builder, llvm::Value *start, llvm::Value *count,
                       llvm::Value *extent);

} // namespace imbrex::host

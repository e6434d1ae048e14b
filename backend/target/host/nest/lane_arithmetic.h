#pragma once

#include "backend/target/host/host_emitter.h"
#include "llvm/ADT/DenseMap.h"

namespace imbrex::host {

/// Computes with lanes and coordinates, each at the depth at which it changes: what is the same for
/// all lanes, or grows by a fixed step, stays so wherever it can.
class LaneArithmetic {
public:
  LaneArithmetic(HostEmitter &emitter, std::int32_t width)
      : f_(emitter), b_(emitter.builder), width_(width) {}

  std::int32_t width() const { return width_; }
  std::int32_t innermost() const { return static_cast<std::int32_t>(anchors_.size()) - 1; }
  /// Code of the depth outside of the new one goes before `anchor`; that of the innermost to the
  /// builder's end of block.
  void pushLevel(llvm::Instruction *anchor) { anchors_.push_back(anchor); }
  void popLevel() { anchors_.pop_back(); }

  /// All lanes; at their own depth.
  llvm::Value *vector(const Lanes &lanes);
  llvm::Value *vector(const Coordinate &c) { return vector(asLanes(c)); }

protected:
  /// From here on lanes are so many; what was computed for all of them is forgotten.
  void restart(std::int32_t width) {
    width_ = width;
    splats_.clear();
  }

  Coordinate constant(std::int64_t value);
  Coordinate addConstant(const Coordinate &c, std::int64_t by);
  Coordinate scale(const Coordinate &c, std::int64_t by);
  Coordinate add(const Coordinate &a, const Coordinate &b);
  /// For indices from 0; `crosses`: whether lanes may lie in different runs of `by`.
  bool crosses(const Coordinate &c, std::int64_t by) const;
  Coordinate quotient(const Coordinate &c, std::int64_t by);
  Coordinate remainder(const Coordinate &c, std::int64_t by);
  /// Bring an index into 0 … extent - 1.
  Coordinate clamp(const Coordinate &c, std::int64_t extent);
  Coordinate linear(llvm::ArrayRef<std::int64_t> extents, llvm::ArrayRef<Coordinate> point);

  /// A sum or product of integers, without an instruction where it is an operand: what LLVM need
  /// not see it need not remove.
  llvm::Value *plus(llvm::Value *x, llvm::Value *y);
  llvm::Value *times(llvm::Value *x, llvm::Value *y);
  llvm::Value *laneSteps(llvm::Type *element, std::int64_t step);

  Lanes uniform(llvm::Value *value, std::int32_t depth = -1) {
    return {.value = value, .depth = depth};
  }
  Lanes asLanes(const Coordinate &c) { return {c.value, c.isVector, c.step, c.depth}; }
  Lanes scaleLanes(const Lanes &x, llvm::Value *by);
  Lanes addLanes(const Lanes &x, const Lanes &y);
  Lanes both(const Lanes &x, const Lanes &y);
  Lanes within(const Coordinate &where, llvm::Value *start, llvm::Value *extent);
  Lanes touches(const Coordinate &index, llvm::Value *extent);

  HostEmitter &f_;
  llvm::IRBuilder<> &b_;
  std::int32_t width_;

private:
  friend class AtDepth;

  std::vector<llvm::Instruction *> anchors_;
  llvm::DenseMap<std::pair<llvm::Value *, std::int32_t>, llvm::Value *> splats_;
};

/// Puts the builder where code of a depth belongs, and back to the end of its block.
class AtDepth {
public:
  AtDepth(LaneArithmetic &lanes, std::int32_t depth);
  ~AtDepth();
  AtDepth(const AtDepth &) = delete;
  AtDepth &operator=(const AtDepth &) = delete;

private:
  llvm::IRBuilder<> &builder_;
  llvm::IRBuilderBase::InsertPoint saved_;
};

} // namespace imbrex::host

#include "backend/analysis/slabs.h"
#include "backend/lower/memory/access.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/support/check.h"

/// Matrix products by multiply-add. The operands pass through shared memory, a slab of k at a time,
/// with k outermost: then the threads of a warp read neighbours. Each thread keeps its part of the
/// sums in registers and, at each k, multiplies the elements of a that its rows want with those of
/// b that its columns want.
///
/// Precisions other than ieee, and narrow floats, are written as such products by expand-dots.
namespace imbrex::lower {

using ir::ElementKind;
using ir::ValueId;
using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

/// An operand as a slab of it lies in shared memory: [batch][k][across], each rounded up to a power
/// of two. `across`: rows of a, columns of b.
struct Slab {
  ValueId tile;
  Dim across;
  std::int32_t acrossBits;
  std::int32_t acrossShift; // in the packed coordinates of the tile
  std::int32_t depthShift;
  std::int32_t batchShift;
  std::int32_t batchBits;
  std::int64_t bytes;        // of an element
  std::int64_t bytesOfDepth; // of all elements with the same k
  Value *base = nullptr;
  std::int64_t alignment = layout::kMaxAccessBytes; // of the base

  /// A layout's registers that lie side by side in it, in vectors that are one access each.
  layout::RegisterVectors vectorsOf(const layout::LinearLayout &layout) const {
    const std::int64_t most = std::min<std::int64_t>(alignment, layout::kMaxAccessBytes);
    return contiguousRegisters(layout, across, std::max<std::int64_t>(most / bytes, 1));
  }
};

class DotEmitter {
public:
  DotEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), sumLayout_(emitter.layoutOf(op.result())),
        rank_(emitter.type(op.result()).rank()),
        depth_(emitter.type(op.operand(0)).shape()[rank_ - 1]),
        element_(emitter.type(op.operand(0)).element()), a_(slab(0, rank_ - 2)),
        b_(slab(1, rank_ - 1)), sums_(emitter.registers(op.operand(2))) {}

  void run() {
    const std::int64_t depth = analysis::depthOfSlab(e_.kernel, op_, e_.scratchBytes());
    for (std::int64_t first = 0; first < depth_; first += depth)
      addSlab(first, std::min(depth, depth_ - first), depth);
    e_.define(op_.result(), std::move(sums_));
  }

private:
  Slab slab(std::size_t operand, std::int32_t across) {
    const ValueId tile = op_.operand(operand);
    const std::int32_t along = analysis::depthAxis(e_.kernel, op_, operand);
    const layout::LinearLayout &layout = e_.layoutOf(tile);
    const auto &data = e_.module.getDataLayout();
    Slab made{.tile = tile,
              .across = layout::axisDim(across),
              .acrossBits = layout.outputBits(layout::axisDim(across)),
              .acrossShift = layout.outputShift(layout::axisDim(across)),
              .depthShift = layout.outputShift(layout::axisDim(along)),
              .batchShift = layout.outputBits(layout::axisDim(rank_ - 1)) +
                            layout.outputBits(layout::axisDim(rank_ - 2)),
              .batchBits = 0,
              .bytes = static_cast<std::int64_t>(
                  data.getTypeAllocSize(e_.memoryType(e_.type(tile))).getFixedValue()),
              .bytesOfDepth = analysis::bytesOfDepth(e_.kernel, op_, operand)};
    made.batchBits = layout.outputBits() - made.batchShift;
    return made;
  }

  /// The sums of k = first … first + count - 1; `room`: what the slabs have room for.
  void addSlab(std::int64_t first, std::int64_t count, std::int64_t room) {
    const std::int64_t bytesA = a_.bytesOfDepth * room;
    Value *const region = e_.beginExchange(bytesA + b_.bytesOfDepth * room);
    a_.base = region;
    b_.base = e_.b.CreateConstGEP1_64(e_.b.getInt8Ty(), region, static_cast<std::uint64_t>(bytesA));
    b_.alignment = bytesA; // a power of two
    roomBits_ = layout::bitsFor(room);
    write(a_, first);
    write(b_, first);
    e_.barrier();
    multiply(count);
    e_.shared.end();
  }

  Value *address(const Slab &slab, Value *batch, Value *depth, Value *across) {
    Value *row = e_.b.CreateOr(e_.b.CreateShl(batch, static_cast<std::uint64_t>(roomBits_)), depth);
    Value *index =
        e_.b.CreateOr(e_.b.CreateShl(row, static_cast<std::uint64_t>(slab.acrossBits)), across);
    return e_.b.CreateGEP(e_.memoryType(e_.type(slab.tile)), slab.base, index);
  }

  Value *field(Value *packed, std::int32_t shift, std::int32_t bits) {
    Value *shifted = e_.b.CreateLShr(packed, static_cast<std::uint64_t>(shift));
    return e_.b.CreateAnd(shifted, e_.i32((std::int64_t{1} << bits) - 1));
  }

  /// The number of the slab that packed coordinates lie in.
  Bits slabOf(const Slab &slab, Bits packed) const {
    const Bits depths = (Bits{1} << layout::bitsFor(depth_)) - 1;
    return (packed >> slab.depthShift & depths) >> roomBits_;
  }

  /// The vectors of a tile's registers by the slab that they are in, as far as that depends on the
  /// register: all of an entry are in the same slab, whichever the thread is.
  std::map<Bits, llvm::SmallVector<llvm::ArrayRef<std::int32_t>, 8>>
  bySlab(const Slab &slab, const layout::RegisterVectors &vectors) const {
    std::map<Bits, llvm::SmallVector<llvm::ArrayRef<std::int32_t>, 8>> found;
    const auto width = static_cast<std::size_t>(vectors.width);
    for (llvm::ArrayRef<std::int32_t> rest = vectors.registers; !rest.empty();
         rest = rest.drop_front(width)) {
      const auto first = static_cast<std::size_t>(rest[0]);
      const Bits number = slabOf(slab, e_.layoutOf(slab.tile).apply(Dim::Register, first));
      found[number].push_back(rest.take_front(width));
    }
    return found;
  }

  /// The bits of a slab's number that depend on the thread.
  Bits slabsOfThreads(const Slab &slab) const {
    Bits bits = 0;
    for (const Dim dim : {Dim::Lane, Dim::Warp})
      for (const Bits column : e_.layoutOf(slab.tile).columns(dim)) bits |= slabOf(slab, column);
    return bits;
  }

  /// Store what the slab from depth `first` on holds of a tile. Padding too: the sums that are
  /// padding read it, like all others.
  void write(const Slab &slab, std::int64_t first) {
    const layout::LinearLayout &layout = e_.layoutOf(slab.tile);
    const Bits number = static_cast<Bits>(first) >> roomBits_, ofThreads = slabsOfThreads(slab);
    const std::int32_t bitsAbove = layout::bitsFor(depth_) - roomBits_;
    Value *const owner = e_.isOwner(slab.tile);
    const layout::RegisterVectors all = slab.vectorsOf(layout);
    for (const auto &[ofRegister, vectors] : bySlab(slab, all)) {
      if (((ofRegister ^ number) & ~ofThreads) != 0) continue; // in no thread
      Value *isHere = nullptr;
      if (ofThreads != 0) {
        Value *packed = packedIndex(e_, layout, static_cast<std::size_t>(vectors.front()[0]));
        isHere = e_.b.CreateICmpEQ(field(packed, slab.depthShift + roomBits_, bitsAbove),
                                   e_.i32(static_cast<std::int64_t>(number)));
      }
      e_.where(e_.allOf({owner, isHere}), [&] {
        for (const llvm::ArrayRef<std::int32_t> vector : vectors) {
          Value *packed = packedIndex(e_, layout, static_cast<std::size_t>(vector[0]));
          Value *to = address(slab, field(packed, slab.batchShift, slab.batchBits),
                              field(packed, slab.depthShift, roomBits_),
                              field(packed, slab.acrossShift, slab.acrossBits));
          emitWrite(e_, e_.type(slab.tile),
                    {.address = to, .alignment = slab.bytes * std::ssize(vector)},
                    picked(e_.registers(slab.tile), vector), {});
        }
      });
    }
  }

  /// for k: every sum += its a * its b.
  void multiply(std::int64_t count) {
    llvm::BasicBlock *const before = e_.b.GetInsertBlock(), *const loop = e_.newBlock("dot");
    llvm::BasicBlock *const after = e_.newBlock("summed");
    e_.b.CreateBr(loop);
    e_.b.SetInsertPoint(loop);
    llvm::PHINode *const k = e_.b.CreatePHI(e_.b.getInt32Ty(), 2);
    k->addIncoming(e_.i32(0), before);
    llvm::SmallVector<llvm::PHINode *, 8> carried;
    for (Value *sum : sums_) {
      carried.push_back(e_.b.CreatePHI(sum->getType(), 2));
      carried.back()->addIncoming(sum, before);
    }
    const Elements rows = readAt(a_, k), columns = readAt(b_, k);
    for (std::size_t r = 0; r < sums_.size(); ++r)
      sums_[r] = multiplyAdd(rows.at(keyOf(a_, r)), columns.at(keyOf(b_, r)), carried[r]);
    Value *const next = e_.b.CreateAdd(k, e_.i32(1));
    k->addIncoming(next, loop);
    for (std::size_t r = 0; r < sums_.size(); ++r) carried[r]->addIncoming(sums_[r], loop);
    llvm::Instruction *back =
        e_.b.CreateCondBr(e_.b.CreateICmpULT(next, e_.i32(count)), loop, after);
    if (std::ssize(sums_) * count > kMostWritten) forbidUnrolling(*back);
    e_.b.SetInsertPoint(after);
  }

  /// So many multiply-adds of a thread may be written one behind the other. Of more LLVM would read
  /// the operands far ahead, and have no registers for them.
  static constexpr std::int64_t kMostWritten = 256;

  /// The elements of an operand that a thread's sums want at a k, each by its key.
  using Elements = std::map<Bits, Value *>;

  std::int32_t batchShiftOfSums() const {
    return sumLayout_.outputBits(layout::axisDim(rank_ - 1)) +
           sumLayout_.outputBits(layout::axisDim(rank_ - 2));
  }

  /// The register's part of the place of the element that a sum wants: equal for sums that share
  /// it.
  Bits keyOf(const Slab &slab, std::size_t r) const {
    const Bits ofRegister = sumLayout_.apply(Dim::Register, r);
    return ofRegister >> batchShiftOfSums() << 32 | sumLayout_.outputPart(ofRegister, slab.across);
  }

  Elements readAt(const Slab &slab, Value *k) {
    const layout::RegisterVectors vectors = slab.vectorsOf(sumLayout_);
    const auto width = static_cast<std::size_t>(vectors.width);
    Elements elements;
    for (llvm::ArrayRef<std::int32_t> rest = vectors.registers; !rest.empty();
         rest = rest.drop_front(width)) {
      const auto first = static_cast<std::size_t>(rest[0]);
      if (elements.contains(keyOf(slab, first))) continue;
      Value *packed = packedIndex(e_, sumLayout_, first);
      Value *batch = field(packed, batchShiftOfSums(), slab.batchBits);
      Value *across = field(packed, sumLayout_.outputShift(slab.across), slab.acrossBits);
      const Access access{.address = address(slab, batch, k, across),
                          .alignment = slab.bytes * vectors.width};
      const Registers read = emitRead(e_, e_.type(slab.tile), access, width, {}, {});
      for (std::size_t i = 0; i < width; ++i)
        elements[keyOf(slab, static_cast<std::size_t>(rest[i]))] = toSum(read[i]);
    }
    return elements;
  }

  /// As an element of the sums' kind. Of a NaN some NaN is enough here.
  Value *toSum(Value *element) {
    const ElementKind sum = e_.type(op_.result()).element();
    if (isHalf(element_) && sum == ElementKind::F32) return emitWiden(e_.b, element_, element);
    return emitCast(e_.b, element_, sum, {}, element, e_.natives);
  }

  Value *multiplyAdd(Value *x, Value *y, Value *sum) {
    if (sum->getType()->isIntegerTy()) return e_.b.CreateAdd(e_.b.CreateMul(x, y), sum);
    return e_.b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  }

  Emitter &e_;
  const ir::Op &op_;
  const layout::LinearLayout &sumLayout_;
  std::int32_t rank_;
  std::int64_t depth_;
  ElementKind element_;
  Slab a_, b_;
  Registers sums_;
  std::int32_t roomBits_ = 0;
};

} // namespace

void emitDot(Emitter &e, const ir::Op &op) {
  IMBREX_CHECK(op.attrs<ir::DotAttrs>().precision == ir::Precision::Ieee &&
                   !ir::isNarrowFloat(e.type(op.operand(0)).element()),
               "expand-dots writes this product by plain ones");
  DotEmitter(e, op).run();
}

} // namespace imbrex::lower

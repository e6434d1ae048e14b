#include "backend/analysis/slabs.h"
#include "backend/ir/products.h"
#include "backend/layout/algebra.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/memory/global_access.h"
#include "backend/lower/memory/slot_address.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/support/check.h"

#include <array>
#include <map>

/// Matrix products by multiply-add. Each thread keeps its part of the sums in registers and, at
/// each k, multiplies the elements of a that its rows want with those of b that its columns want.
/// It reads them from shared memory: a tile that lies there where it lies; one that is held in
/// registers passes through, a slab of k at a time, with k outermost, so that the threads of a warp
/// read neighbours.
///
/// Precisions other than ieee, and narrow floats, are written as such products by expand-dots.
namespace imbrex::lower {

using ir::ElementKind;
using ir::ValueId;
using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

/// An operand in shared memory: where it lies, and what a thread reads of it.
struct SharedOperand {
  ValueId tile;
  std::int64_t bytes;                   ///< Of an element.
  std::int32_t depthBits;               ///< Of k, as far as it is there at a time.
  layout::LinearLayout reads;           ///< analysis::operandReads
  layout::SlotReads inShared = {};      ///< The same by the offset, in elements.
  layout::RegisterVectors vectors = {}; ///< Of reads.
  Value *base = nullptr;

  std::int64_t depthOfRead() const {
    const auto first = static_cast<Bits>(vectors.registers[0]);
    Bits all = 0;
    for (std::int64_t i = 1; i < vectors.width; ++i)
      all |= static_cast<Bits>(vectors.registers[static_cast<std::size_t>(i)]) ^ first;
    return static_cast<std::int64_t>((all & ((Bits{1} << depthBits) - 1)) + 1);
  }

  /// Read in vectors of at most so many bytes, which hold at most so much of k, side by side.
  void readBy(std::int64_t mostBytes, std::int64_t ahead) {
    const auto isFit = [&] {
      const std::int64_t depth = depthOfRead();
      return depth <= ahead && llvm::has_single_bit(static_cast<std::uint64_t>(depth));
    };
    std::int64_t most = std::max<std::int64_t>(mostBytes / bytes, 1);
    do vectors = inShared.vectors(most);
    while (!isFit() && (most /= 2) > 0);
  }
};

/// An operand that is held in registers, as a slab of it lies in shared memory: [batch][k][across],
/// each rounded up to a power of two. `across`: rows of a, columns of b.
struct Slab {
  std::int32_t acrossBits;
  std::int32_t acrossShift; // in the packed coordinates of the tile
  std::int32_t depthShift;
  std::int32_t batchShift;
  std::int32_t batchBits;
  Dim across;
};

class DotEmitter {
public:
  DotEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), sumLayout_(emitter.layoutOf(op.result())),
        rank_(emitter.type(op.result()).rank()),
        depth_(emitter.type(op.operand(0)).shape()[rank_ - 1]),
        element_(emitter.type(op.operand(0)).element()), sums_(emitter.registers(op.operand(2))) {}

  void run() {
    const std::int64_t depth = analysis::depthOfSlab(e_.kernel, op_, e_.scratchBytes());
    roomBits_ = layout::bitsFor(depth);
    for (const std::size_t i : {0, 1})
      operands_[i] = isInPlace(i) ? operandInPlace(i) : operandInSlab(i);
    for (std::int64_t first = 0; first < depth_; first += depth)
      addSlab(first, std::min(depth, depth_ - first));
    e_.define(op_.result(), std::move(sums_));
  }

private:
  /// No more than is there at a time.
  std::int64_t depthAhead(std::size_t i) const {
    return std::min(analysis::depthAhead(e_.kernel, op_, i), std::int64_t{1} << roomBits_);
  }

  bool isInPlace(std::size_t i) const { return e_.type(op_.operand(i)).isShared(); }

  SharedOperand operand(std::size_t i, std::int32_t depthBits) const {
    const ValueId tile = op_.operand(i);
    return {.tile = tile,
            .bytes = e_.bytesInMemory(e_.laneType(e_.type(tile))),
            .depthBits = depthBits,
            .reads = analysis::operandReads(e_.kernel, op_, i, {depthBits, depthBits})};
  }

  SharedOperand operandInPlace(std::size_t i) {
    SharedOperand made = operand(i, layout::bitsFor(depth_));
    made.inShared = readsOf(e_, made.tile, made.reads);
    made.base = e_.scalar(made.tile);
    made.readBy(layout::kMaxAccessBytes, depthAhead(i));
    return made;
  }

  /// Its base is another in each slab.
  SharedOperand operandInSlab(std::size_t i) const {
    const Slab of = slab(i);
    SharedOperand made = operand(i, roomBits_);
    const layout::LinearLayout &reads = made.reads;
    layout::Vectors columns;
    const auto add = [&](std::int32_t shift, std::int32_t bits) {
      for (std::int32_t bit = 0; bit < bits; ++bit) columns.push_back(Bits{1} << (shift + bit));
    };
    add(reads.outputShift(of.across), of.acrossBits);
    add(reads.outputShift(layout::axisDim(ir::depthAxis(e_.kernel, op_, i))), roomBits_);
    add(reads.outputBits() - of.batchBits, of.batchBits);
    const layout::LinearLayout shared({{Dim::Offset, static_cast<std::int32_t>(columns.size())}},
                                      layout::Sides(reads.outputs()), columns);
    made.inShared = slotReads(shared, reads);
    made.readBy(alignmentOf(i), depthAhead(i));
    return made;
  }

  Slab slab(std::size_t i) const {
    const layout::LinearLayout &layout = e_.layoutOf(op_.operand(i));
    const Dim across = layout::axisDim(rank_ - (i == 0 ? 2 : 1));
    const Dim along = layout::axisDim(ir::depthAxis(e_.kernel, op_, i));
    const std::int32_t batchShift = layout.outputBits(layout::axisDim(rank_ - 1)) +
                                    layout.outputBits(layout::axisDim(rank_ - 2));
    return {.acrossBits = layout.outputBits(across),
            .acrossShift = layout.outputShift(across),
            .depthShift = layout.outputShift(along),
            .batchShift = batchShift,
            .batchBits = layout.outputBits() - batchShift,
            .across = across};
  }

  std::int64_t bytesOfSlab(std::size_t i) const {
    return analysis::bytesOfDepth(e_.kernel, op_, i) << roomBits_;
  }

  /// That of b begins behind that of a, at a power of two.
  std::int64_t alignmentOf(std::size_t i) const {
    const std::int64_t before = i == 0 ? 0 : bytesOfSlab(0);
    return before == 0 ? layout::kMaxAccessBytes
                       : std::min<std::int64_t>(before, layout::kMaxAccessBytes);
  }

  /// The sums of k = first … first + count - 1.
  void addSlab(std::int64_t first, std::int64_t count) {
    const std::int64_t bytes = bytesOfSlab(0) + bytesOfSlab(1);
    if (bytes == 0) return multiply(first, count);
    Value *const region = e_.beginExchange(bytes);
    std::int64_t offset = 0;
    for (const std::size_t i : {0, 1}) {
      if (isInPlace(i)) continue;
      operands_[i].base =
          e_.b.CreateConstGEP1_64(e_.b.getInt8Ty(), region, static_cast<std::uint64_t>(offset));
      write(i, first);
      offset += bytesOfSlab(i);
    }
    e_.meet();
    multiply(first, count);
    e_.shared.end();
  }

  Value *address(const Slab &slab, std::size_t i, Value *batch, Value *depth, Value *across) {
    Value *row = e_.b.CreateOr(e_.b.CreateShl(batch, static_cast<std::uint64_t>(roomBits_)), depth);
    Value *index =
        e_.b.CreateOr(e_.b.CreateShl(row, static_cast<std::uint64_t>(slab.acrossBits)), across);
    return e_.b.CreateGEP(e_.memoryType(e_.type(op_.operand(i))), operands_[i].base, index);
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
  bySlab(const Slab &slab, const layout::LinearLayout &layout,
         const layout::RegisterVectors &vectors) const {
    std::map<Bits, llvm::SmallVector<llvm::ArrayRef<std::int32_t>, 8>> found;
    for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
      const auto first = static_cast<std::size_t>(vector[0]);
      found[slabOf(slab, layout.apply(Dim::Register, first))].push_back(vector);
    }
    return found;
  }

  /// The bits of a slab's number that depend on the thread.
  Bits slabsOfThreads(const Slab &slab, const layout::LinearLayout &layout) const {
    Bits bits = 0;
    for (const Dim dim : {Dim::Lane, Dim::Warp})
      for (const Bits column : layout.columns(dim)) bits |= slabOf(slab, column);
    return bits;
  }

  /// Store what the slab from depth `first` on holds of a tile. Padding too: the sums that are
  /// padding read it, like all others.
  void write(std::size_t i, std::int64_t first) {
    const ValueId tile = op_.operand(i);
    const Slab slab = this->slab(i);
    const std::int64_t bytes = operands_[i].bytes;
    const layout::LinearLayout &layout = e_.layoutOf(tile);
    const Bits number = static_cast<Bits>(first) >> roomBits_;
    const Bits ofThreads = slabsOfThreads(slab, layout);
    const std::int32_t bitsAbove = layout::bitsFor(depth_) - roomBits_;
    Value *const owner = e_.isOwner(tile);
    const layout::RegisterVectors all =
        contiguousRegisters(layout, slab.across, std::max<std::int64_t>(alignmentOf(i) / bytes, 1));
    for (const auto &[ofRegister, vectors] : bySlab(slab, layout, all)) {
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
          Value *to = address(slab, i, field(packed, slab.batchShift, slab.batchBits),
                              field(packed, slab.depthShift, roomBits_),
                              field(packed, slab.acrossShift, slab.acrossBits));
          emitWrite(e_, e_.type(tile), {.address = to, .alignment = bytes * std::ssize(vector)},
                    picked(e_.registers(tile), vector), {});
        }
      });
    }
  }

  /// for k: every sum += its a * its b.
  void multiply(std::int64_t first, std::int64_t count) {
    step_ = std::max(operands_[0].depthOfRead(), operands_[1].depthOfRead());
    IMBREX_CHECK(count % step_ == 0, "{0} of k in steps of {1}", count, step_);
    llvm::BasicBlock *const before = e_.b.GetInsertBlock(), *const loop = e_.newBlock("dot");
    llvm::BasicBlock *const after = e_.newBlock("summed");
    e_.b.CreateBr(loop);
    e_.b.SetInsertPoint(loop);
    llvm::PHINode *const steps = e_.b.CreatePHI(e_.b.getInt32Ty(), 2);
    steps->addIncoming(e_.i32(0), before);
    llvm::SmallVector<llvm::PHINode *, 8> carried;
    for (Value *&sum : sums_) {
      carried.push_back(e_.b.CreatePHI(sum->getType(), 2));
      carried.back()->addIncoming(sum, before);
      sum = carried.back();
    }
    Elements rows, columns;
    for (std::int64_t ahead = 0; ahead < step_; ++ahead) {
      readAt(0, {first, steps, ahead}, rows);
      readAt(1, {first, steps, ahead}, columns);
      for (std::size_t r = 0; r < sums_.size(); ++r)
        sums_[r] =
            multiplyAdd(elementOf(0, rows, r, ahead), elementOf(1, columns, r, ahead), sums_[r]);
    }
    Value *const next = e_.b.CreateAdd(steps, e_.i32(1));
    steps->addIncoming(next, loop);
    for (std::size_t r = 0; r < sums_.size(); ++r) carried[r]->addIncoming(sums_[r], loop);
    llvm::Instruction *back =
        e_.b.CreateCondBr(e_.b.CreateICmpULT(next, e_.i32(count / step_)), loop, after);
    if (std::ssize(sums_) * count > kMostWritten) forbidUnrolling(*back);
    e_.b.SetInsertPoint(after);
  }

  /// So many multiply-adds of a thread may be written one behind the other. Of more LLVM would read
  /// the operands far ahead, and have no registers for them.
  static constexpr std::int64_t kMostWritten = 256;

  /// What a thread has read of an operand, by coordinates as far as registers decide them. Elements
  /// of the sums' kind stand beside what they were made of.
  struct Element {
    Value *read;
    Value *asSum = nullptr;
  };
  using Elements = std::map<Bits, Element>;

  /// Of the element that a sum wants, `ahead` behind the k that is counted.
  Bits keyOf(std::size_t i, std::size_t r, std::int64_t ahead) const {
    const layout::LinearLayout &reads = operands_[i].reads;
    const Bits ofSum = sumLayout_.apply(Dim::Register, r);
    const std::int32_t along = ir::depthAxis(e_.kernel, op_, i);
    Bits key = static_cast<Bits>(ahead) << reads.outputShift(layout::axisDim(along));
    for (std::int32_t axis = 0; axis < rank_; ++axis)
      if (axis != along)
        key |= sumLayout_.outputPart(ofSum, layout::axisDim(axis))
               << reads.outputShift(layout::axisDim(axis));
    return key;
  }

  /// A place along k: `ahead` behind so many steps from where the slab begins.
  struct Depth {
    std::int64_t slab;
    Value *steps;
    std::int64_t ahead;
  };

  /// Read the vectors that begin there.
  void readAt(std::size_t i, const Depth &depth, Elements &elements) {
    const SharedOperand &operand = operands_[i];
    const Bits depths = (Bits{1} << operand.depthBits) - 1;
    const Bits ofSlab = isInPlace(i) ? static_cast<Bits>(depth.slab) : 0;
    const ir::Type &type = e_.type(operand.tile);
    for (const llvm::ArrayRef<std::int32_t> vector : operand.vectors.each()) {
      const auto first = static_cast<Bits>(vector[0]);
      if ((first & depths) != static_cast<Bits>(depth.ahead)) continue;
      const GlobalAccess access{.address = address(operand, first | ofSlab, depth.steps),
                                .alignment = operand.bytes * operand.vectors.width};
      const Registers read =
          emitRead(e_, type.isShared() ? type.held() : type, access, vector.size(), {}, {});
      for (const auto &[r, element] : llvm::zip_equal(vector, read))
        elements[operand.reads.apply(Dim::Register, static_cast<Bits>(r))] = {element};
    }
  }

  /// Of what a register reads, so many steps further along k. What of the constant part no thread
  /// and no step reaches is added last, where an access can have it for nothing.
  Value *address(const SharedOperand &operand, Bits ofRegister, Value *steps) {
    const layout::LinearLayout &offsets = operand.inShared.offsets;
    const auto ofSteps = offsets.columns(Dim::Register)
                             .take_front(static_cast<std::size_t>(operand.depthBits))
                             .drop_front(static_cast<std::size_t>(layout::bitsFor(step_)));
    const Bits constant = operand.inShared.offsetOf(ofRegister);
    const Bits ofThreads =
        layout::unionOf(offsets.columns(Dim::Lane)) | layout::unionOf(offsets.columns(Dim::Warp));
    const Bits reached = ofThreads | layout::unionOf(ofSteps);
    Value *const stepped = combined(e_.threadPart(offsets), ofThreads,
                                    applyColumns(e_.b, ofSteps, steps), layout::unionOf(ofSteps));
    Value *const mixed =
        combined(stepped, reached, e_.i32(static_cast<std::int64_t>(constant & reached)),
                 constant & reached);
    llvm::Type *const memory = e_.memoryType(e_.type(operand.tile));
    return e_.b.CreateGEP(memory, e_.b.CreateGEP(memory, operand.base, mixed),
                          e_.i32(static_cast<std::int64_t>(constant & ~reached)));
  }

  /// The exclusive or of numbers of which these bits may be set: a sum where they have none in
  /// common, as addresses are made of.
  Value *combined(Value *a, Bits ofA, Value *b, Bits ofB) {
    return (ofA & ofB) == 0 ? e_.b.CreateOr(a, b, "", /*IsDisjoint=*/true) : e_.b.CreateXor(a, b);
  }

  /// As an element of the sums' kind. Of a NaN some NaN is enough here.
  Value *elementOf(std::size_t i, Elements &elements, std::size_t r, std::int64_t ahead) {
    Element &element = elements.at(keyOf(i, r, ahead));
    const ElementKind sum = e_.type(op_.result()).element();
    if (!element.asSum)
      element.asSum = isHalf(element_) && sum == ElementKind::F32
                          ? emitWiden(e_.b, element_, element.read)
                          : emitCast(e_.b, element_, sum, {}, element.read, e_.natives);
    return element.asSum;
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
  std::array<SharedOperand, 2> operands_;
  Registers sums_;
  std::int32_t roomBits_ = 0;
  std::int64_t step_ = 1; // along k, which is multiplied before more is read of both
};

} // namespace

void emitDot(Emitter &e, const ir::Op &op) {
  IMBREX_CHECK(op.attrs<ir::DotAttrs>().precision == ir::Precision::Ieee &&
                   !ir::isNarrowFloat(e.type(op.operand(0)).element()),
               "expand-dots writes this product by plain ones");
  DotEmitter(e, op).run();
}

} // namespace imbrex::lower

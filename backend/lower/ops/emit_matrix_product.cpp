#include "backend/analysis/fragment_access.h"
#include "backend/analysis/matrix_product.h"
#include "backend/analysis/slabs.h"
#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/memory/fragments.h"
#include "backend/lower/memory/global_access.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/support/check.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

/// Matrix products by a machine's matrix instruction. Each warp keeps its pieces of the sums in
/// registers and, at each step along k, adds the products of its fragments of a and b.
///
/// A fragment comes from a tile in shared memory where that lies; from registers that lie as the
/// fragments do; or from other registers, by way of shared memory, a slab of k at a time.
namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

/// An operand in registers that passes through shared memory, a slab at a time; or its scales.
class SlabWriter {
public:
  SlabWriter(Emitter &emitter, const ir::Op &dot, std::size_t operand, std::int32_t slabBits)
      : e_(emitter), tile_(dot.operand(operand)), layout_(emitter.layoutOf(tile_)),
        bytes_(ir::storageBits(emitter.type(tile_).element()) / 8),
        depthOfElement_(ir::depthOfElement(emitter.kernel, dot, operand)),
        slabBits_(slabBits - layout::bitsFor(depthOfElement_)),
        axis_(layout::axisDim(ir::depthAxis(emitter.kernel, dot, operand))) {}

  /// How a slab lies, and where the threads write it: without bank conflicts, for what they have
  /// and for what they will read.
  void plan(const analysis::FragmentReads &reads) {
    const layout::LinearLayout held = withinSlab(reads.places.outputs());
    shared_ =
        analysis::planSlab(held, reads, static_cast<std::int32_t>(bytes_ * 8), e_.words.machine())
            .tile.shared;
    offsets_ = compose(inverse(shared_), held);
    vectors_ = contiguousRegisters(offsets_, layout::kMaxAccessBytes / bytes_);
  }
  const layout::LinearLayout &shared() const { return shared_; }
  std::int64_t bytes() const { return bytes_ << shared_.inputBits(); }

  /// Store the slab that begins at this of k.
  void write(Value *base, std::int64_t first) {
    const Bits wanted = static_cast<Bits>(first / depthOfElement_) >> slabBits_;
    Value *const owner = e_.isOwner(tile_);
    for (Bits outside = 0; outside >> slabRegisters_.size() == 0; ++outside) {
      const Bits ofRegisters =
          slabOf(layout_.apply(Dim::Register, analysis::scattered(outside, slabRegisters_)));
      if (((ofRegisters ^ wanted) & ~slabsOfThreads()) != 0) continue;
      e_.where(e_.allOf({owner, isHere(wanted ^ ofRegisters)}), [&] { writeSlab(base, outside); });
    }
  }

private:
  Bits slabOf(Bits packed) const { return layout_.outputPart(packed, axis_) >> slabBits_; }

  Bits slabsOfThreads() const {
    Bits bits = 0;
    for (const Dim dim : {Dim::Lane, Dim::Warp})
      for (const Bits column : layout_.columns(dim)) bits |= slabOf(column);
    return bits;
  }

  /// Whether the thread's part of the slab's number is this; null where it is no matter.
  Value *isHere(Bits wanted) {
    if (slabsOfThreads() == 0) return nullptr;
    llvm::SmallVector<Bits, 16> columns;
    for (const Dim dim : {Dim::Lane, Dim::Warp})
      for (const Bits column : layout_.columns(dim)) columns.push_back(slabOf(column));
    Value *const own = applyColumns(e_.b, columns, e_.thread());
    return e_.b.CreateICmpEQ(own, e_.i32(static_cast<std::int64_t>(wanted)));
  }

  /// The tile's layout in coordinates of a slab. Registers that are apart by slabs alone are one.
  layout::LinearLayout withinSlab(llvm::ArrayRef<layout::Side> outputs) {
    const layout::LinearLayout like({}, layout::Sides(outputs), {});
    const auto inside = [&](Bits column) {
      Bits packed = 0;
      for (const layout::Side &side : outputs) {
        const Bits part = layout_.outputPart(column, side.dim) & ((Bits{1} << side.bits) - 1);
        packed |= part << like.outputShift(side.dim);
      }
      return packed;
    };
    llvm::SmallVector<Bits, 16> columns;
    const auto registers = layout_.columns(Dim::Register);
    for (std::size_t bit = 0; bit < registers.size(); ++bit) {
      const bool isInside = slabOf(registers[bit]) == 0;
      (isInside ? ownRegisters_ : slabRegisters_).push_back(static_cast<std::int32_t>(bit));
      if (isInside) columns.push_back(inside(registers[bit]));
    }
    layout::Sides inputs{{Dim::Register, static_cast<std::int32_t>(columns.size())}};
    for (const Dim dim : {Dim::Lane, Dim::Warp}) {
      inputs.push_back({dim, layout_.inputBits(dim)});
      for (const Bits column : layout_.columns(dim)) columns.push_back(inside(column));
    }
    return {inputs, layout::Sides(outputs), columns};
  }

  void writeSlab(Value *base, Bits outside) {
    const Registers &registers = e_.registers(tile_);
    Registers ofSlab;
    for (Bits own = 0; own >> ownRegisters_.size() == 0; ++own)
      ofSlab.push_back(registers[analysis::scattered(own, ownRegisters_) |
                                 analysis::scattered(outside, slabRegisters_)]);
    writeShared(e_, e_.type(tile_), ofSlab, {base, offsets_, vectors_});
  }

  Emitter &e_;
  ir::ValueId tile_;
  const layout::LinearLayout &layout_;
  std::int64_t bytes_, depthOfElement_;
  std::int32_t slabBits_; // of what the tile has an element for
  Dim axis_;
  llvm::SmallVector<std::int32_t, 8> ownRegisters_, slabRegisters_; // bits of the tile's
  layout::LinearLayout shared_, offsets_; // to the slab's coordinates; of what threads write
  layout::RegisterVectors vectors_;       // that they do in one access each
};

class MatrixProductEmitter {
public:
  MatrixProductEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), unit_(*analysis::unitOf(emitter.kernel, op, emitter.words.machine())),
        instruction_(emitter.module, unit_),
        sumBits_(analysis::sumBitsOf(emitter.kernel, op, unit_)),
        sumLayout_(emitter.layoutOf(op.result())), depth_(ir::depthOf(emitter.kernel, op)) {}

  void run() {
    e_.words.useMatrixUnit(*e_.b.GetInsertBlock()->getParent(), unit_);
    prepare();
    packSums();
    const std::int64_t slab = hasSlabs() ? std::int64_t{1} << slabBits_ : depth_;
    for (std::int64_t first = 0; first < depth_; first += slab)
      addPart(first, std::min(slab, depth_ - first));
    e_.define(op_.result(), unpackedSums());
  }

private:
  bool isShared(std::size_t i) const { return e_.type(op_.operand(i)).isShared(); }
  bool hasSlabs() const { return slabs_[0] || slabs_[1]; }

  /// Where the operands come from.
  void prepare() {
    const std::int32_t allBits = layout::bitsFor(depth_);
    order_ = orderFor(allBits);
    const auto takeAll = [&] {
      for (const std::size_t i : {0, 1})
        if (!isShared(i)) sources_[i] = taken(i, allBits);
      return (isShared(0) || sources_[0]) && (isShared(1) || sources_[1]);
    };
    slabBits_ = allBits;
    if (!takeAll()) {
      slabBits_ = slabBits();
      order_ = orderFor(slabBits_);
      takeAll();
    }
    for (const std::size_t i : {0, 1}) {
      if (isShared(i)) {
        sources_[i] = sourceInSlot(i);
      } else if (!sources_[i]) {
        slabs_[i] = std::make_unique<SlabWriter>(e_, op_, i, slabBits_);
        slabs_[i]->plan(reads(i, slabBits_));
      }
    }
    prepareScales(allBits);
  }

  /// Where the scales are: those in shared memory there, others in registers, all that the thread
  /// wants; nowhere where each is 1.
  void prepareScales(std::int32_t allBits) {
    llvm::SmallVector<std::size_t, 2> elsewhere; // on other threads
    for (const std::size_t i : {0, 1}) {
      const auto operand = ir::scaleOf(op_, i);
      if (!operand) continue;
      if (isShared(*operand)) {
        scales_[i] = sourceInSlot(*operand);
      } else if (scales_[i] = taken(*operand, allBits); !scales_[i]) {
        elsewhere.push_back(i);
      }
    }
    bringScales(elsewhere, allBits);
  }

  /// Through shared memory, of both operands at once, in words as far as they lie so; where there
  /// is not room for all, one by one and in rounds.
  void bringScales(llvm::ArrayRef<std::size_t> which, std::int32_t allBits) {
    std::array<std::unique_ptr<SlabWriter>, 2> writers;
    std::int64_t bytes = 0;
    for (const std::size_t i : which) {
      const std::size_t operand = *ir::scaleOf(op_, i);
      scales_[i] = source(operand, allBits);
      writers[i] = std::make_unique<SlabWriter>(e_, op_, operand, allBits);
      writers[i]->plan(reads(operand, allBits));
      bytes += std::max<std::int64_t>(writers[i]->bytes(), layout::kMaxAccessBytes);
    }
    if (bytes == 0) return;
    if (bytes > e_.scratchBytes()) return convertScales(which, allBits);
    Value *const region = e_.beginExchange(bytes);
    std::int64_t offset = 0;
    for (const std::size_t i : which) {
      Value *const base =
          e_.b.CreateConstGEP1_64(e_.b.getInt8Ty(), region, static_cast<std::uint64_t>(offset));
      writers[i]->write(base, 0);
      scales_[i]->readFrom(base, writers[i]->shared());
      offset += std::max<std::int64_t>(writers[i]->bytes(), layout::kMaxAccessBytes);
    }
    e_.meet();
    for (const std::size_t i : which) scales_[i]->loadAll();
    e_.shared.end();
  }

  void convertScales(llvm::ArrayRef<std::size_t> which, std::int32_t allBits) {
    for (const std::size_t i : which) {
      const std::size_t operand = *ir::scaleOf(op_, i);
      const ir::ValueId tile = op_.operand(operand);
      scales_[i]->takeFrom(convert(e_, {e_.type(tile), e_.layoutOf(tile), e_.registers(tile)},
                                   reads(operand, allBits).places));
    }
  }

  analysis::FragmentReads reads(std::size_t i, std::int32_t depthBits) const {
    return analysis::fragmentReads(e_.kernel, op_, i, {unit_, depthBits, order_});
  }
  std::unique_ptr<FragmentSource> source(std::size_t i, std::int32_t depthBits) const {
    return std::make_unique<FragmentSource>(e_, op_, i, reads(i, depthBits));
  }

  std::unique_ptr<FragmentSource> sourceInSlot(std::size_t i) const {
    const ir::ValueId tile = op_.operand(i);
    auto own = std::make_unique<FragmentSource>(
        e_, op_, i, inSlot(reads(i, layout::bitsFor(depth_)), inSlot(e_.kernel, tile)));
    own->readFrom(e_.scalar(tile), slotLayout(e_.kernel, tile));
    return own;
  }

  /// The product's order of k, where what it changes are bits that are all there at a time, and of
  /// which no step is cut off.
  llvm::SmallVector<std::int64_t, 8> orderFor(std::int32_t bits) const {
    const auto &order = ir::unitAttrs(op_).depthOrder;
    std::int32_t changed = 0;
    for (std::size_t bit = 0; bit < order.size(); ++bit)
      if (order[bit] != static_cast<std::int64_t>(bit))
        changed = static_cast<std::int32_t>(bit) + 1;
    if (changed > bits || depth_ % (std::int64_t{1} << changed) != 0) return {};
    return {order.begin(), order.begin() + changed};
  }

  /// Of a tile whose registers are in the threads that want them, or come to them within warps;
  /// null of others.
  std::unique_ptr<FragmentSource> taken(std::size_t i, std::int32_t depthBits) {
    const ir::ValueId tile = op_.operand(i);
    const layout::LinearLayout &held = e_.layoutOf(tile);
    const analysis::FragmentReads wanted = reads(i, depthBits);
    if (!staysInThreads(planConversion(held, wanted.places)) &&
        !analysis::exchangeWeight(held, wanted.places, ir::storageBits(e_.type(tile).element()),
                                  e_.words.machine()))
      return nullptr;
    auto own = source(i, depthBits);
    own->takeFrom(convert(e_, {e_.type(tile), held, e_.registers(tile)}, wanted.places));
    return own;
  }

  /// Of k in a slab: no less than an instruction's.
  std::int32_t slabBits() const {
    const std::int64_t depth = analysis::depthOfSlab(e_.kernel, op_, e_.scratchBytes());
    return std::max(layout::bitsFor(depth),
                    std::min(analysis::depthBitsOf(unit_), layout::bitsFor(depth_)));
  }

  // --- the sums ---

  std::int64_t pieces() const {
    return std::int64_t{1} << (sumLayout_.inputBits(Dim::Register) - sumBits_.firstOfPieces);
  }
  Bits sumRegister(Bits fragment, Bits piece) const {
    return piece << sumBits_.firstOfPieces | analysis::scattered(fragment, sumBits_.ofFragment);
  }
  /// Whether all of a piece is padding, in all threads.
  bool isPadding(Bits piece) const {
    const ir::Shape &shape = e_.type(op_.result()).shape();
    const Bits first = sumLayout_.apply(Dim::Register, sumRegister(0, piece));
    for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
      if (sumLayout_.outputPart(first, layout::axisDim(axis)) >= static_cast<Bits>(shape[axis]))
        return true;
    return false;
  }

  void packSums() {
    const Registers &given = e_.registers(op_.operand(2));
    sums_.resize(static_cast<std::size_t>(pieces()));
    for (std::size_t piece = 0; piece < sums_.size(); ++piece) {
      MatrixValues elements;
      for (Bits i = 0; i >> sumBits_.ofFragment.size() == 0; ++i)
        elements.push_back(given[sumRegister(i, piece)]);
      sums_[piece] = instruction_.packSums(e_.b, elements);
    }
  }

  Registers unpackedSums() {
    Registers result = e_.registers(op_.operand(2));
    for (std::size_t piece = 0; piece < sums_.size(); ++piece) {
      if (isPadding(piece)) continue;
      const MatrixValues elements = instruction_.unpackSums(e_.b, sums_[piece]);
      for (Bits i = 0; i < elements.size(); ++i) result[sumRegister(i, piece)] = elements[i];
    }
    return result;
  }

  // --- the products ---

  /// The products of k = first … first + count - 1.
  void addPart(std::int64_t first, std::int64_t count) {
    if (!hasSlabs()) return multiply(first, count);
    std::array<std::int64_t, 2> bytes{};
    for (const std::size_t i : {0, 1})
      if (slabs_[i]) bytes[i] = slabs_[i]->bytes();
    Value *const region = e_.beginExchange(bytes[0] + bytes[1]);
    // The larger first, so that both begin at a multiple of the widest access.
    const std::size_t larger = bytes[0] >= bytes[1] ? 0 : 1;
    std::int64_t offset = 0;
    for (const std::size_t i : {larger, 1 - larger}) {
      if (!slabs_[i]) continue;
      Value *const base =
          e_.b.CreateConstGEP1_64(e_.b.getInt8Ty(), region, static_cast<std::uint64_t>(offset));
      slabs_[i]->write(base, first);
      sources_[i] = source(i, slabBits_);
      sources_[i]->readFrom(base, slabs_[i]->shared());
      offset += bytes[i];
    }
    e_.meet();
    multiply(first, count);
    e_.shared.end();
  }

  void multiply(std::int64_t first, std::int64_t count) {
    const std::int64_t together = analysis::instructionsTogether(e_.kernel, op_, unit_),
                       k = unit_.k;
    if (together == 0) return multiplySteps(first, 0, count);
    for (std::int64_t done = 0; done < count; done += together * k) {
      const std::vector<MatrixValues> before = std::exchange(sums_, zeros());
      multiplySteps(first, done, std::min(count, done + together * k));
      for (std::size_t piece = 0; piece < sums_.size(); ++piece)
        sums_[piece] = added(before[piece], sums_[piece]);
    }
  }

  std::vector<MatrixValues> zeros() const {
    std::vector<MatrixValues> all(sums_);
    for (MatrixValues &piece : all)
      for (Value *&sum : piece) sum = llvm::Constant::getNullValue(sum->getType());
    return all;
  }

  MatrixValues added(llvm::ArrayRef<Value *> a, llvm::ArrayRef<Value *> b) {
    MatrixValues sums;
    for (const auto [x, y] : llvm::zip_equal(a, b)) sums.push_back(e_.b.CreateFAdd(x, y));
    return sums;
  }

  /// Of the part that begins at `first`, from `done` to `end`.
  void multiplySteps(std::int64_t first, std::int64_t done, std::int64_t end) {
    const std::int64_t k = unit_.k;
    for (; done < end; done += k) {
      std::array<std::int64_t, 2> steps{};
      std::array<std::optional<std::int64_t>, 2> depths{};
      for (const std::size_t i : {0, 1}) {
        const std::int64_t before = slabs_[i] ? 0 : first;
        steps[i] = (before + done) / k;
        if (done + k > end) depths[i] = before + end;
      }
      multiplyStep(steps, depths, (first + done) / k);
    }
  }

  /// `step`: among all of the product.
  void multiplyStep(const std::array<std::int64_t, 2> &steps,
                    const std::array<std::optional<std::int64_t>, 2> &depths, std::int64_t step) {
    const bool isTransposed = ir::unitAttrs(op_).transposed;
    for (std::size_t piece = 0; piece < sums_.size(); ++piece) {
      if (isPadding(piece)) continue;
      std::array<MatrixValues, 2> fragments;
      std::array<FragmentSource::Scales, 2> scales;
      for (const std::size_t i : {0, 1}) {
        fragments[i] = sources_[i]->at({piece, steps[i]}, depths[i]);
        scales[i] = scalesAt(i, {piece, step});
      }
      if (isTransposed) std::swap(fragments[0], fragments[1]), std::swap(scales[0], scales[1]);
      sums_[piece] =
          instruction_.multiply(e_.b,
                                {fragments[0], fragments[1], scales[0].registers,
                                 scales[1].registers, scales[0].firstByte, scales[1].firstByte},
                                sums_[piece]);
    }
  }

  /// Of one step; what is beyond the last block scales zeros.
  FragmentSource::Scales scalesAt(std::size_t i, FragmentPlace place) {
    if (!unit_.isScaled()) return {};
    const bool hasSign = unit_.scale.element != machine::MatrixElement::E8M0;
    // Four of 2^0.
    constexpr std::int64_t kOnes = 0x7f7f7f7f, kOnesWithSign = 0x38383838, kNoSigns = 0x7f7f7f7f;
    if (!scales_[i]) {
      const std::int64_t ofLane = unit_.k / unit_.scale.k,
                         registers = static_cast<std::int64_t>(llvm::divideCeil(ofLane, 4));
      Value *const ones = e_.i32(hasSign ? kOnesWithSign : kOnes);
      return {MatrixValues(static_cast<std::size_t>(registers), ones)};
    }
    const bool isWhole = (place.step + 1) * unit_.k <= depth_;
    FragmentSource::Scales scales =
        scales_[i]->scalesAt(place, isWhole ? std::nullopt : std::optional(depth_),
                             llvm::is_contained(unit_.arguments, machine::MmaArgument::ScaleByteA));
    if (hasSign) // of which no document says what a unit makes
      for (Value *&four : scales.registers) four = e_.b.CreateAnd(four, e_.i32(kNoSigns));
    return scales;
  }

  Emitter &e_;
  const ir::Op &op_;
  const machine::MmaInstruction &unit_;
  MatrixInstruction instruction_;
  analysis::SumBits sumBits_;
  const layout::LinearLayout &sumLayout_;
  std::int64_t depth_ = 0;
  std::int32_t slabBits_ = 0;
  llvm::SmallVector<std::int64_t, 8> order_;
  std::array<std::unique_ptr<FragmentSource>, 2> sources_;
  std::array<std::unique_ptr<SlabWriter>, 2> slabs_;
  std::array<std::unique_ptr<FragmentSource>, 2> scales_;
  std::vector<MatrixValues> sums_; // of each piece, packed
};

} // namespace

void emitMatrixProduct(Emitter &e, const ir::Op &op) { MatrixProductEmitter(e, op).run(); }

} // namespace imbrex::lower

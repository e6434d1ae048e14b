#include "backend/lower/memory/fragments.h"

#include "backend/layout/bank_conflicts.h"
#include "backend/lower/memory/slot_address.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

constexpr std::int64_t kRegisterBits = 32;

/// The four nibbles of the lower half of a word, a byte each, from bit `first` of it on.
Value *spreadNibbles(llvm::IRBuilder<> &b, Value *word, std::int32_t first) {
  constexpr std::uint64_t kHalf = 0xffff, kEven = 0x00ff00ff, kLow = 0x000f000f;
  Value *const half = b.CreateAnd(word, kHalf);
  Value *const bytes = b.CreateAnd(b.CreateOr(half, b.CreateShl(half, 8)), kEven);
  const auto shift = static_cast<std::uint64_t>(first);
  Value *const low = b.CreateAnd(b.CreateShl(bytes, shift), kLow << shift);
  Value *const high = b.CreateAnd(b.CreateShl(bytes, shift + 4), kLow << (shift + 8));
  return b.CreateOr(low, high);
}

/// Integers side by side. Two halves are a vector, as code generators know the one instruction that
/// rounds to both from there; smaller ones they put together better by shifts.
Value *inOneRegister(llvm::IRBuilder<> &b, llvm::ArrayRef<Value *> elements) {
  const unsigned bits = elements[0]->getType()->getIntegerBitWidth();
  if (bits == 16 && elements.size() == 2)
    return b.CreateBitCast(vectorOf(b, elements), b.getInt32Ty());
  Value *all = nullptr;
  for (const auto &[i, element] : llvm::enumerate(elements)) {
    Value *const one = b.CreateShl(b.CreateZExt(element, b.getInt32Ty()), i * bits);
    all = all ? b.CreateOr(all, one, "", /*IsDisjoint=*/true) : one;
  }
  return all;
}

} // namespace

FragmentSource::FragmentSource(Emitter &emitter, const ir::Op &dot, std::size_t operand,
                               analysis::FragmentReads reads)
    : e_(emitter), reads_(std::move(reads)),
      bits_(ir::storageBits(emitter.type(dot.operand(operand)).element())),
      together_(std::max<std::int64_t>(kRegisterBits / bits_, 1)), perRegister_(together_),
      depthOfElement_(ir::depthOfElement(emitter.kernel, dot, operand)), areScales_(operand > 2),
      elements_(std::size_t{1} << reads_.ofFragment.size()) {
  if (areScales_ || depthOfElement_ == 1) return;
  const machine::MmaInstruction &unit = *analysis::unitOf(e_.kernel, dot, e_.words.machine());
  const machine::MmaOperand own = analysis::fragmentOfOperand(dot, operand);
  if (strideBits(unit, own) < bits_) return;
  perRegister_ = together_ / depthOfElement_;
  nibbleBit_ = firstBit(unit, own);
}

FragmentSource::FragmentSource(Emitter &emitter, ir::ElementKind element,
                               analysis::FragmentReads reads)
    : e_(emitter), reads_(std::move(reads)), bits_(ir::storageBits(element)),
      together_(std::max<std::int64_t>(kRegisterBits / bits_, 1)), perRegister_(together_),
      depthOfElement_(1), areScales_(false), elements_(std::size_t{1} << reads_.ofFragment.size()) {
}

void FragmentSource::readFrom(Value *base, const layout::LinearLayout &shared) {
  base_ = base;
  known_.clear();
  access_ =
      analysis::bestAccess(reads_, shared, static_cast<std::int32_t>(bits_), e_.words.machine());
  inShared_ = slotReads(shared, access_.places, reads_.first);
  addresses_.emplace(e_, base, inShared_.offsets, bits_ / 8);
  matrices_.clear();
  if (!areMatrices()) planVectors();
}

void FragmentSource::planVectors() {
  vectors_ = inShared_.vectors(layout::kMaxAccessBytes * 8 / bits_);
  positions_.resize(vectors_.registers.size());
  areWords_ =
      areScales_ ? vectors_.width >= together_
                 : analysis::haveWholeRegisters(reads_, vectors_, static_cast<std::int32_t>(bits_));
  for (std::size_t i = 0; i < vectors_.registers.size(); ++i)
    positions_[static_cast<std::size_t>(vectors_.registers[i])] = i;
  loaded_.assign(vectors_.registers.size() / static_cast<std::size_t>(vectors_.width), nullptr);
}

void FragmentSource::loadAll() {
  for (std::size_t vector = 0; vector < loaded_.size(); ++vector) load(vector);
}

Registers FragmentSource::elements(llvm::Type *type) {
  const auto inWord = static_cast<unsigned>(together_);
  auto *const vector = llvm::FixedVectorType::get(type, inWord);
  Registers all;
  for (Bits number = 0; number < elements_; number += inWord) {
    Value *const words = e_.b.CreateBitCast(word(number), vector);
    for (unsigned i = 0; i < inWord; ++i) all.push_back(e_.b.CreateExtractElement(words, i));
  }
  return all;
}

void FragmentSource::takeFrom(Registers registers) {
  registers_ = std::move(registers);
  known_.clear();
}

MatrixValues FragmentSource::at(FragmentPlace place, std::optional<std::int64_t> depth) {
  const std::pair key{analysis::scattered(place.piece, reads_.ofPieces), place.step};
  const auto [known, isNew] = known_.try_emplace(key);
  if (!isNew) return known->second;
  MatrixValues fragment;
  if (depth) *depth /= depthOfElement_;
  for (Bits i = 0; i < elements_; i += static_cast<Bits>(perRegister_)) {
    Value *const own = joined(i, place, depth);
    fragment.push_back(perRegister_ < together_ ? spreadNibbles(e_.b, own, nibbleBit_) : own);
  }
  return known->second = std::move(fragment);
}

Value *FragmentSource::joined(Bits fragment, FragmentPlace place,
                              std::optional<std::int64_t> depth) {
  const bool areWhole = (areMatrices() || areWords_) && !areScales_ && base_;
  if (areWhole && !depth && bits_ <= kRegisterBits) {
    const Bits inWord = fragment % static_cast<Bits>(together_);
    Value *const whole = word(registerOf(fragment - inWord, place));
    return inWord == 0 ? whole : e_.b.CreateLShr(whole, inWord * static_cast<Bits>(bits_));
  }
  MatrixValues elements;
  for (Bits j = 0; j < static_cast<Bits>(perRegister_) && fragment + j < elements_; ++j) {
    Value *one = element(registerOf(fragment + j, place));
    if (depth) one = masked(one, fragment + j, place.step, *depth);
    if (bits_ > kRegisterBits) return one;
    elements.push_back(one);
  }
  return inOneRegister(e_.b, elements);
}

FragmentSource::Scales FragmentSource::scalesAt(FragmentPlace place,
                                                std::optional<std::int64_t> depth, bool picksByte) {
  const auto width = static_cast<std::size_t>(vectors_.width),
             inWord = static_cast<std::size_t>(together_);
  if (!base_ || !areWords_ || depth || elements_ > inWord) return {at(place, depth)};
  const std::size_t first = positions_[registerOf(0, place)];
  bool isInWord = first % elements_ == 0 && (picksByte || first % inWord == 0);
  for (std::size_t i = 0; i < elements_; ++i)
    isInWord &= positions_[registerOf(i, place)] == first + i;
  if (!isInWord) return {at(place, depth)};
  Value *const word = e_.b.CreateExtractElement(load(first / width), first % width / inWord);
  return {{word}, static_cast<std::int32_t>(first % inWord)};
}

Bits FragmentSource::registerOf(Bits fragment, FragmentPlace place) const {
  return analysis::scattered(fragment, reads_.ofFragment) |
         analysis::scattered(static_cast<Bits>(place.step), reads_.ofSteps) |
         analysis::scattered(place.piece, reads_.ofPieces);
}

Value *FragmentSource::address(Bits number) { return addresses_->at(inShared_.offsetOf(number)); }

Value *FragmentSource::load(std::size_t vector) {
  if (loaded_[vector]) return loaded_[vector];
  const auto width = static_cast<std::size_t>(vectors_.width);
  const std::int64_t bits = areWords_ ? std::max(bits_, kRegisterBits) : bits_;
  const auto count = static_cast<unsigned>(vectors_.width * bits_ / bits);
  llvm::Type *const type =
      llvm::FixedVectorType::get(e_.b.getIntNTy(static_cast<unsigned>(bits)), count);
  const llvm::Align alignment(static_cast<std::uint64_t>(vectors_.width * bits_ / 8));
  Value *const from = address(static_cast<Bits>(vectors_.registers[vector * width]));
  return loaded_[vector] = e_.b.CreateAlignedLoad(type, from, alignment);
}

const MatrixValues &FragmentSource::loadMatrices(Bits access) {
  const auto [known, isNew] = matrices_.try_emplace(access);
  if (!isNew) return known->second;
  Value *const row = address(access);
  const auto loaded = access_.way == analysis::FragmentWay::WholeColumns
                          ? e_.words.loadColumns(e_.b, row, access_.elementBits)
                          : e_.words.loadMatrices(e_.b, row, std::int32_t{1} << access_.matrixBits,
                                                  access_.way == analysis::FragmentWay::Columns);
  return known->second = MatrixValues(loaded.begin(), loaded.end());
}

/// The register that holds an element and those that follow it.
Value *FragmentSource::word(Bits number) {
  if (areMatrices()) {
    // Registers of an access: those of what a lane gets of a matrix, by the matrices. What is left
    // counts accesses, behind what is in a row there.
    const std::int32_t ofAccess = access_.elementBitsOfLane + access_.matrixBits;
    const Bits inAccess = number & ((Bits{1} << ofAccess) - 1);
    const std::int32_t inRow = layout::bitsFor(access_.rowBytes * 8 / bits_);
    return loadMatrices(number >> ofAccess << inRow)[inAccess / static_cast<Bits>(together_)];
  }
  const std::size_t position = positions_[number];
  const auto width = static_cast<std::size_t>(vectors_.width);
  return e_.b.CreateExtractElement(load(position / width),
                                   position % width / static_cast<std::size_t>(together_));
}

/// As an integer, or as f64.
Value *FragmentSource::element(Bits number) {
  llvm::Type *const integer = e_.b.getIntNTy(static_cast<unsigned>(bits_));
  Value *found = nullptr;
  if (!base_) {
    found = registers_[number];
    if (bits_ <= kRegisterBits && !found->getType()->isIntegerTy())
      found = e_.b.CreateBitCast(found, integer);
    return found;
  }
  if (areMatrices()) {
    const Bits inside = number % static_cast<Bits>(together_);
    Value *const shifted = e_.b.CreateLShr(word(number), inside * static_cast<Bits>(bits_));
    return e_.b.CreateTrunc(shifted, integer);
  }
  const std::size_t position = positions_[number];
  const auto width = static_cast<std::size_t>(vectors_.width);
  Value *vector = load(position / width);
  if (vector->getType()->getScalarType() != integer)
    vector = e_.b.CreateBitCast(
        vector, llvm::FixedVectorType::get(integer, static_cast<unsigned>(vectors_.width)));
  found = e_.b.CreateExtractElement(vector, position % width);
  return bits_ > kRegisterBits ? e_.b.CreateBitCast(found, e_.b.getDoubleTy()) : found;
}

Value *FragmentSource::masked(Value *element, Bits fragment, std::int64_t step,
                              std::int64_t depth) {
  const Bits ofRegister = reads_.depths.apply(
      Dim::Register, fragment | static_cast<Bits>(step) << reads_.ofFragment.size());
  Value *const zero = llvm::Constant::getNullValue(element->getType());
  if (ofRegister >= static_cast<Bits>(depth)) return zero;
  const Bits ofLanes = layout::unionOf(reads_.depths.columns(Dim::Lane));
  if ((ofRegister | ofLanes) < static_cast<Bits>(depth)) return element;
  Value *const lanes = applyColumns(e_.b, reads_.depths.columns(Dim::Lane), e_.lane());
  Value *const isInside = e_.b.CreateICmpULT(
      e_.b.CreateOr(lanes, e_.i32(static_cast<std::int64_t>(ofRegister))), e_.i32(depth));
  return e_.b.CreateSelect(isInside, element, zero);
}

} // namespace imbrex::lower

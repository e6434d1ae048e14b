#include "backend/passes/units/unit_registers.h"

#include "backend/ir/products.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

namespace imbrex::passes {
namespace {

using namespace ir;
using machine::MmaOperand;

constexpr std::int64_t kBitsOfRegister = 32;

class RegisterCount {
public:
  RegisterCount(const Kernel &kernel, const machine::Machine &machine,
                llvm::ArrayRef<WarpProduct> products, std::int32_t warps)
      : kernel_(kernel), threads_(std::int64_t{machine.warpSize} * warps),
        loadsAhead_(machine.asyncCopies.sizes == 0) {
    noteLoops(kernel.body(), nullptr);
    for (const WarpProduct &product : products) dots_.insert(product.dot);
    for (const WarpProduct &product : products) add(product);
  }

  std::int64_t all() const {
    return std::max(sums_, sumsTogether_) + held_ + kStepsAtOnce * step_ + ahead_ + kOtherRegisters;
  }

private:
  void noteLoops(const Block &block, const Op *loop) {
    for (const auto &op : block.ops) {
      loopOf_[op.get()] = loop;
      for (const Block &region : op->regions) noteLoops(region, isLoop(*op) ? op.get() : loop);
    }
  }

  void add(const WarpProduct &product) {
    const auto [rows, columns] = product.pieces;
    const std::int64_t sums = rows * columns * registersOf(*product.unit, MmaOperand::Sums);
    sums_ = std::max(sums_, sums);
    if (product.isBesideOthers) sumsTogether_ += sums;
    const bool isTransposed = machine::isBestTransposed(*product.unit);
    std::int64_t step = 0;
    for (const std::size_t i : {0, 1}) {
      const MmaOperand fragment = (i == 0) == isTransposed ? MmaOperand::B : MmaOperand::A;
      const std::int64_t ofStep = product.pieces[i] * registersOf(*product.unit, fragment);
      switch (originOf(*product.dot, i)) {
      case Origin::Products: // else they come by way of shared memory, when the sums are done with
        if (product.keepsOperands) held_ += ofStep * product.steps;
        break;
      case Origin::Outside: held_ += ofStep * product.steps; break;
      case Origin::Trip:
        step += ofStep;
        held_ +=
            castFrom(*product.dot, i, elementOf(*product.unit, fragment), ofStep * product.steps);
        if (loadsAhead_) ahead_ += loaded(product.dot->operand(i));
        break;
      }
    }
    step_ = std::max(step_, step);
  }

  /// Where an operand comes from.
  enum class Origin : std::uint8_t {
    Trip,     ///< It is loaded in the loop.
    Outside,  ///< It is there from one trip to the next.
    Products, ///< It is made from another product's sums.
  };
  Origin originOf(const Op &dot, std::size_t i) {
    const Op *from = kernel_.definition(dot.operand(i));
    if (from == nullptr) return Origin::Trip;
    seen_.clear();
    if (loopOf_.lookup(from) != loopOf_.lookup(&dot)) return Origin::Outside;
    return comesOfProduct(*from) ? Origin::Products : Origin::Trip;
  }

  bool comesOfProduct(const Op &op) {
    if (dots_.contains(&op)) return true;
    if (!seen_.insert(&op).second || !op.regions.empty()) return false;
    return llvm::any_of(op.operands, [&](ValueId operand) {
      const Op *from = kernel_.definition(operand);
      return from != nullptr && kernel_.type(operand).rank() > 0 && comesOfProduct(*from);
    });
  }

  /// What an operand was that is cast for the unit, to so many registers: it is read once, as it
  /// is, and cast step by step.
  std::int64_t castFrom(const Op &dot, std::size_t i, machine::MatrixElement taken,
                        std::int64_t registers) const {
    const ElementKind own = ir::elementOf(kernel_, dot, i);
    const std::int64_t bits = storageBits(own), ofTaken = bitsOf(taken);
    const bool isCast = info(own).name != machine::nameOf(taken) && bits < ofTaken;
    return isCast ? registers * bits / ofTaken : 0;
  }

  std::int64_t loaded(ValueId operand) const {
    const Type &tile = kernel_.type(operand);
    return tile.shape().elements() * storageBits(tile.element()) / (kBitsOfRegister * threads_);
  }

  const Kernel &kernel_;
  std::int64_t threads_;
  bool loadsAhead_;
  llvm::DenseMap<const Op *, const Op *> loopOf_; // the innermost
  llvm::SmallPtrSet<const Op *, 4> dots_;
  llvm::SmallPtrSet<const Op *, 16> seen_;
  std::int64_t sums_ = 0, sumsTogether_ = 0, held_ = 0, step_ = 0, ahead_ = 0;
};

} // namespace

std::int64_t registersWanted(const Kernel &kernel, const machine::Machine &machine,
                             llvm::ArrayRef<WarpProduct> products, std::int32_t warps) {
  return RegisterCount(kernel, machine, products, warps).all();
}

} // namespace imbrex::passes

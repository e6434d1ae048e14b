#pragma once

#include "backend/analysis/fragment_access.h"
#include "backend/layout/slot_layout.h"
#include "backend/lower/emitter.h"
#include "backend/lower/memory/slot_address.h"
#include "backend/lower/values/matrix_instruction.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

/// How the operands of a matrix instruction get into its registers: from shared memory in accesses
/// as wide as its layout allows, or from the registers of a tile that lies like the fragments.
namespace imbrex::lower {

/// Where a fragment stands in a product: which piece of the sums it is for, and which step along k.
struct FragmentPlace {
  layout::Bits piece;
  std::int64_t step;
};

/// An operand of one product, or (from 3 on) the scales of one.
class FragmentSource {
public:
  FragmentSource(Emitter &emitter, const ir::Op &dot, std::size_t operand,
                 analysis::FragmentReads reads);
  /// Of a tile of such elements that a thread reads by itself: the registers of `reads.places` are
  /// those of one fragment.
  FragmentSource(Emitter &emitter, ir::ElementKind element, analysis::FragmentReads reads);

  /// From a tile in shared memory, by its layout (from the offset, in elements, to the coordinates
  /// of `reads`).
  void readFrom(llvm::Value *base, const layout::LinearLayout &shared);
  /// All that is read there by lanes: now, and not where it is asked for.
  void loadAll();
  /// Whether a warp reads it by matrices.
  bool areMatrices() const { return access_.way != analysis::FragmentWay::Vectors; }
  /// All that a warp reads by matrices, an element of this type each.
  Registers elements(llvm::Type *type);
  /// From registers that lie as `reads.places` says.
  void takeFrom(Registers registers);

  /// The fragment's registers: i32, or f64 where elements are; scales a byte each. Elements from
  /// `depth` on along k are 0, where that is given.
  MatrixValues at(FragmentPlace place, std::optional<std::int64_t> depth);

  /// The register with a fragment of scales, and which of its bytes is the first of them.
  struct Scales {
    MatrixValues registers;
    std::int32_t firstByte = 0;
  };
  /// `picksByte`: whether that may be another than 0.
  Scales scalesAt(FragmentPlace place, std::optional<std::int64_t> depth, bool picksByte);

private:
  layout::Bits registerOf(layout::Bits fragment, FragmentPlace place) const;
  void planVectors();
  llvm::Value *load(std::size_t vector);
  /// What of a tile a register of the fragment is made of, side by side.
  llvm::Value *joined(layout::Bits fragment, FragmentPlace place,
                      std::optional<std::int64_t> depth);
  /// The registers that a lane gets of an access by matrices.
  const MatrixValues &loadMatrices(layout::Bits access);
  llvm::Value *word(layout::Bits number);
  llvm::Value *element(layout::Bits number);
  llvm::Value *masked(llvm::Value *element, layout::Bits fragment, std::int64_t step,
                      std::int64_t depth);
  llvm::Value *address(layout::Bits number);

  Emitter &e_;
  analysis::FragmentReads reads_;
  std::int64_t bits_;           // of an element
  std::int64_t together_;       // elements of a word
  std::int64_t perRegister_;    // and of a register, which has fewer where it spreads nibbles
  std::int64_t depthOfElement_; // how many of k an element stands for
  bool areScales_;
  std::int32_t nibbleBit_ = 0; // of a nibble that has a byte, in that
  std::size_t elements_;       // of a fragment
  // In shared memory:
  llvm::Value *base_ = nullptr;
  analysis::FragmentAccess access_;
  layout::SlotReads inShared_; // what the accesses touch
  std::optional<SlotAddresses> addresses_;
  layout::RegisterVectors vectors_;
  std::vector<std::size_t> positions_; // of registers among those of the vectors
  bool areWords_ = false;              // vectors are loaded in registers' words
  std::vector<llvm::Value *> loaded_;
  std::map<layout::Bits, MatrixValues> matrices_;
  // In registers:
  Registers registers_;
  std::map<std::pair<layout::Bits, std::int64_t>, MatrixValues> known_;
};

} // namespace imbrex::lower

#include "backend/target/amdgpu/product_order.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/AMDGPUAddrSpace.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace imbrex::target::amdgpu {
namespace {

using llvm::Instruction;

/// What a group has, by the bit that names it (LLVM, AMDGPUUsage, llvm.amdgcn.sched.group.barrier).
enum class Kind : std::uint32_t {
  Other = 0,
  Product = 0x8, ///< MFMA and WMMA
  Load = 0x20,   ///< of global memory, into registers or LDS
  Read = 0x100,  ///< of LDS
  Store = 0x200, ///< to LDS
  Meeting = ~0U,
};

Kind kindOf(const llvm::IntrinsicInst &call) {
  const llvm::StringRef name = call.getCalledFunction()->getName();
  const auto is = [&](llvm::StringRef beginning) {
    return name.starts_with("llvm.amdgcn." + beginning.str());
  };
  if (is("mfma") || is("wmma")) return Kind::Product;
  if (is("ds.read.tr") || is("ds.load.tr")) return Kind::Read;
  if (is("raw.ptr.buffer.load") || is("global.load") || is("load.to.lds")) return Kind::Load;
  if (is("s.barrier")) return Kind::Meeting;
  return Kind::Other;
}

Kind kindOf(const Instruction &instruction) {
  const auto isShared = [](unsigned space) { return space == llvm::AMDGPUAS::LOCAL_ADDRESS; };
  if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return kindOf(*call);
  if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return isShared(load->getPointerAddressSpace()) ? Kind::Read : Kind::Load;
  if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return isShared(store->getPointerAddressSpace()) ? Kind::Store : Kind::Other;
  return Kind::Other;
}

/// An assembly of nothing, which makes another number of one (lower, Emitter::renewed).
bool isRenewed(const Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return text && !text->hasSideEffects() && text->getAsmString().empty();
}

using Instructions = llvm::SmallVector<Instruction *, 16>;

/// What stands between two meetings, in order.
struct Part {
  Instructions loads, stores, reads, products;
  std::size_t free = 0;             ///< Of the first products: they want nothing that is read here.
  std::vector<std::size_t> readFor; ///< Of each read, the first product that wants it, or the end.
};

/// The parts of a block in which reads and products may be moved: products are made of arithmetic
/// on what LDS reads of their part have brought and what comes from elsewhere, and between the
/// first and the last of a part nothing is ordered or written but loads into other slots.
class PartReader {
public:
  /// Nothing of other blocks.
  std::optional<std::vector<Part>> read(llvm::BasicBlock &block) {
    parts_.emplace_back();
    block_ = &block;
    for (Instruction &instruction : block) {
      add(instruction);
      if (!mayMove_) return std::nullopt;
    }
    for (Part &part : parts_)
      for (std::size_t &wanted : part.readFor) wanted = std::min(wanted, part.products.size());
    return std::move(parts_);
  }

private:
  void add(Instruction &instruction) {
    Part &part = parts_.back();
    const Kind kind = kindOf(instruction);
    if (kind == Kind::Read || kind == Kind::Product) mayMove_ &= part.stores.empty() && !isOrdered_;
    switch (kind) {
    case Kind::Other:
      isOrdered_ |= instruction.mayHaveSideEffects() && !isRenewed(instruction) &&
                    !(part.reads.empty() && part.loads.empty() && part.products.empty());
      return;
    case Kind::Meeting:
      parts_.emplace_back();
      isOrdered_ = false;
      return;
    case Kind::Load: part.loads.push_back(&instruction); return;
    case Kind::Store:
      mayMove_ &= part.reads.empty() && part.products.empty();
      part.stores.push_back(&instruction);
      return;
    case Kind::Read:
      seen_.clear();
      for (llvm::Value *operand : instruction.operands()) mayMove_ &= !want(operand);
      number_[&instruction] = {parts_.size() - 1, part.reads.size()};
      part.reads.push_back(&instruction);
      part.readFor.push_back(~std::size_t{0});
      return;
    case Kind::Product: {
      bool wantsReads = false;
      seen_.clear();
      for (llvm::Value *operand : instruction.operands()) wantsReads |= want(operand);
      if (!wantsReads && part.free == part.products.size()) ++part.free;
      part.products.push_back(&instruction);
      return;
    }
    }
  }

  /// The product at hand wants what the value is made of, but for the sums of those before. Whether
  /// a read of this part is among it.
  bool want(llvm::Value *value) {
    auto *const made = llvm::dyn_cast<Instruction>(value);
    if (made == nullptr || llvm::isa<llvm::PHINode>(made) || !seen_.insert(made).second)
      return false;
    if (const auto read = number_.find(made); read != number_.end()) {
      if (read->second.part + 1 != parts_.size()) return false;
      std::size_t &first = parts_.back().readFor[read->second.number];
      first = std::min(first, parts_.back().products.size());
      return true;
    }
    if (made->getParent() != block_ || kindOf(*made) == Kind::Product) return false;
    mayMove_ &= isRenewed(*made) || (!made->mayReadOrWriteMemory() && !made->mayHaveSideEffects());
    bool wantsReads = false;
    for (llvm::Value *operand : made->operands()) wantsReads |= want(operand);
    return wantsReads;
  }

  struct Place {
    std::size_t part, number;
  };
  std::vector<Part> parts_;
  llvm::DenseMap<const Instruction *, Place> number_; // of a read
  llvm::SmallPtrSet<const Instruction *, 32> seen_;
  const llvm::BasicBlock *block_ = nullptr;
  bool mayMove_ = true, isOrdered_ = false;
};

/// Moves an instruction, and what it is made of, in front of another of its block, where it stands
/// behind that. PartReader has seen that this may be done.
void moveUp(Instruction &instruction, Instruction &before) {
  if (instruction.getParent() != before.getParent() || llvm::isa<llvm::PHINode>(instruction) ||
      instruction.comesBefore(&before))
    return;
  for (llvm::Value *operand : instruction.operands())
    if (auto *const made = llvm::dyn_cast<Instruction>(operand)) moveUp(*made, before);
  instruction.moveBefore(before.getIterator());
}

/// Half of the products that the next part has ready go between the stores.
void arrangeStores(const Part &part, Part &next) {
  const std::size_t taken = std::min(next.free / 2, part.stores.size());
  for (std::size_t i = 0; i < taken; ++i) {
    const std::size_t behind = (i + 1) * part.stores.size() / taken;
    if (behind < part.stores.size())
      moveUp(*next.products[i], *part.stores[behind]);
    else if (!part.loads.empty())
      moveUp(*next.products[i], *part.loads.front());
  }
  next.products.erase(next.products.begin(),
                      next.products.begin() + static_cast<std::ptrdiff_t>(taken));
  next.free -= taken;
  for (std::size_t &wanted : next.readFor) wanted -= std::min(wanted, taken);
}

/// In front of which product each read goes: as far ahead of the one that wants it as can be, but
/// no two in one place unless they have to be.
std::vector<std::size_t> placesOfReads(const Part &part) {
  // An LDS read takes some 130 cycles, and a product 16 to 32 of the unit's.
  constexpr std::size_t kAhead = 4;
  std::vector<std::size_t> places(part.reads.size());
  std::size_t behind = part.products.size();
  for (std::size_t i = places.size(); i-- > 0;) {
    const std::size_t wanted = part.readFor[i];
    places[i] =
        std::min(wanted - std::min(wanted, kAhead), behind - std::min<std::size_t>(behind, 1));
    behind = places[i];
  }
  return places;
}

/// Reads go up to their places, and the first products between the loads.
void arrangeProducts(const Part &part) {
  const std::vector<std::size_t> places = placesOfReads(part);
  std::size_t read = 0;
  for (std::size_t i = 0; i < part.products.size(); ++i) {
    Instruction &here = i < part.loads.size() ? *part.loads[i] : *part.products[i];
    for (; read < places.size() && places[read] <= i; ++read) moveUp(*part.reads[read], here);
    moveUp(*part.products[i], here);
  }
}

/// The order in which the block stands, as groups.
void askForOrder(llvm::BasicBlock &block) {
  // The time that LLVM takes grows faster than the square of them: 102 take it a tenth of a second,
  // 504 ten.
  constexpr std::size_t kMostGroups = 192;
  struct Group {
    Kind kind;
    std::uint32_t count;
  };
  std::vector<Group> groups;
  for (const Instruction &instruction : block) {
    const Kind kind = kindOf(instruction);
    if (kind == Kind::Other || kind == Kind::Meeting) continue;
    if (groups.empty() || groups.back().kind != kind) groups.push_back({kind, 0});
    ++groups.back().count;
  }
  if (groups.size() > kMostGroups) return;
  llvm::IRBuilder<> b(block.getTerminator());
  for (const Group &group : groups)
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_sched_group_barrier, {},
                      {b.getInt32(static_cast<std::uint32_t>(group.kind)), b.getInt32(group.count),
                       b.getInt32(0)});
}

void arrange(llvm::BasicBlock &block, std::vector<Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].products.empty())
      arrangeProducts(parts[i]);
    else if (i + 1 < parts.size())
      arrangeStores(parts[i], parts[i + 1]);
  askForOrder(block);
}

/// Whether, in this block, a product's sums go to other products alone, and to the next trip; their
/// elements may be taken apart and put together on the way.
bool isSummedUp(const Instruction &made) {
  return llvm::all_of(made.users(), [&](const llvm::User *of) {
    const auto &user = *llvm::cast<Instruction>(of);
    if (user.getParent() != made.getParent() || llvm::isa<llvm::PHINode>(user)) return true;
    if (llvm::isa<llvm::ExtractElementInst, llvm::InsertElementInst>(user)) return isSummedUp(user);
    return kindOf(user) == Kind::Product;
  });
}

/// Whether factors are computed by so much that LLVM's scheduler has to count registers: that in
/// front of products which it may not move it computes for all of them, side by side.
bool computesMuch(const llvm::BasicBlock &block) {
  // 64 of a thread's bytes or halves of bytes to bf16 take 450 to 600, 8-bit floats 1200.
  constexpr std::ptrdiff_t kMuch = 1024;
  return llvm::count_if(block, [](const Instruction &instruction) {
           return llvm::isa<llvm::BinaryOperator, llvm::CmpInst, llvm::SelectInst>(instruction);
         }) > kMuch;
}

/// Whether there is enough to be ordered, reads are few, not of single elements, and sums are
/// summed up alone: where more is done with them, registers are few, and LLVM counts them.
bool isWorthIt(const std::vector<Part> &parts) {
  constexpr std::size_t kFewest = 8;
  std::size_t products = 0, reads = 0;
  for (const Part &part : parts) {
    products += part.products.size();
    reads += part.reads.size();
    if (!llvm::all_of(part.products,
                      [](const Instruction *product) { return isSummedUp(*product); }))
      return false;
  }
  return products >= kFewest && reads > 0 && reads <= 2 * products;
}

/// Whether products stand alone between meetings, so that one half of the waves multiplies while
/// the other reads (passes/pipeline/take_turns.h).
bool takesTurns(const llvm::BasicBlock &block) {
  bool multiplies = false, reads = false, hasMet = false;
  for (const Instruction &instruction : block) {
    const Kind kind = kindOf(instruction);
    multiplies |= kind == Kind::Product;
    reads |= kind == Kind::Read || kind == Kind::Load || kind == Kind::Store;
    if (multiplies && reads) return false;
    if (kind != Kind::Meeting) continue;
    hasMet |= multiplies;
    multiplies = reads = false;
  }
  return hasMet;
}

/// Nothing goes over a meeting; what is read now is read before what is loaded for later trips; and
/// who multiplies comes first where both could issue.
void keepTurns(llvm::BasicBlock &block) {
  llvm::IRBuilder<> b(block.getContext());
  const auto add = [&](llvm::Intrinsic::ID id, llvm::Value *what) {
    b.CreateIntrinsic(id, {}, {what});
  };
  const auto halt = [&] { add(llvm::Intrinsic::amdgcn_sched_barrier, b.getInt32(0)); };
  Kind last = Kind::Meeting;
  for (Instruction &instruction : llvm::make_early_inc_range(block)) {
    const Kind kind = kindOf(instruction);
    if (kind == Kind::Other) continue;
    const Kind before = std::exchange(last, kind);
    b.SetInsertPoint(&instruction);
    if (kind == Kind::Product && before != kind)
      add(llvm::Intrinsic::amdgcn_s_setprio, b.getInt16(1));
    if (before == Kind::Read && kind == Kind::Load) halt();
    if (kind != Kind::Meeting) continue;
    if (before == Kind::Product) add(llvm::Intrinsic::amdgcn_s_setprio, b.getInt16(0));
    halt();
    b.SetInsertPoint(instruction.getNextNode());
    halt();
  }
}

bool isLoop(llvm::BasicBlock &block) {
  return llvm::is_contained(llvm::successors(&block), &block);
}

} // namespace

void orderProducts(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function) {
      if (!isLoop(block)) continue;
      if (takesTurns(block)) {
        keepTurns(block);
        continue;
      }
      auto parts = PartReader().read(block);
      if (parts && isWorthIt(*parts) && !computesMuch(block)) arrange(block, *std::move(parts));
    }
}

} // namespace imbrex::target::amdgpu

#include "backend/validate/exchange_order.h"

#include "backend/lower/memory/shared_memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"

#include <array>
#include <map>
#include <vector>

namespace imbrex {
namespace {

using llvm::Instruction;
using llvm::Value;
using lower::SharedMemory;

enum class AccessMode : std::uint8_t { Read, Write, Update };
constexpr std::size_t kAccessModes = 3;

/// What must not lie between two meetings: the earlier access, by the later one.
constexpr std::array<std::array<bool, kAccessModes>, kAccessModes> kConflict{{
    //       Read   Write  Update
    /*Read*/ {false, true, true},
    /*Write*/ {true, false, true},
    /*Update*/ {true, true, false},
}};

/// By region: a bit for each mode in which some thread may have accessed it since all met. In front
/// of them, whether arrays were accessed that one of them lies among, and that one.
constexpr std::size_t kUnder = 0, kAbove = 1, kFirstRegion = 2;
using Accessed = llvm::SmallVector<std::uint8_t, 8>;

class ExchangeRaceFinder {
public:
  ExchangeRaceFinder(const llvm::Module &module, const target::GpuTarget &target)
      : target_(target), regions_(SharedMemory::regionsOf(module)) {
    for (const llvm::GlobalVariable *region : regions_) {
      above_ = region;
      under_ = SharedMemory::arraysUnder(module, *region);
      if (!under_.empty()) break;
    }
  }

  std::optional<std::string> find(const llvm::Function &function) {
    std::map<const llvm::BasicBlock *, Accessed> before;
    std::vector<const llvm::BasicBlock *> open{&function.getEntryBlock()};
    before[open.front()] = Accessed(kFirstRegion + regions_.size(), 0);
    while (!open.empty() && !found_) {
      const llvm::BasicBlock *block = open.back();
      open.pop_back();
      Accessed accessed = before[block];
      for (const Instruction &instruction : *block) pass(instruction, accessed);
      for (const llvm::BasicBlock *next : llvm::successors(block)) {
        const auto [known, isNew] = before.try_emplace(next, accessed);
        if (isNew || join(known->second, accessed)) open.push_back(next);
      }
    }
    return found_;
  }

private:
  /// Whether that adds something.
  static bool join(Accessed &into, const Accessed &from) {
    const Accessed old = into;
    for (std::size_t i = 0; i < into.size(); ++i) into[i] |= from[i];
    return into != old;
  }

  static std::string lineOf(const Instruction &instruction) {
    const llvm::DebugLoc &where = instruction.getDebugLoc();
    return where ? " at line " + std::to_string(where.getLine()) : "";
  }

  void pass(const Instruction &instruction, Accessed &accessed) {
    using target::MeetingKind;
    const MeetingKind meeting = target_.meetingAt(instruction);
    if (meeting == MeetingKind::Unfenced && !found_)
      found_ = "threads meet" + lineOf(instruction) + " without the fences that order memory";
    if (meeting != MeetingKind::None) llvm::fill(accessed, std::uint8_t{0});
    if (const Value *pointer = llvm::getLoadStorePointerOperand(&instruction))
      return access(instruction, *pointer,
                    llvm::isa<llvm::LoadInst>(instruction) ? AccessMode::Read : AccessMode::Write,
                    accessed);
    if (const auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      return access(instruction, *update->getPointerOperand(), AccessMode::Update, accessed);
    if (const auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      return access(instruction, *exchange->getPointerOperand(), AccessMode::Update, accessed);
    const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->doesNotAccessMemory()) return;
    for (const Value *operand : call->args()) {
      if (!operand->getType()->isPointerTy()) continue;
      if (!call->onlyWritesMemory()) access(instruction, *operand, AccessMode::Read, accessed);
      if (!call->onlyReadsMemory()) access(instruction, *operand, AccessMode::Write, accessed);
    }
  }

  void access(const Instruction &instruction, const Value &pointer, AccessMode mode,
              Accessed &accessed) {
    constexpr unsigned kAnyDepth = 0;
    llvm::SmallVector<const Value *> arrays;
    llvm::getUnderlyingObjects(&pointer, arrays, nullptr, kAnyDepth);
    if (!under_.empty()) accessOverlaid(instruction, arrays, accessed);
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (!llvm::is_contained(arrays, regions_[i])) continue;
      const auto &conflicts = kConflict.at(static_cast<std::size_t>(mode));
      for (std::size_t earlier = 0; earlier < kAccessModes; ++earlier)
        if (conflicts.at(earlier) && (accessed[kFirstRegion + i] >> earlier & 1) != 0 && !found_)
          found_ = "threads access memory" + lineOf(instruction) +
                   " that others have accessed since all met";
      accessed[kFirstRegion + i] |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode));
    }
  }

  /// Slots, and what lies where they were.
  void accessOverlaid(const Instruction &instruction, llvm::ArrayRef<const Value *> arrays,
                      Accessed &accessed) {
    const bool isUnder =
        llvm::any_of(under_, [&](const auto *array) { return llvm::is_contained(arrays, array); });
    const bool isAbove = llvm::is_contained(arrays, above_);
    accessed[kUnder] |= isUnder;
    accessed[kAbove] |= isAbove;
    if ((isUnder || isAbove) && accessed[kUnder] && accessed[kAbove] && !found_)
      found_ = "threads access memory" + lineOf(instruction) +
               " where others have accessed slots since all met, or the other way round";
  }

  const target::GpuTarget &target_;
  const std::vector<const llvm::GlobalVariable *> regions_;
  // An array that lies among the bytes of others, and those.
  const llvm::GlobalVariable *above_ = nullptr;
  std::vector<const llvm::GlobalVariable *> under_;
  std::optional<std::string> found_;
};

} // namespace

std::optional<std::string> exchangeRaceIn(const llvm::Module &module,
                                          const target::GpuTarget &target) {
  ExchangeRaceFinder finder(module, target);
  for (const llvm::Function &function : module)
    if (!function.isDeclaration())
      if (auto found = finder.find(function)) return found;
  return std::nullopt;
}

} // namespace imbrex

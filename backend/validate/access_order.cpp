#include "backend/validate/access_order.h"

#include "backend/support/location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace imbrex {
namespace {

using target::AccessKind;
using target::FoundAccess;
using target::MemoryScope;
using target::OrderedAccess;

constexpr std::size_t kMostNumbers = 0xffff; // that the column of LLVM's places holds

/// A place that is not known is the kernel's: of line 0 LLVM writes no column.
void setNumber(llvm::Instruction &instruction, std::size_t number) {
  const llvm::DILocation *place = instruction.getDebugLoc();
  if (place == nullptr || number > kMostNumbers) return;
  const unsigned home = std::max(place->getScope()->getSubprogram()->getLine(), 1U);
  const unsigned line = place->getLine() == 0 ? home : place->getLine();
  instruction.setDebugLoc(llvm::DILocation::get(place->getContext(), line,
                                                static_cast<unsigned>(number), place->getScope(),
                                                place->getInlinedAt()));
}

Location locationOf(const llvm::Instruction &instruction) {
  const llvm::DILocation *place = instruction.getDebugLoc();
  if (place == nullptr || place->getLine() == 0) return {};
  llvm::SmallString<64> path(place->getDirectory());
  llvm::sys::path::append(path, place->getFilename());
  return {.file = internFileName(path.str()), .line = place->getLine()};
}

/// Whether an instruction of the assembly is for this one at all. An update that no instruction
/// makes is a loop of compare-exchanges, behind a load of what is there.
bool isFor(const OrderedAccess &required, const OrderedAccess &found) {
  const bool isLoop = required.kind == AccessKind::Update && found.kind == AccessKind::Exchange;
  return required.kind == found.kind || isLoop;
}

/// Of an update the word around it may be exchanged; a load or a store takes just what it is of.
bool isAsRequired(const OrderedAccess &required, const OrderedAccess &found) {
  const bool isPlain = required.kind == AccessKind::Load || required.kind == AccessKind::Store;
  const bool isWidth = isPlain ? found.bits == required.bits : found.bits >= required.bits;
  return isFor(required, found) && isWidth && found.scope >= required.scope &&
         found.acquires >= required.acquires && found.releases >= required.releases;
}

using Accesses = std::vector<OrderedAccess>;

std::optional<std::string> whatDiffers(const OrderedAccess &required, const Accesses &found,
                                       const Accesses &unknown) {
  const auto isRight = [&](const OrderedAccess &one) { return isAsRequired(required, one); };
  bool isThere = false;
  for (const OrderedAccess &one : found) {
    if (!isFor(required, one)) continue;
    isThere = true;
    if (!isRight(one)) return "for " + toText(required) + " it has " + toText(one);
  }
  if (isThere || llvm::any_of(unknown, isRight)) return std::nullopt;
  return "it has nothing for " + toText(required);
}

/// What threads have done before they meet, one of them may release for all.
MemoryScope widestRelease(llvm::ArrayRef<RequiredAccess> required) {
  MemoryScope widest = MemoryScope::None;
  for (const RequiredAccess &one : required) widest = std::max(widest, one.access.releases);
  return widest;
}

} // namespace

std::vector<RequiredAccess> assignAccessNumbers(llvm::Module &module,
                                                const target::GpuTarget &target) {
  std::vector<RequiredAccess> required;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto access = target.accessAt(instruction)) {
        required.push_back({*access, locationOf(instruction)});
        setNumber(instruction, required.size());
      }
  const MemoryScope widest = widestRelease(required);
  for (RequiredAccess &one : required)
    if (one.access.kind == AccessKind::Meeting && one.access.releases != MemoryScope::None)
      one.access.releases = std::max(one.access.releases, widest);
  return required;
}

std::optional<AccessDifference> differenceFrom(llvm::ArrayRef<RequiredAccess> required,
                                               llvm::ArrayRef<FoundAccess> found) {
  std::vector<Accesses> byNumber(required.size() + 1);
  for (const FoundAccess &one : found)
    if (one.number < byNumber.size()) byNumber[one.number].push_back(one.access);
  for (std::size_t i = 0; i < required.size(); ++i)
    if (const auto what = whatDiffers(required[i].access, byNumber[i + 1], byNumber[0]))
      return AccessDifference{required[i].where, *what};
  return std::nullopt;
}

} // namespace imbrex

#include "backend/target/nvptx/ptx_accesses.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"

#include <algorithm>
#include <array>

namespace imbrex::target::nvptx {
namespace {

bool has(const Words &words, llvm::StringRef word) { return llvm::is_contained(words, word); }

struct FirstWord {
  llvm::StringRef word;
  AccessKind kind;
};
constexpr std::array kFirstWords = {
    FirstWord{"ld", AccessKind::Load},         FirstWord{"st", AccessKind::Store},
    FirstWord{"atom", AccessKind::Update},     FirstWord{"red", AccessKind::Update},
    FirstWord{"fence", AccessKind::Fence},     FirstWord{"bar", AccessKind::Meeting},
    FirstWord{"barrier", AccessKind::Meeting}, FirstWord{"griddepcontrol", AccessKind::Launch}};

/// By the first word alone: most instructions are told by it to be no accesses.
std::optional<AccessKind> kindOf(llvm::StringRef opcode) {
  const auto *const found =
      llvm::find_if(kFirstWords, [first = opcode.take_front(opcode.find('.'))](
                                     const FirstWord &one) { return one.word == first; });
  return found == kFirstWords.end() ? std::nullopt : std::optional(found->kind);
}

std::optional<AccessKind> kindOf(AccessKind first, const Words &words) {
  // Parameters, constants and a thread's own memory are nobody else's.
  if (has(words, "param") || has(words, "const") || has(words, "local")) return std::nullopt;
  const bool isOfRest =
      (first == AccessKind::Meeting && has(words, "warp")) ||
      (first == AccessKind::Launch && !has(words, "wait")) ||
      (first == AccessKind::Fence && (has(words, "proxy") || has(words, "mbarrier_init")));
  if (isOfRest) return std::nullopt;
  return first == AccessKind::Update && has(words, "cas") ? AccessKind::Exchange : first;
}

MemoryScope scopeIn(const Words &words, MemoryScope ifNone) {
  if (has(words, "cta") || has(words, "cluster")) return MemoryScope::Block;
  if (has(words, "gpu")) return MemoryScope::Device;
  return has(words, "sys") ? MemoryScope::System : ifNone;
}

/// What the words do not say: `atom` and `red` without a scope are for the device, other accesses
/// without semantics are weak; a volatile access is a relaxed one of the system.
MemoryScope memoryScopeOf(AccessKind kind, const Words &words) {
  const bool isWide = has(words, "volatile") || has(words, "mmio");
  const bool isUpdate = kind == AccessKind::Update || kind == AccessKind::Exchange;
  const bool isStrong = isUpdate || kind == AccessKind::Fence || has(words, "relaxed") ||
                        has(words, "acquire") || has(words, "release");
  if (isWide) return MemoryScope::System;
  return isStrong ? scopeIn(words, isUpdate ? MemoryScope::Device : MemoryScope::None)
                  : MemoryScope::None;
}

std::optional<OrderedAccess> accessIn(llvm::StringRef line) {
  if (!line.consume_back(";")) return std::nullopt;
  const PtxInstruction instruction(line);
  const auto first = kindOf(instruction.opcode);
  if (!first) return std::nullopt;
  const Words words = instruction.words();
  const auto kind = kindOf(*first, words);
  if (!kind) return std::nullopt;
  // It orders the accesses of the threads that take part (PTX ISA 9.0, "barrier"), and what one of
  // them releases then is ordered behind all of these ("Causality order").
  if (*kind == AccessKind::Meeting)
    return OrderedAccess{
        .kind = *kind, .acquires = MemoryScope::System, .releases = MemoryScope::System};
  if (*kind == AccessKind::Launch) return kLaunchAwaited;
  const MemoryScope scope = memoryScopeOf(*kind, words);
  const bool isBoth = has(words, "acq_rel") || has(words, "sc");
  return OrderedAccess{.kind = *kind,
                       .bits = *kind == AccessKind::Fence ? 0 : bitsMoved(words),
                       .scope = scope,
                       .acquires = isBoth || has(words, "acquire") ? scope : MemoryScope::None,
                       .releases = isBoth || has(words, "release") ? scope : MemoryScope::None};
}

/// Whether memory may be touched that other blocks can reach. Without a space an address is of any.
bool mayTouchGlobal(const Words &words) {
  constexpr std::array<llvm::StringRef, 8> kOpcodes{"ld",  "ldu",      "st", "atom",
                                                    "red", "multimem", "cp", "prefetch"};
  if (!llvm::is_contained(kOpcodes, words.front())) return false;
  if (has(words, "global")) return true;
  const auto isOther = [](llvm::StringRef word) {
    return word == "const" || word == "local" || word.starts_with("param") ||
           word.starts_with("shared");
  };
  return words.front() != "cp" && llvm::none_of(words, isOther);
}

} // namespace

llvm::StringRef touchedBeforeWait(llvm::StringRef ptx) {
  for (llvm::StringRef line :
       linesOf(ptx.drop_front(std::min(ptx.find("\n{"), ptx.size())), "//")) {
    if (!line.consume_back(";")) continue;
    const PtxInstruction instruction(line);
    const Words words = instruction.words();
    if (words.front() == "griddepcontrol" && has(words, "wait")) return {};
    if (mayTouchGlobal(words)) return line;
  }
  return {};
}

std::vector<FoundAccess> accessesOfPtx(llvm::StringRef ptx) {
  std::vector<FoundAccess> found;
  Columns columns;
  for (const llvm::StringRef line : linesOf(ptx, "//")) {
    if (columns.read(line)) continue;
    if (const auto access = accessIn(line)) found.push_back({columns.current(), *access});
  }
  return found;
}

} // namespace imbrex::target::nvptx

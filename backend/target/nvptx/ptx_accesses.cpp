#include "backend/target/nvptx/ptx_accesses.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"

namespace imbrex::target::nvptx {
namespace {

bool has(const Words &words, llvm::StringRef word) { return llvm::is_contained(words, word); }

std::optional<AccessKind> kindOf(const Words &words) {
  const llvm::StringRef opcode = words.front();
  // Parameters, constants and a thread's own memory are nobody else's.
  if (has(words, "param") || has(words, "const") || has(words, "local")) return std::nullopt;
  if (opcode == "atom") return has(words, "cas") ? AccessKind::Exchange : AccessKind::Update;
  if (opcode == "red") return AccessKind::Update;
  if (opcode == "ld") return AccessKind::Load;
  if (opcode == "st") return AccessKind::Store;
  if (opcode == "fence" && !has(words, "proxy") && !has(words, "mbarrier_init"))
    return AccessKind::Fence;
  if (opcode == "bar" || opcode == "barrier")
    return has(words, "warp") ? std::nullopt : std::optional(AccessKind::Meeting);
  return std::nullopt;
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
  const Words words = PtxInstruction(line).words();
  const auto kind = kindOf(words);
  if (!kind) return std::nullopt;
  // It orders the accesses of the threads that take part (PTX ISA 9.0, "barrier"), and what one of
  // them releases then is ordered behind all of these ("Causality order").
  if (*kind == AccessKind::Meeting)
    return OrderedAccess{
        .kind = *kind, .acquires = MemoryScope::System, .releases = MemoryScope::System};
  const MemoryScope scope = memoryScopeOf(*kind, words);
  const bool isBoth = has(words, "acq_rel") || has(words, "sc");
  return OrderedAccess{.kind = *kind,
                       .bits = *kind == AccessKind::Fence ? 0 : bitsMoved(words),
                       .scope = scope,
                       .acquires = isBoth || has(words, "acquire") ? scope : MemoryScope::None,
                       .releases = isBoth || has(words, "release") ? scope : MemoryScope::None};
}

} // namespace

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

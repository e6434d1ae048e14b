#include "backend/target/nvptx/refusal.h"

#include "backend/lower/values/inline_assembly.h"
#include "backend/target/codegen/inline_asm_ranges.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace imbrex::target::nvptx {
namespace {

constexpr InlineAsmMarkers kMarks{.begin = "// begin inline asm", .end = "// end inline asm"};

/// Whether the last instruction of a block, or a brace, goes on behind it.
bool isOpen(const InlineAsmRange &block, llvm::ArrayRef<llvm::StringRef> lines) {
  const auto text = lines.slice(block.begin, block.end - block.begin - 1);
  int depth = 0;
  char last = ';';
  for (const llvm::StringRef line : text)
    for (const char c : line.trim()) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      last = c;
    }
  return depth != 0 || (last != ';' && last != '}');
}

struct Remark {
  unsigned line; // of the PTX, from 1
  llvm::StringRef text;
};

/// `ptxas kernel.ptx, line 8; error   : Not a name of any known instruction: 'frob'`
std::optional<Remark> errorOf(llvm::StringRef said) {
  const auto [place, text] = said.split(';');
  Remark remark{.line = 0, .text = text.split(':').second.trim()};
  const bool isError = text.trim().starts_with("error") || text.trim().starts_with("fatal");
  if (!isError || place.rsplit(' ').second.getAsInteger(10, remark.line)) return std::nullopt;
  return remark;
}

/// The block that an error is about. A text that cannot be read is so for what is open above it.
const InlineAsmRange *blockOf(const Remark &error, llvm::ArrayRef<InlineAsmRange> blocks,
                              llvm::ArrayRef<llvm::StringRef> lines) {
  const InlineAsmRange *around = nullptr, *open = nullptr;
  for (const InlineAsmRange &block : blocks) {
    if (error.line > block.begin && error.line < block.end) around = &block;
    if (error.line >= block.end && isOpen(block, lines)) open = &block;
  }
  return open != nullptr && error.text.starts_with("Parsing error") ? open : around;
}

} // namespace

Failure<Diagnostic> refusalOf(const Refusal &refusal, llvm::StringRef ptx) {
  llvm::SmallVector<llvm::StringRef, 0> lines, remarks;
  ptx.split(lines, '\n');
  refusal.said.split(remarks, '\n');
  const std::vector<InlineAsmRange> blocks = inlineAsmRangesIn(lines, kMarks);
  for (const llvm::StringRef remark : remarks) {
    const auto error = errorOf(remark);
    const InlineAsmRange *block = error ? blockOf(*error, blocks, lines) : nullptr;
    if (block == nullptr || !block->where.known()) continue;
    const unsigned line = error->line < block->end ? error->line : block->end - 1;
    return lower::badAssembly(block->where, refusal.assembler,
                              {.words = error->text, .instruction = lines[line - 1].trim()});
  }
  return fail(Diag::CodeRefused, {}, refusal.assembler, refusal.machine.name, refusal.said.str());
}

} // namespace imbrex::target::nvptx

#include "backend/target/nvptx/refusal.h"

#include "backend/lower/inline_assembly.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <vector>

namespace imbrex::target::nvptx {
namespace {

/// Instructions of the author's: the lines of the PTX between those that mark them.
struct Block {
  unsigned begin, end; // from 1, of the marks
  Location where;
};

/// The names by the numbers that `.loc` has for them: `.file 1 "/where/kernel.cpp"`.
llvm::StringMap<std::string_view> filesOf(llvm::ArrayRef<llvm::StringRef> lines) {
  llvm::StringMap<std::string_view> files;
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (!line.consume_front(".file")) continue;
    const auto [number, name] = line.trim().split('"');
    files[number.trim()] = internFileName(name.take_until([](char c) { return c == '"'; }));
  }
  return files;
}

std::vector<Block> blocksOf(llvm::ArrayRef<llvm::StringRef> lines) {
  const llvm::StringMap<std::string_view> files = filesOf(lines);
  std::vector<Block> blocks;
  Location where;
  for (unsigned number = 1; number <= lines.size(); ++number) {
    llvm::StringRef line = lines[number - 1].trim();
    if (line.consume_front(".loc")) {
      llvm::SmallVector<llvm::StringRef, 4> words;
      line.split(words, ' ', -1, /*KeepEmpty=*/false);
      if (words.size() < 2 || words[1].getAsInteger(10, where.line)) continue;
      where.file = files.lookup(words[0].trim());
    }
    if (line == "// begin inline asm")
      blocks.push_back({number, static_cast<unsigned>(lines.size()) + 1, where});
    if (line == "// end inline asm" && !blocks.empty()) blocks.back().end = number;
  }
  return blocks;
}

/// Whether the last instruction of a block, or a brace, goes on behind it.
bool isOpen(const Block &block, llvm::ArrayRef<llvm::StringRef> lines) {
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
const Block *blockOf(const Remark &error, llvm::ArrayRef<Block> blocks,
                     llvm::ArrayRef<llvm::StringRef> lines) {
  const Block *around = nullptr, *open = nullptr;
  for (const Block &block : blocks) {
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
  const std::vector<Block> blocks = blocksOf(lines);
  for (const llvm::StringRef remark : remarks) {
    const auto error = errorOf(remark);
    const Block *block = error ? blockOf(*error, blocks, lines) : nullptr;
    if (block == nullptr || !block->where.known()) continue;
    const unsigned line = error->line < block->end ? error->line : block->end - 1;
    return lower::badAssembly(block->where, refusal.assembler,
                              {.words = error->text, .instruction = lines[line - 1].trim()});
  }
  return fail(Diag::CodeRefused, {}, refusal.assembler, refusal.machine.name, refusal.said.str());
}

} // namespace imbrex::target::nvptx

#include "backend/target/nvptx/ptx_rings.h"

#include "backend/support/check.h"

namespace imbrex::target::nvptx {
namespace {

std::optional<RingEvent> eventOf(llvm::StringRef opcode, llvm::StringRef operands) {
  if (opcode.starts_with("bar.sync") || opcode.starts_with("barrier.sync") ||
      opcode.starts_with("barrier.cta.sync"))
    return RingEvent{RingEventKind::Meet};
  if (!opcode.consume_front("cp.async.")) return std::nullopt;
  if (opcode.starts_with("ca.") || opcode.starts_with("cg.")) return RingEvent{RingEventKind::Copy};
  if (opcode == "commit_group") return RingEvent{RingEventKind::Commit};
  if (opcode == "wait_all") return RingEvent{RingEventKind::Wait, 0};
  std::int32_t left = 0;
  const bool isWait = opcode == "wait_group" && !operands.getAsInteger(10, left);
  return isWait ? std::optional(RingEvent{RingEventKind::Wait, left}) : std::nullopt;
}

/// `@!%p1 bra $L__BB0_2`, without the semicolon.
CodeLine readPtx(llvm::StringRef line) {
  if (!line.consume_back(";") || line.starts_with(".")) return {};
  CodeLine read;
  llvm::StringRef predicate;
  if (line.consume_front("@")) {
    std::tie(predicate, line) = line.split(' ');
    read.isNegated = predicate.consume_front("!");
    line = line.trim();
  }
  const std::size_t end = line.find_first_of(" \t");
  const llvm::StringRef opcode = line.take_front(end);
  const llvm::StringRef operands = line.drop_front(opcode.size()).trim();
  IMBREX_CHECK(!opcode.starts_with("brx"), "a jump by a table is not read: {0}", line);
  read.event = eventOf(opcode, operands);
  if (opcode == "bra" || opcode == "bra.uni") {
    read.target = operands.str();
    read.predicate = predicate.str();
  }
  read.ends = predicate.empty() && (opcode == "ret" || opcode == "exit");
  if (operands.starts_with("%p"))
    read.sets = operands.take_until([](char c) { return c == ',' || c == '|'; }).str();
  return read;
}

} // namespace

CodeGraph ringsOfPtx(llvm::StringRef ptx) {
  // In front of the body stand declarations, which may have braces and labels of their own.
  return codeGraph(ptx.drop_front(std::min(ptx.find("\n{"), ptx.size())), "//", readPtx);
}

} // namespace imbrex::target::nvptx

#include "backend/target/nvptx/ptx_values.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::target::nvptx {
namespace {

/// What both are.
PtxValue common(const PtxValue &a, const PtxValue &b) {
  if (a == b) return a;
  if (a.array.empty() || a.array != b.array) return {};
  const bool isOneBase = a.bytes == b.bytes;
  return {.array = a.array, .bytes = isOneBase ? a.bytes : std::nullopt, .isIndexed = true};
}

PtxValue sum(const PtxValue &a, const PtxValue &b) {
  if (!b.array.empty()) return a.array.empty() ? sum(b, a) : PtxValue{};
  if (a.array.empty() && !(a.bytes && b.bytes)) return {};
  PtxValue sum = a;
  if (!b.bytes) sum.isIndexed = true;
  if (a.bytes && b.bytes) sum.bytes = *a.bytes + *b.bytes;
  return sum;
}

bool isRegister(llvm::StringRef operand) { return operand.starts_with("%"); }

PtxValue constant(llvm::StringRef text) {
  std::int64_t number = 0;
  if (!text.getAsInteger(10, number)) return {.array = {}, .bytes = number};
  if (text.empty() || llvm::isDigit(text.front()) || text.front() == '-') return {};
  return {.array = text.str(), .bytes = 0};
}

} // namespace

PtxValues::PtxValues(llvm::StringRef ptx) {
  llvm::SmallVector<llvm::StringRef> lines;
  ptx.split(lines, '\n');
  for (bool changes = true; changes;) {
    changes = false;
    here_.clear();
    for (const llvm::StringRef whole : lines) {
      const llvm::StringRef text = whole.split("//").first.trim();
      if (const auto assignment = assignmentOf(text)) changes |= join(*assignment);
      line(text);
    }
  }
  here_.clear();
}

void PtxValues::line(llvm::StringRef line) {
  if (line.ends_with(":")) here_.clear();
  if (const auto assignment = assignmentOf(line)) here_[assignment->to] = assignment->value;
}

PtxValue PtxValues::valueOf(llvm::StringRef operand) const {
  const auto [base, behind] = operand.trim().split('+');
  if (!behind.empty()) return sum(valueOf(base), constant(behind));
  if (!isRegister(base)) return constant(base);
  if (const auto found = here_.find(base); found != here_.end()) return found->second;
  const auto found = anywhere_.find(base);
  return found == anywhere_.end() ? PtxValue{} : found->second;
}

std::optional<PtxValues::Assignment> PtxValues::assignmentOf(llvm::StringRef line) const {
  if (!line.consume_back(";") || line.starts_with(".") || line.starts_with("@"))
    return std::nullopt;
  const llvm::StringRef opcode = line.take_until([](char c) { return c == ' ' || c == '\t'; });
  llvm::SmallVector<llvm::StringRef, 4> operands;
  line.drop_front(opcode.size()).split(operands, ',');
  for (llvm::StringRef &operand : operands) operand = operand.trim();
  if (!isRegister(operands.front())) return std::nullopt;
  const auto is = [&](llvm::StringRef name) { return opcode.starts_with(name); };
  Assignment assignment{.to = operands.front(), .value = {}};
  if (operands.size() == 2 && (is("mov.") || is("cvta.") || is("cvt.")))
    assignment.value = valueOf(operands[1]);
  if (operands.size() == 3 && is("add."))
    assignment.value = sum(valueOf(operands[1]), valueOf(operands[2]));
  if (operands.size() == 4 && is("selp."))
    assignment.value = common(valueOf(operands[1]), valueOf(operands[2]));
  const bool mayRound = is("cvt.") && assignment.value.array.empty();
  if (mayRound) assignment.value = {};
  return assignment;
}

bool PtxValues::join(const Assignment &assignment) {
  const auto [found, isNew] = anywhere_.try_emplace(assignment.to, assignment.value);
  if (isNew) return true;
  const PtxValue both = common(found->second, assignment.value);
  if (both == found->second) return false;
  found->second = both;
  return true;
}

} // namespace imbrex::target::nvptx

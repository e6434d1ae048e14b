#include "backend/target/nvptx/ptx_values.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"

#include <utility>
#include <vector>

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
  std::vector<Setting> settings;
  for (const llvm::StringRef line : linesOf(ptx, "//"))
    if (auto setting = settingIn(line)) settings.push_back(*std::move(setting));
  for (bool changes = true; changes;) {
    changes = false;
    here_.clear();
    for (const Setting &setting : settings) {
      PtxValue value = valueOf(setting);
      if (!setting.to.empty()) changes |= join(setting.to, value);
      put(setting.to, std::move(value));
    }
  }
  here_.clear();
}

void PtxValues::line(llvm::StringRef line) {
  if (const auto setting = settingIn(line)) put(setting->to, valueOf(*setting));
}

void PtxValues::put(llvm::StringRef to, PtxValue value) {
  if (to.empty())
    here_.clear();
  else
    here_[to] = std::move(value);
}

PtxValue PtxValues::valueOf(llvm::StringRef operand) const {
  const auto [base, behind] = operand.trim().split('+');
  if (!behind.empty()) return sum(valueOf(base), constant(behind));
  if (!isRegister(base)) return constant(base);
  if (const auto found = here_.find(base); found != here_.end()) return found->second;
  const auto found = anywhere_.find(base);
  return found == anywhere_.end() ? PtxValue{} : found->second;
}

std::optional<PtxValues::Setting> PtxValues::settingIn(llvm::StringRef line) {
  if (line.ends_with(":")) return Setting{};
  if (!line.consume_back(";") || line.empty() || !llvm::isAlpha(line.front())) return std::nullopt;
  const PtxInstruction instruction(line);
  if (!isRegister(instruction.operands)) return std::nullopt;
  const auto operands = operandsIn(instruction.operands);
  return Setting{.to = operands.front(),
                 .opcode = instruction.opcode,
                 .from = llvm::to_vector<4>(llvm::drop_begin(operands))};
}

PtxValue PtxValues::valueOf(const Setting &setting) const {
  const auto is = [&](llvm::StringRef name) { return setting.opcode.starts_with(name); };
  const auto &from = setting.from;
  PtxValue value;
  if (from.size() == 1 && (is("mov.") || is("cvta.") || is("cvt."))) value = valueOf(from[0]);
  if (from.size() == 2 && is("add.")) value = sum(valueOf(from[0]), valueOf(from[1]));
  if (from.size() == 3 && is("selp.")) value = common(valueOf(from[0]), valueOf(from[1]));
  const bool mayRound = is("cvt.") && value.array.empty();
  return mayRound ? PtxValue{} : value;
}

bool PtxValues::join(llvm::StringRef to, const PtxValue &value) {
  const auto [found, isNew] = anywhere_.try_emplace(to, value);
  if (isNew) return true;
  PtxValue both = common(found->second, value);
  if (both == found->second) return false;
  found->second = std::move(both);
  return true;
}

} // namespace imbrex::target::nvptx

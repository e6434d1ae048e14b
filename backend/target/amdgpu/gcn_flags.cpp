#include "backend/target/amdgpu/gcn_flags.h"

#include "backend/target/codegen/assembly_text.h"

#include <algorithm>
#include <set>

namespace imbrex::target::amdgpu {
namespace {

/// `s[4:7]`, `s4`: the first register and how many there are.
std::optional<std::pair<unsigned, unsigned>> scalars(llvm::StringRef operand) {
  if (!operand.consume_front("s")) return std::nullopt;
  unsigned first = 0, last = 0;
  if (operand.consume_front("[")) {
    const auto [low, high] = operand.drop_back().split(':');
    if (low.getAsInteger(10, first) || high.getAsInteger(10, last)) return std::nullopt;
    return std::pair{first, last - first + 1};
  }
  if (operand.getAsInteger(10, first)) return std::nullopt;
  return std::pair{first, 1U};
}

std::string pairAt(unsigned first) {
  return "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
}

bool isFlag(llvm::StringRef operand) {
  const auto registers = scalars(operand);
  return registers && registers->second == 2;
}

/// Scalar instructions write their first operand, vector ones, as far as scalars go, one of the
/// first two.
llvm::ArrayRef<llvm::StringRef> mayWrite(llvm::StringRef opcode,
                                         llvm::ArrayRef<llvm::StringRef> operands) {
  return operands.take_front(opcode.starts_with("v_") ? 2 : 1);
}

} // namespace

std::optional<Flags::Flag> Flags::flagIn(llvm::StringRef operand) const {
  if (const auto known = same_.find(operand); known != same_.end()) return known->second;
  const bool isOld = isFlag(operand) && !changed_.contains(operand);
  return isOld ? std::optional(Flag{operand.str()}) : std::nullopt;
}

std::optional<Flags::Flag> Flags::made(llvm::StringRef opcode,
                                       llvm::ArrayRef<llvm::StringRef> operands) const {
  const auto opposite = [](std::optional<Flag> flag) {
    if (flag) flag->isOpposite = !flag->isOpposite;
    return flag;
  };
  if (operands.size() == 2 && opcode == "s_mov_b64") return flagIn(operands[1]);
  if (operands.size() != 3) return std::nullopt;
  if (opcode == "s_xor_b64" && operands[2] == "-1") return opposite(flagIn(operands[1]));
  if (opcode == "s_and_b64" && operands[1] == "exec") return flagIn(operands[2]);
  if (opcode == "s_and_b64" && operands[2] == "exec") return flagIn(operands[1]);
  if (opcode == "s_andn2_b64" && operands[1] == "exec") return opposite(flagIn(operands[2]));
  return std::nullopt;
}

void Flags::set(llvm::StringRef name, CodeLine &read) {
  read.sets.push_back(name.str());
  same_.erase(name);
  changed_.insert(name);
}

void Flags::read(llvm::StringRef opcode, llvm::StringRef text, CodeLine &read) {
  if (opcode == "s_cbranch_vccnz" || opcode == "s_cbranch_vccz") {
    if (const auto flag = flagIn("vcc")) {
      // Once the other one has been set anew, what it was is in vcc alone.
      const bool isThere = !changed_.contains(flag->of);
      read.predicate = isThere ? flag->of : "vcc";
      read.isNegated = (isThere && flag->isOpposite) != (opcode == "s_cbranch_vccz");
    }
  }
  if (opcode.starts_with("s_cbranch") || opcode == "s_branch") return begin();
  const auto operands = operandsIn(text);
  const auto flag = made(opcode, operands);
  for (const llvm::StringRef operand : mayWrite(opcode, operands)) {
    if (operand.starts_with("vcc")) set("vcc", read);
    if (const auto registers = scalars(operand))
      for (unsigned i = 0; i <= registers->second; ++i)
        if (registers->first + i > 0) set(pairAt(registers->first + i - 1), read);
  }
  const llvm::StringRef written = operands.front();
  if (!isFlag(written) && written != "vcc") return;
  const bool isAll = operands.back() == "-1";
  if (opcode == "s_mov_b64" && (isAll || operands.back() == "0"))
    read.makes[written.str()] = {.isTrue = isAll};
  if (!flag) return;
  same_[written] = *flag;
  read.makes[written.str()] = {.of = flag->of, .isTrue = !flag->isOpposite};
}

void keepFlags(CodeGraph &graph) {
  std::set<std::string> kept;
  for (bool grows = true; grows;) {
    grows = false;
    for (const CodeBlock &block : graph)
      for (const auto &[name, made] : block.makes)
        if (made.of.empty() || kept.contains(made.of)) grows |= kept.insert(name).second;
  }
  for (CodeBlock &block : graph) {
    std::erase_if(block.sets, [&](const std::string &set) { return !kept.contains(set); });
    std::erase_if(block.makes, [&](const auto &made) {
      return !made.second.of.empty() && !kept.contains(made.second.of);
    });
    for (CodeBlock::Edge &edge : block.next)
      if (!kept.contains(edge.predicate)) edge.predicate.clear();
  }
}

} // namespace imbrex::target::amdgpu

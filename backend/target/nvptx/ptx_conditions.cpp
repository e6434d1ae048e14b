#include "backend/target/nvptx/ptx_conditions.h"

#include "backend/target/nvptx/ptx_instruction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <map>
#include <set>

namespace imbrex::target::nvptx {
namespace {

using Registers = std::set<std::string>;

/// A condition, or its opposite.
struct Condition {
  std::string name;
  bool isNegated = false;
};

/// Whether the same operands give the same result, whenever and wherever.
bool isPure(const Instruction &instruction) {
  constexpr std::array kPure = {"and.", "or.",   "xor.", "not.",  "shl.",     "shr.", "add.",
                                "sub.", "mul.",  "mad.", "min.",  "max.",     "cvt.", "cvta.",
                                "mov.", "selp.", "bfe.", "setp.", "ld.param."};
  constexpr std::array kFixed = {"%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid"};
  const auto startsAs = [](llvm::StringRef text, const auto &starts) {
    return llvm::any_of(starts, [&](const char *start) { return text.starts_with(start); });
  };
  if (!startsAs(instruction.opcode, kPure)) return false;
  const llvm::StringRef source = instruction.operands.split(',').second.trim();
  // `%r12` and `%rd3` are the code's own; the machine's have longer names.
  const bool isSpecial =
      source.starts_with("%") && source.drop_front().take_while(llvm::isAlpha).size() > 2;
  return !isSpecial || startsAs(source, kFixed);
}

class Conditions {
public:
  explicit Conditions(llvm::StringRef ptx) {
    while (!ptx.empty()) {
      llvm::StringRef line;
      std::tie(line, ptx) = ptx.split('\n');
      line = line.split("//").first.trim();
      if (!line.consume_back(";") || line.starts_with(".")) continue;
      const Instruction instruction(line);
      const auto registers = instruction.registersSet();
      // What is set under a condition, or together with others, stands for itself.
      const bool isOne = registers.size() == 1 && instruction.predicate.empty();
      for (const llvm::StringRef set : registers) {
        const bool isFirst = definitions_.try_emplace(set, instruction).second;
        if (!isFirst || !isOne || !isPure(instruction)) opaque_.insert(set.str());
      }
    }
  }

  /// And the registers on which it depends.
  Condition of(llvm::StringRef predicate, Registers &registers) const {
    const Instruction *made = definitionOf(predicate);
    if (made && made->opcode == "not.pred") {
      Condition condition = of(made->lastOperand(), registers);
      condition.isNegated = !condition.isNegated;
      return condition;
    }
    llvm::SmallVector<llvm::StringRef, 4> parts, operands;
    if (made) made->opcode.split(parts, '.');
    if (made) made->operands.split(operands, ',');
    const bool isComparison = parts.size() == 3 && parts[0] == "setp" && operands.size() == 3 &&
                              !parts[2].starts_with("f") && !parts[2].starts_with("bf");
    if (!isComparison) return {.name = text(predicate, registers)};
    return comparison(parts[1], parts[2], operands[1].trim(), operands[2].trim(), registers);
  }

private:
  const Instruction *definitionOf(llvm::StringRef name) const {
    const auto found = definitions_.find(name);
    const bool isKnown = found != definitions_.end() && !opaque_.contains(name.str());
    return isKnown ? &found->second : nullptr;
  }

  /// By "equal" and "less" alone.
  Condition comparison(llvm::StringRef how, llvm::StringRef type, llvm::StringRef a,
                       llvm::StringRef b, Registers &registers) const {
    std::string left = text(a, registers), right = text(b, registers);
    const auto named = [&](llvm::StringRef relation, bool isNegated) {
      return Condition{.name = (relation + "." + type + "(" + left + "," + right + ")").str(),
                       .isNegated = isNegated};
    };
    if (how == "eq" || how == "ne") return named("eq", how == "ne");
    if (how == "lt" || how == "ge") return named("lt", how == "ge");
    if (how != "gt" && how != "le") return named(how, false);
    std::int64_t number = 0;
    constexpr std::int64_t kSmall = std::int64_t{1} << 30; // one more is so in all types
    const bool isNumber = !b.getAsInteger(10, number) && number >= 0 && number < kSmall;
    if (isNumber && !type.ends_with("8") && !type.ends_with("16")) {
      right = std::to_string(number + 1);
      return named("lt", how == "gt");
    }
    std::swap(left, right);
    return named("lt", how == "le");
  }

  /// What an operand is computed from; a register itself where nobody knows, or at some depth.
  std::string text(llvm::StringRef operand, Registers &registers, int depth = 0) const {
    constexpr int kDeep = 8;
    const Instruction *made = definitionOf(operand);
    if (!made || depth == kDeep) {
      if (operand.starts_with("%")) registers.insert(operand.str());
      return operand.str();
    }
    std::string text = made->opcode.str() + "(";
    llvm::SmallVector<llvm::StringRef, 4> operands;
    made->operands.split(operands, ',');
    for (const llvm::StringRef of : llvm::drop_begin(operands))
      text += this->text(of.trim(), registers, depth + 1) + ",";
    return text + ")";
  }

  llvm::StringMap<Instruction> definitions_;
  std::set<std::string> opaque_;
};

} // namespace

void nameConditions(CodeGraph &graph, llvm::StringRef ptx) {
  const Conditions conditions(ptx);
  std::map<std::string, std::set<std::string>> dependOn; // by register
  for (CodeBlock &block : graph)
    for (CodeBlock::Edge &edge : block.next) {
      if (edge.predicate.empty()) continue;
      Registers registers;
      const Condition condition = conditions.of(edge.predicate, registers);
      for (const std::string &one : registers) dependOn[one].insert(condition.name);
      edge.predicate = condition.name;
      edge.holds ^= condition.isNegated;
    }
  for (CodeBlock &block : graph) {
    std::set<std::string> changed;
    for (const std::string &set : block.sets)
      if (const auto found = dependOn.find(set); found != dependOn.end())
        changed.insert(found->second.begin(), found->second.end());
    block.sets.assign(changed.begin(), changed.end());
  }
}

} // namespace imbrex::target::nvptx

#include "backend/target/nvptx/ptx_conditions.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace imbrex::target::nvptx {
namespace {

/// At one place of the code.
struct ProgramPoint {
  /// Whether a register no longer is what its sources would make of it, as one of them has been set
  /// since.
  llvm::function_ref<bool(llvm::StringRef)> isOutdated;
  std::set<std::string> leaves = {}; ///< The registers that were asked for what they hold there.
};

/// A condition, or its opposite.
struct PtxPredicate {
  std::string name;
  bool isNegated = false;
};

/// Whether the same operands give the same result, whenever and wherever.
bool isPure(const PtxInstruction &instruction) {
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

/// `{%r1`, `!%p2`: the register, or nothing.
llvm::StringRef registerIn(llvm::StringRef operand) {
  return operand.drop_until([](char c) { return c == '%'; }).take_while([](char c) {
    return llvm::isAlnum(c) || c == '%' || c == '.' || c == '_';
  });
}

llvm::SmallVector<llvm::StringRef, 4> sourcesOf(const PtxInstruction &instruction) {
  return llvm::to_vector<4>(llvm::drop_begin(operandsIn(instruction.operands)));
}

class Conditions {
public:
  explicit Conditions(llvm::StringRef ptx) {
    for (llvm::StringRef line : linesOf(ptx, "//")) {
      // The last line of an instruction of several begins with registers that it reads.
      if (!line.consume_back(";") || line.starts_with(".") || line.starts_with("{")) continue;
      const PtxInstruction instruction(line);
      const auto registers = instruction.registersSet();
      // What is set under a condition, or together with others, stands for itself.
      const bool isOne = registers.size() == 1 && instruction.predicate.empty();
      for (const llvm::StringRef set : registers) {
        const auto [found, isFirst] = definitions_.try_emplace(set, Definition{instruction});
        found->second.isOpaque |= !isFirst || !isOne;
      }
    }
  }

  PtxPredicate of(llvm::StringRef predicate, ProgramPoint &place) const {
    const PtxInstruction *made = definitionAt(place, predicate);
    if (made && made->opcode == "not.pred") {
      PtxPredicate condition = of(made->lastOperand(), place);
      condition.isNegated = !condition.isNegated;
      return condition;
    }
    const Words parts = made ? made->words() : Words();
    const auto sources = made ? sourcesOf(*made) : llvm::SmallVector<llvm::StringRef, 4>();
    const bool isComparison = parts.size() == 3 && parts[0] == "setp" && sources.size() == 2 &&
                              !parts[2].starts_with("f") && !parts[2].starts_with("bf");
    if (!isComparison) return {.name = text(predicate, place)};
    return comparison(parts[1], parts[2], sources[0], sources[1], place);
  }

  /// What sets a register, of which all is told by that one line; nothing where more is needed.
  const PtxInstruction *definitionOf(llvm::StringRef name) const {
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || found->second.isOpaque) return nullptr;
    return isPure(found->second.by) ? &found->second.by : nullptr;
  }

private:
  const PtxInstruction *definitionAt(const ProgramPoint &place, llvm::StringRef name) const {
    const PtxInstruction *definition = definitionOf(name);
    return definition && !place.isOutdated(name) ? definition : nullptr;
  }

  /// By "equal" and "less" alone.
  PtxPredicate comparison(llvm::StringRef how, llvm::StringRef type, llvm::StringRef a,
                          llvm::StringRef b, ProgramPoint &place) const {
    std::string left = text(a, place), right = text(b, place);
    const auto named = [&](llvm::StringRef relation, bool isNegated) {
      return PtxPredicate{.name = (relation + "." + type + "(" + left + "," + right + ")").str(),
                          .isNegated = isNegated};
    };
    if (how == "eq" || how == "ne") return named("eq", how == "ne");
    if (how == "lt" || how == "ge") return named("lt", how == "ge");
    if (how != "gt" && how != "le") return named(how, false);
    std::int64_t number = 0;
    // One more is a number of the type as well, with a sign and without; -1 is the last of these.
    const std::int64_t many = std::int64_t{1} << (type.ends_with("16") ? 14 : 30);
    const bool isNumber =
        !b.getAsInteger(10, number) && -many < number && number < many && number != -1;
    if (isNumber) {
      right = std::to_string(number + 1);
      return named("lt", how == "gt");
    }
    std::swap(left, right);
    return named("lt", how == "le");
  }

  /// The low byte of a word, with its sign, is made in one step or by way of 16 bits: for the
  /// second of two steps the first, whose source is the word (PTX ISA, "cvt": to fewer bits is to
  /// the low ones, and a register that is wider than the result gets its sign).
  const PtxInstruction *wholeOfByte(const PtxInstruction &made, const ProgramPoint &place) const {
    if (made.opcode != "cvt.s16.s8") return nullptr;
    const PtxInstruction *half = definitionAt(place, registerIn(made.lastOperand()));
    return half && half->opcode == "cvt.u16.u32" ? half : nullptr;
  }

  /// What an operand is computed from; a register itself where nobody knows, or at some depth.
  std::string text(llvm::StringRef operand, ProgramPoint &place, int depth = 0) const {
    constexpr int kDeep = 8;
    const llvm::StringRef name = registerIn(operand);
    const PtxInstruction *made = definitionAt(place, name);
    if (!made || depth == kDeep) {
      if (!name.empty()) place.leaves.insert(name.str());
      return operand.str();
    }
    llvm::StringRef opcode = made->opcode;
    if (const PtxInstruction *whole = wholeOfByte(*made, place)) {
      made = whole;
      opcode = "cvt.s8.s32";
    }
    std::string text = (operand.take_until([](char c) { return c == '%'; }) + opcode + "(").str();
    for (const llvm::StringRef source : sourcesOf(*made))
      text += this->text(source, place, depth + 1) + ",";
    return text + ")";
  }

  struct Definition {
    PtxInstruction by; ///< The first that sets the register.
    bool isOpaque = false;
  };
  llvm::StringMap<Definition> definitions_;
};

/// Which registers may be computed from what their nearest sources held before these were set
/// again, once a block is over.
///
///   sub.s32     %r2, %r8, %r1;
///   setp.lt.s32 %p1, %r2, 9;     // says something about %r2, which does so about %r1
///   add.s32     %r1, %r1, 1;     // and now about what it was: %p1 is still one about %r2
class StaleRegisters {
public:
  StaleRegisters(const CodeGraph &graph, const Conditions &conditions) {
    for (const CodeBlock &block : graph)
      for (const CodeBlock::Edge &edge : block.next) follow(edge.predicate, conditions);
    for (const CodeBlock &block : graph) blocks_.push_back(changesOf(block));
    settle(graph);
  }

  bool isBehind(std::size_t block, llvm::StringRef name) const {
    const auto number = numbers_.find(name);
    return number != numbers_.end() && blocks_[block].after.test(number->second);
  }

private:
  /// Of the registers by number: what a block sets, and what is outdated by what it sets, and not
  /// set again behind that.
  struct Changes {
    llvm::BitVector sets, outdates, after;
  };

  unsigned numberOf(llvm::StringRef name) {
    const auto [found, isNew] = numbers_.try_emplace(name, users_.size());
    if (isNew) users_.emplace_back();
    return found->second;
  }

  /// From a register to all that it is computed from.
  void follow(llvm::StringRef from, const Conditions &conditions) {
    llvm::SmallVector<llvm::StringRef> open{from};
    while (!open.empty()) {
      const llvm::StringRef name = open.pop_back_val();
      const PtxInstruction *made = conditions.definitionOf(name);
      if (!followed_.insert(name).second || !made) continue;
      const unsigned user = numberOf(name);
      for (const llvm::StringRef operand : sourcesOf(*made)) {
        const llvm::StringRef source = registerIn(operand);
        if (source.empty()) continue;
        users_[numberOf(source)].push_back(user);
        open.push_back(source);
      }
    }
  }

  Changes changesOf(const CodeBlock &block) const {
    const auto size = static_cast<unsigned>(users_.size());
    Changes changes{llvm::BitVector(size), llvm::BitVector(size), llvm::BitVector(size)};
    for (const std::string &set : block.sets) {
      const auto number = numbers_.find(set);
      if (number == numbers_.end()) continue;
      changes.sets.set(number->second);
      changes.outdates.reset(number->second);
      for (const unsigned user : users_[number->second]) changes.outdates.set(user);
    }
    return changes;
  }

  /// Blocks mostly stand behind those that jump there: the first that is open comes next.
  void settle(const CodeGraph &graph) {
    std::vector<llvm::BitVector> before(graph.size(),
                                        llvm::BitVector(static_cast<unsigned>(users_.size())));
    std::set<std::size_t> open;
    for (std::size_t i = 0; i < graph.size(); ++i) open.insert(open.end(), i);
    while (!open.empty()) {
      const std::size_t index = *open.begin();
      open.erase(open.begin());
      Changes &block = blocks_[index];
      block.after = before[index];
      block.after.reset(block.sets);
      block.after |= block.outdates;
      for (const CodeBlock::Edge &edge : graph[index].next)
        if (block.after.test(before[edge.to])) {
          before[edge.to] |= block.after;
          open.insert(edge.to);
        }
    }
  }

  llvm::StringSet<> followed_;
  llvm::StringMap<unsigned> numbers_;
  std::vector<llvm::SmallVector<unsigned, 2>> users_; // the nearest, by number
  std::vector<Changes> blocks_;
};

} // namespace

void nameConditions(CodeGraph &graph, llvm::StringRef ptx) {
  const Conditions conditions(ptx);
  const StaleRegisters outdated(graph, conditions);
  std::map<std::string, std::set<std::string>> dependOn; // by register
  for (auto [index, block] : llvm::enumerate(graph))
    for (CodeBlock::Edge &edge : block.next) {
      if (edge.predicate.empty()) continue;
      const auto isOutdated = [&, at = index](llvm::StringRef name) {
        return outdated.isBehind(at, name);
      };
      ProgramPoint place{.isOutdated = isOutdated};
      const PtxPredicate condition = conditions.of(edge.predicate, place);
      for (const std::string &one : place.leaves) dependOn[one].insert(condition.name);
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

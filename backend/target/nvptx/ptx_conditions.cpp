#include "backend/target/nvptx/ptx_conditions.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <set>
#include <string>
#include <vector>

namespace imbrex::target::nvptx {
namespace {

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
  const llvm::StringRef source = trimmed(instruction.operands.split(',').second);
  // `%r12` and `%rd3` are the code's own; the machine's have longer names.
  const bool isSpecial =
      source.starts_with("%") && source.drop_front().take_while(llvm::isAlpha).size() > 2;
  return !isSpecial || startsAs(source, kFixed);
}

/// `{%r1`, `!%p2`: the register, or nothing.
llvm::StringRef registerIn(llvm::StringRef operand) {
  return operand.drop_front(std::min(operand.find('%'), operand.size())).take_while([](char c) {
    return llvm::isAlnum(c) || c == '%' || c == '.' || c == '_';
  });
}

llvm::SmallVector<llvm::StringRef, 4> sourcesOf(const PtxInstruction &instruction) {
  return llvm::to_vector<4>(llvm::drop_begin(operandsIn(instruction.operands)));
}

/// What sets the registers of a kernel.
class Definitions {
public:
  explicit Definitions(llvm::StringRef ptx) {
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

  /// What sets a register, of which all is told by that one line; nothing where more is needed.
  const PtxInstruction *of(llvm::StringRef name) const {
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || found->second.isOpaque) return nullptr;
    return isPure(found->second.by) ? &found->second.by : nullptr;
  }

private:
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
  StaleRegisters(const CodeGraph &graph, const Definitions &definitions) {
    for (const CodeBlock &block : graph)
      for (const CodeBlock::Edge &edge : block.next) follow(edge.predicate, definitions);
    for (const CodeBlock &block : graph) blocks_.push_back(changesOf(block));
    settle(graph);
    anywhere_.resize(static_cast<unsigned>(users_.size()));
    for (const Changes &block : blocks_) anywhere_ |= block.after;
  }

  bool isAnywhere(llvm::StringRef name) const {
    const auto number = numbers_.find(name);
    return number != numbers_.end() && anywhere_.test(number->second);
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
  void follow(llvm::StringRef from, const Definitions &definitions) {
    llvm::SmallVector<llvm::StringRef> open{from};
    while (!open.empty()) {
      const llvm::StringRef name = open.pop_back_val();
      const PtxInstruction *made = definitions.of(name);
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
  llvm::BitVector anywhere_; // behind some block
};

/// Numbers for what registers hold behind a block. Two of one number are computed alike, from
/// registers that stand for themselves.
class Expressions {
public:
  Expressions(const Definitions &definitions, const StaleRegisters &stale)
      : definitions_(definitions), stale_(stale) {}

  const PtxInstruction *definitionAt(llvm::StringRef name, std::size_t block) const {
    const PtxInstruction *definition = definitions_.of(name);
    return definition && !stale_.isBehind(block, name) ? definition : nullptr;
  }

  unsigned of(llvm::StringRef operand, std::size_t block) {
    const llvm::StringRef name = registerIn(operand);
    if (name.empty()) return number(operand.str());
    computeAll(name, block);
    return of(operand, name, find(name, block)->number);
  }

  /// The registers that stand for themselves in it.
  void addLeaves(unsigned expression, llvm::StringSet<> &leaves) const {
    llvm::SmallVector<unsigned> open{expression};
    llvm::BitVector seen(static_cast<unsigned>(expressions_.size()));
    while (!open.empty()) {
      const unsigned next = open.pop_back_val();
      if (seen.test(next)) continue;
      seen.set(next);
      if (!expressions_[next].leaf.empty()) leaves.insert(expressions_[next].leaf);
      open.append(expressions_[next].from);
    }
  }

private:
  static constexpr std::size_t kEverywhere = ~std::size_t{0};
  using Numbers = llvm::SmallVector<unsigned, 4>;
  struct Expression {
    llvm::StringRef leaf;
    Numbers from;
  };
  struct Known {
    unsigned number = 0;
    std::size_t block = kEverywhere; ///< Behind which it is that.
  };

  const Known *find(llvm::StringRef name, std::size_t block) const {
    const auto found = known_.find(name);
    const bool isKnown = found != known_.end() &&
                         (found->second.block == kEverywhere || found->second.block == block);
    return isKnown ? &found->second : nullptr;
  }

  unsigned number(llvm::StringRef text, Numbers from = {}) {
    const auto [found, isNew] =
        numbers_.try_emplace(text, static_cast<unsigned>(expressions_.size()));
    if (isNew) expressions_.push_back({.leaf = {}, .from = std::move(from)});
    return found->second;
  }

  unsigned leaf(llvm::StringRef name) {
    const unsigned found = number(name);
    expressions_[found].leaf = numbers_.find(name)->getKey();
    return found;
  }

  /// `!%p1` of `%p1`
  unsigned of(llvm::StringRef operand, llvm::StringRef name, unsigned held) {
    if (operand == name) return held;
    const auto [before, behind] = operand.split(name);
    return number((before + "#" + llvm::Twine(held) + behind).str(), {held});
  }

  /// Sources first, without a recursion as deep as the code is long.
  void computeAll(llvm::StringRef name, std::size_t block) {
    llvm::SmallVector<llvm::StringRef> open{name};
    llvm::StringSet<> begun;
    while (!open.empty()) {
      const llvm::StringRef next = open.back();
      const std::size_t behind = open.size();
      if (!find(next, block) && begun.insert(next).second)
        if (const PtxInstruction *made = definitionAt(next, block))
          for (const llvm::StringRef operand : sourcesOf(*made))
            if (const llvm::StringRef source = registerIn(operand); !source.empty())
              open.push_back(source);
      if (open.size() > behind) continue;
      if (!find(next, block)) known_[next] = compute(next, block);
      open.pop_back();
    }
  }

  /// The low byte of a word, with its sign, is made in one step or by way of 16 bits: for the
  /// second of two steps the first, whose source is the word (PTX ISA, "cvt": to fewer bits is to
  /// the low ones, and a register that is wider than the result gets its sign).
  const PtxInstruction *wholeOfByte(const PtxInstruction &made, std::size_t block) const {
    if (made.opcode != "cvt.s16.s8") return nullptr;
    const PtxInstruction *half = definitionAt(registerIn(made.lastOperand()), block);
    return half && half->opcode == "cvt.u16.u32" ? half : nullptr;
  }

  Known compute(llvm::StringRef name, std::size_t block) {
    const bool isFixed = !stale_.isAnywhere(name);
    Known known{.block = isFixed ? kEverywhere : block};
    const PtxInstruction *made = definitionAt(name, block);
    if (!made) {
      known.number = leaf(name);
      return known;
    }
    const PtxInstruction *whole = wholeOfByte(*made, block);
    if (whole) known.block = block;
    std::string text = whole ? "cvt.s8.s32" : made->opcode.str();
    Numbers from;
    for (const llvm::StringRef operand : sourcesOf(whole ? *whole : *made)) {
      const llvm::StringRef source = registerIn(operand);
      const Known *held = find(source, block);
      if (held && held->block != kEverywhere) known.block = block;
      // One that is computed from the register itself, in a loop, stands for itself.
      const unsigned value = source.empty() ? number(operand)
                             : held         ? of(operand, source, held->number)
                                            : leaf(source);
      from.push_back(value);
      text += ",#" + std::to_string(value);
    }
    known.number = number(text, std::move(from));
    return known;
  }

  const Definitions &definitions_;
  const StaleRegisters &stale_;
  llvm::StringMap<Known> known_; // by register
  llvm::StringMap<unsigned> numbers_;
  std::vector<Expression> expressions_; // by number
};

/// A condition, or its opposite.
struct PtxPredicate {
  std::string name;
  llvm::SmallVector<unsigned, 2> from; ///< The expressions that decide it.
  bool isNegated = false;
};

/// By "equal" and "less" alone.
PtxPredicate comparison(llvm::StringRef how, llvm::StringRef type, llvm::StringRef a,
                        llvm::StringRef b, std::size_t block, Expressions &expressions) {
  const auto named = [&](llvm::StringRef relation, llvm::StringRef left, llvm::StringRef right,
                         bool isNegated) {
    const unsigned of[] = {expressions.of(left, block), expressions.of(right, block)};
    return PtxPredicate{.name =
                            llvm::formatv("{0}.{1}(#{2},#{3})", relation, type, of[0], of[1]).str(),
                        .from = {of[0], of[1]},
                        .isNegated = isNegated};
  };
  if (how == "eq" || how == "ne") return named("eq", a, b, how == "ne");
  if (how == "lt" || how == "ge") return named("lt", a, b, how == "ge");
  if (how != "gt" && how != "le") return named(how, a, b, false);
  std::int64_t number = 0;
  // One more is a number of the type as well, with a sign and without; -1 is the last of these.
  const std::int64_t many = std::int64_t{1} << (type.ends_with("16") ? 14 : 30);
  const bool isNumber =
      !b.getAsInteger(10, number) && -many < number && number < many && number != -1;
  if (isNumber) return named("lt", a, std::to_string(number + 1), how == "gt");
  return named("lt", b, a, how == "le");
}

PtxPredicate conditionOf(llvm::StringRef predicate, std::size_t block, Expressions &expressions) {
  const PtxInstruction *made = expressions.definitionAt(predicate, block);
  if (made && made->opcode == "not.pred") {
    PtxPredicate condition = conditionOf(made->lastOperand(), block, expressions);
    condition.isNegated = !condition.isNegated;
    return condition;
  }
  const Words parts = made ? made->words() : Words();
  const auto sources = made ? sourcesOf(*made) : llvm::SmallVector<llvm::StringRef, 4>();
  const bool isComparison = parts.size() == 3 && parts[0] == "setp" && sources.size() == 2 &&
                            !parts[2].starts_with("f") && !parts[2].starts_with("bf");
  if (isComparison)
    return comparison(parts[1], parts[2], sources[0], sources[1], block, expressions);
  const unsigned held = expressions.of(predicate, block);
  return {.name = "#" + std::to_string(held), .from = {held}};
}

} // namespace

void nameConditions(CodeGraph &graph, llvm::StringRef ptx) {
  const Definitions definitions(ptx);
  const StaleRegisters stale(graph, definitions);
  Expressions expressions(definitions, stale);
  llvm::StringSet<> named;
  llvm::StringMap<std::set<std::string>> dependOn; // by register
  for (auto [index, block] : llvm::enumerate(graph))
    for (CodeBlock::Edge &edge : block.next) {
      if (edge.predicate.empty()) continue;
      const PtxPredicate condition = conditionOf(edge.predicate, index, expressions);
      edge.predicate = condition.name;
      edge.holds ^= condition.isNegated;
      if (!named.insert(condition.name).second) continue;
      llvm::StringSet<> leaves;
      for (const unsigned one : condition.from) expressions.addLeaves(one, leaves);
      for (const llvm::StringRef leaf : leaves.keys()) dependOn[leaf].insert(condition.name);
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

#include "backend/target/nvptx/ptx_mix.h"

#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_instruction.h"

namespace imbrex::target::nvptx {
namespace {

using Class = InstructionClass;

struct Opcode {
  llvm::StringRef name;
  Class kind;
};

// Those whose class does not depend on the type of their operands.
constexpr Opcode kOpcodes[] = {
    {"atom", Class::Atomic},        {"red", Class::Atomic},
    {"bar", Class::Barrier},        {"barrier", Class::Barrier},
    {"shfl", Class::Shuffle},       {"vote", Class::Shuffle},
    {"match", Class::Shuffle},      {"redux", Class::Shuffle},
    {"activemask", Class::Shuffle}, {"elect", Class::Shuffle},
    {"bra", Class::Branch},         {"brx", Class::Branch},
    {"ret", Class::Branch},         {"exit", Class::Branch},
    {"call", Class::Branch},        {"trap", Class::Branch},
    {"mov", Class::Move},           {"cvta", Class::Move},
    {"cvt", Class::Convert},        {"mma", Class::Matrix},
    {"wgmma", Class::Matrix},       {"tcgen05", Class::Matrix},
    {"fence", Class::Wait},         {"membar", Class::Wait},
    {"mbarrier", Class::Wait},      {"griddepcontrol", Class::Wait},
    {"prefetch", Class::Other},     {"nanosleep", Class::Other},
    {"pragma", Class::Other},
};

bool isFloat(llvm::StringRef type) {
  return (type.starts_with("f") || type.starts_with("bf")) && bitsOfType(type) != 0;
}

/// Of `ldmatrix` and `stmatrix`, what a thread gets or gives of `.x4` matrices; those of 16 x 16
/// bytes have two registers each.
std::int32_t bytesDealt(const Words &words) {
  constexpr std::int32_t kRegister = 4;
  std::int32_t matrices = 1, registers = 1;
  for (const llvm::StringRef word : words) {
    if (word.size() == 2 && word[0] == 'x') matrices = word[1] - '0';
    if (word == "m16n16") registers = 2;
  }
  return matrices * registers * kRegister;
}

Class classOfAccess(const Words &words, bool isLoad) {
  const auto in = [&](llvm::StringRef space) {
    return llvm::any_of(words, [&](llvm::StringRef word) { return word.starts_with(space); });
  };
  if (in("param") || in("const")) return isLoad ? Class::ConstantLoad : Class::StackStore;
  if (in("local")) return isLoad ? Class::StackLoad : Class::StackStore;
  if (in("shared")) return isLoad ? Class::SharedLoad : Class::SharedStore;
  return isLoad ? Class::GlobalLoad : Class::GlobalStore;
}

/// Of `cp.async` and its kin: they copy, but for those that end a group or wait for some.
Class classOfCopy(const Words &words) {
  return llvm::any_of(words,
                      [](llvm::StringRef word) {
                        return word == "commit_group" || word == "mbarrier" ||
                               word.starts_with("wait_");
                      })
             ? Class::Wait
             : Class::AsyncCopy;
}

/// Of `[%r1], [%rd1], 16`, which a thread copies, the 16; 0 of a bulk copy, which brings a box.
std::int32_t bytesCopied(llvm::StringRef operands) {
  const auto parts = operandsIn(operands);
  std::int32_t bytes = 0;
  return parts.size() < 3 || parts[2].getAsInteger(10, bytes) ? 0 : bytes;
}

void addInstruction(InstructionMix &mix, const PtxInstruction &instruction) {
  const Words words = instruction.words();
  if (words[0] == "ld" || words[0] == "ldu" || words[0] == "st") {
    mix.add(classOfAccess(words, words[0] != "st"), bitsMoved(words) / 8);
    return;
  }
  if (words[0] == "ldmatrix" || words[0] == "stmatrix") {
    mix.add(words[0] == "ldmatrix" ? Class::SharedLoad : Class::SharedStore, bytesDealt(words));
    return;
  }
  if (words[0] == "cp") {
    const Class kind = classOfCopy(words);
    mix.add(kind, kind == Class::AsyncCopy ? bytesCopied(instruction.operands) : 0);
    return;
  }
  const Opcode *known =
      llvm::find_if(kOpcodes, [&](const Opcode &row) { return row.name == words[0]; });
  if (known != std::end(kOpcodes))
    mix.add(known->kind);
  else
    mix.add(llvm::any_of(words, isFloat) ? Class::Float : Class::Integer);
}

/// An instruction begins with a letter, or with `@` and a predicate; the rest of a body is labels,
/// directives and comments. One with many operands ends some lines on.
bool isInstruction(llvm::StringRef line) {
  return line.ends_with(";") && !line.starts_with(".") && !line.starts_with("//");
}
bool isBeginning(llvm::StringRef line) {
  return !line.empty() && llvm::isAlpha(line.front()) && !line.ends_with(":");
}

} // namespace

InstructionMix mixOfPtx(llvm::StringRef ptx) {
  InstructionMix mix;
  bool isWithin = false; // an instruction that began on a line before
  for (llvm::StringRef line : linesOf(ptx, "//")) {
    const bool begins = !isWithin && (isInstruction(line) || isBeginning(line));
    isWithin = (isWithin || begins) && !line.ends_with(";");
    if (!begins) continue;
    if (line.starts_with("@")) line = line.split(' ').second.ltrim();
    if (line.starts_with("{")) line = line.drop_front().ltrim();
    line.consume_back(";");
    addInstruction(mix, PtxInstruction(line));
  }
  return mix;
}

} // namespace imbrex::target::nvptx

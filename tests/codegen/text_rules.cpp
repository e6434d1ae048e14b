#include "tests/codegen/text_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace imbrex::testing {
namespace {

using llvm::StringRef;
using Words = llvm::SmallVector<StringRef, 8>;

/// What a module has of what a rule would forbid.
struct Allowed {
  explicit Allowed(const llvm::Module &module) {
    for (const llvm::Function &function : module)
      for (const llvm::Instruction &instruction : llvm::instructions(function)) note(instruction);
  }

  bool approximations = false, sums = false, sumsWithZero = false, quotients = false;
  bool nearReciprocals = false; ///< That flush subnormals, of which they are given none.
  bool nearPowers = false;      ///< That flush subnormals, as fast ones may.

private:
  void note(const llvm::Instruction &instruction) {
    // A quotient, of integers as well, begins with an approximation that is then put right.
    quotients |= instruction.getOpcode() == llvm::Instruction::FDiv || instruction.isIntDivRem();
    // A product or a sum of bf16 is made of a fused one where there is no other instruction, and a
    // product that is rounded to 16 bits on AMD (target/amdgpu/signed_zeros.h).
    sums |= instruction.getType()->getScalarType()->isBFloatTy() ||
            llvm::isa<llvm::FPTruncInst>(instruction);
    const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr) return;
    const auto *function = call->getCalledFunction();
    const StringRef name = function != nullptr ? function->getName() : "";
    if (name.starts_with("llvm.fma")) {
      const auto *addend = llvm::dyn_cast<llvm::Constant>(call->getArgOperand(2));
      sums = true;
      sumsWithZero |= addend != nullptr && addend->isNullValue();
    }
    quotients |= name.starts_with("llvm.sqrt");
    nearReciprocals |= name.starts_with("llvm.nvvm.rcp.approx.ftz.");
    nearPowers |= name.starts_with("llvm.nvvm.ex2.approx.ftz.");
    for (const StringRef fast : {"approx", "amdgcn.exp2", "amdgcn.log", "amdgcn.sin", "amdgcn.cos",
                                 "amdgcn.rsq", "amdgcn.rcp", "amdgcn.tanh"})
      approximations |= name.contains(fast);
  }
};

bool has(const Words &words, StringRef word) { return llvm::is_contained(words, word); }

bool isFloat(const Words &words) {
  return llvm::any_of(words, [](StringRef word) {
    return word.starts_with("f16") || word.starts_with("bf16") || word == "f32" || word == "f64" ||
           word == "f32x2";
  });
}

constexpr StringRef kRounded[] = {"add", "sub", "mul", "fma", "div", "sqrt", "rcp"};
constexpr StringRef kAccesses[] = {"ld", "st", "atom", "red"};
constexpr StringRef kSpaces[] = {"global", "shared", "shared::cta", "param", "local", "const"};

std::string brokenByPtx(const Words &words, const Allowed &allowed) {
  const StringRef opcode = words.front();
  const bool mayFlush =
      (opcode == "rcp" && allowed.nearReciprocals) || (opcode == "ex2" && allowed.nearPowers);
  if (has(words, "ftz") && !mayFlush) return "subnormals are flushed";
  if (has(words, "volatile")) return "nothing is volatile";
  if ((has(words, "approx") || has(words, "full")) && !allowed.approximations)
    return "nobody asked for an approximation";
  if (opcode == "fma" && !allowed.sums) return "nobody asked for a fused sum";
  if (opcode == "mad" && isFloat(words)) return "a sum is fused or not, as the machine likes";
  const bool isRounded = isFloat(words) && llvm::is_contained(kRounded, opcode);
  if (isRounded && !has(words, "rn") && !has(words, "approx") && !has(words, "full"))
    return "without a rounding the assembler may fuse it";
  const bool isAccess = llvm::is_contained(kAccesses, opcode);
  if (isAccess && llvm::none_of(kSpaces, [&](StringRef space) { return has(words, space); }))
    return "the memory is not named";
  return {};
}

bool isInstruction(StringRef line) {
  return line.ends_with(";") && !line.starts_with(".") && !line.empty();
}

std::string brokenByGcn(StringRef opcode, StringRef operands, const Allowed &allowed) {
  const auto starts = [&](std::initializer_list<StringRef> names) {
    return llvm::any_of(names, [&](StringRef name) { return opcode.starts_with(name); });
  };
  if (starts({"v_mad_f", "v_mac_f", "v_madak", "v_madmk", "v_mad_mix"}) && !allowed.quotients)
    return "it flushes subnormals";
  if (starts({"v_exp_", "v_log_", "v_sin_", "v_cos_", "v_rsq_", "v_rcp_f", "v_tanh_"}) &&
      !allowed.approximations && !allowed.quotients)
    return "nobody asked for an approximation";
  const bool isMixed = opcode.starts_with("v_fma_mix");
  if (isMixed && operands.split(" op_sel").first.ends_with(", 0") && !allowed.sumsWithZero)
    return "of a product that is -0 it makes +0";
  const bool isFused = !isMixed && (starts({"v_fma", "v_pk_fma", "v_dual_fmac"}));
  if (isFused && !allowed.sums && !allowed.quotients) return "nobody asked for a fused sum";
  if (starts({"s_denorm_mode", "s_round_mode"})) return "rounding is changed on the way";
  if (starts({"flat_load", "flat_store", "flat_atomic"})) return "the memory is not named";
  return {};
}

constexpr StringRef kModes[] = {".amdhsa_float_round_mode_32 0", ".amdhsa_float_round_mode_16_64 0",
                                ".amdhsa_float_denorm_mode_32 3",
                                ".amdhsa_float_denorm_mode_16_64 3"};

} // namespace

std::vector<std::string> brokenInPtx(const llvm::Module &module, StringRef ptx) {
  const Allowed allowed(module);
  std::vector<std::string> broken;
  for (StringRef line : llvm::split(ptx, '\n')) {
    line = line.split("//").first.trim();
    if (!isInstruction(line)) continue;
    if (line.starts_with("@")) line = line.split(' ').second.ltrim();
    Words words;
    line.take_until([](char c) { return c == ' ' || c == '\t' || c == ';'; }).split(words, '.');
    const std::string rule = brokenByPtx(words, allowed);
    if (!rule.empty()) broken.push_back(line.str() + ": " + rule);
  }
  return broken;
}

std::vector<std::string> brokenInGcn(const llvm::Module &module, StringRef assembly) {
  const Allowed allowed(module);
  std::vector<std::string> broken;
  for (const StringRef mode : kModes)
    if (!assembly.contains(mode)) broken.push_back("there is no " + mode.str());
  if (assembly.contains(".amdhsa_ieee_mode 1")) broken.push_back("a signalling NaN beats a number");
  for (StringRef line : llvm::split(assembly, '\n')) {
    line = line.split(';').first.trim();
    const StringRef opcode = line.take_until([](char c) { return c == ' ' || c == '\t'; });
    const std::string rule = brokenByGcn(opcode, line.drop_front(opcode.size()).trim(), allowed);
    if (!rule.empty()) broken.push_back(line.str() + ": " + rule);
  }
  return broken;
}

} // namespace imbrex::testing

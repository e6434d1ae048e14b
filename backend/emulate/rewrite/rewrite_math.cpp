#include "backend/emulate/rewrite/rewrite_math.h"

#include "backend/support/lifetime.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <unordered_map>

namespace imbrex::emulate {
namespace {

using Function = float(float);

double exp2(double x) { return std::exp2(x); }
double log2(double x) { return std::log2(x); }
double tanh(double x) { return std::tanh(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double root(double x) { return std::sqrt(x); }
double inverse(double x) { return 1 / x; }
double inverseRoot(double x) { return 1 / std::sqrt(x); }
double sineOfTurns(double x) { return std::sin(2 * std::numbers::pi * (x - std::floor(x))); }
double cosineOfTurns(double x) { return std::cos(2 * std::numbers::pi * (x - std::floor(x))); }

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <double function(double), bool flushes>
float roundedOnce(float x) {
  if constexpr (!flushes) return static_cast<float>(function(x));
  return flushed(static_cast<float>(function(flushed(x))));
}

/// Below 1 by definition, also where the difference rounds to it.
float fractionOf(float x) { return std::min(x - std::floor(x), std::nextafter(1.0f, 0.0f)); }

const std::unordered_map<unsigned, Function *> &functions() {
  static const auto &table = permanent(std::unordered_map<unsigned, Function *>{
#define IMBREX_MATH_CALL(intrinsic, function, flushes)                                             \
  {llvm::Intrinsic::intrinsic, roundedOnce<function, flushes>},
#include "backend/emulate/rewrite/math_calls.def"
      {llvm::Intrinsic::amdgcn_fract, fractionOf},
  });
  return table;
}

const std::unordered_map<std::string_view, Function *> &assemblies() {
  static const auto &table = permanent(std::unordered_map<std::string_view, Function *>{
#define IMBREX_MATH_ASSEMBLY(text, function, flushes) {text, roundedOnce<function, flushes>},
#include "backend/emulate/rewrite/math_calls.def"
  });
  return table;
}

float quotient(float x, float y) { return x / y; }

/// The upper word of an f64.
double halved(double x) {
  constexpr std::uint64_t kLower = 0xffffffff;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~kLower);
}

/// In f64 machines know the reciprocal of half the bits, or of few more.
double nearInverse(double x) { return halved(1 / halved(x)); }
bool isNearInverse(const llvm::CallInst &call) {
  return call.getIntrinsicID() == llvm::Intrinsic::nvvm_rcp_approx_ftz_d ||
         call.getIntrinsicID() == llvm::Intrinsic::amdgcn_rcp;
}

Function *functionOf(const llvm::CallInst &call) {
  if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    const llvm::StringRef text = assembly->getAsmString();
    const auto found = assemblies().find({text.data(), text.size()});
    return found == assemblies().end() ? nullptr : found->second;
  }
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  const auto found = functions().find(callee->getIntrinsicID());
  return found == functions().end() ? nullptr : found->second;
}

} // namespace

llvm::Value *rewriteMath(MachineCall &c) {
  if (c.call.getType()->isDoubleTy() && isNearInverse(c.call))
    return createCall(c.b, nearInverse, {c.operand(0)});
  if (!c.call.getType()->isFloatTy()) return nullptr;
  if (c.call.getIntrinsicID() == llvm::Intrinsic::nvvm_div_approx_f)
    return createCall(c.b, quotient, {c.operand(0), c.operand(1)});
  Function *function = functionOf(c.call);
  return function != nullptr ? createCall(c.b, function, {c.operand(0)}) : nullptr;
}

} // namespace imbrex::emulate

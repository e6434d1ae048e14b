#include "llvm/ADT/APFloat.h"
#include "tests/unit/emulate/launching.h"

#include <random>

using namespace imbrex;
using llvm::APFloat;
using llvm::APInt;

namespace {

constexpr auto kNearest = APFloat::rmNearestTiesToEven;
constexpr std::size_t kElements = 64 * 256;

struct Format {
  std::string name; // LLVM's
  const llvm::fltSemantics &semantics;
};
const Format kFormats[] = {{"half", APFloat::IEEEhalf()}, {"bfloat", APFloat::BFloat()}};

/// out[i] of a kernel that applies `line` to %a, %b, %c: what the arrays hold.
template <class T>
std::vector<std::uint16_t> apply(const std::string &operand, const std::string &result,
                                 const std::string &line, std::vector<std::vector<T>> &inputs) {
  std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 64
  %i = add i32 %first, %t
)";
  for (const std::string x : {"a", "b", "c"})
    text += "  %at" + x + " = getelementptr " + operand + ", ptr addrspace(1) %p" + x +
            ", i32 %i\n  %" + x + " = load " + operand + ", ptr addrspace(1) %at" + x + "\n";
  text += "  %r = " + line + "\n  %to = getelementptr " + result +
          ", ptr addrspace(1) %out, i32 %i\n  store " + result +
          " %r, ptr addrspace(1) %to\n  ret void\n}\n";
  std::vector<std::uint16_t> out(kElements);
  Emulation emulation("sm_90a", text);
  emulation.blocks(kElements / 64);
  for (std::vector<T> &input : inputs) emulation.array(input);
  REQUIRE(emulation.array(out).report() == "");
  return out;
}

/// Bits of every kind: any at all, and such whose exponents are near each other.
template <class T>
std::vector<std::vector<T>> randomBits(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<T>> inputs(3, std::vector<T>(kElements));
  for (std::size_t i = 0; i < kElements; ++i) {
    const T shared = static_cast<T>(random());
    for (std::vector<T> &input : inputs) {
      const T any = static_cast<T>(random());
      const T low = static_cast<T>((T{1} << (4 * sizeof(T) - 1)) - 1);
      input[i] = i % 2 == 0 ? any : static_cast<T>((shared & ~low) | (any & low));
    }
  }
  return inputs;
}

bool same(const Format &format, std::uint16_t bits, const APFloat &expected) {
  const APFloat got(format.semantics, APInt(16, bits));
  return (got.isNaN() && expected.isNaN()) || got.bitwiseIsEqual(expected);
}

} // namespace

TEST_CASE("arithmetic on halves is rounded once") {
  for (const Format &format : kFormats) {
    const std::string t = format.name;
    auto inputs = randomBits<std::uint16_t>(1);
    const auto number = [&](std::size_t operand, std::size_t i) {
      return APFloat(format.semantics, APInt(16, inputs[operand][i]));
    };
    const auto sums = apply(t, t, "fadd " + t + " %a, %b", inputs);
    const auto products = apply(t, t, "fmul " + t + " %a, %b", inputs);
    const auto quotients = apply(t, t, "fdiv " + t + " %a, %b", inputs);
    const std::string suffix = t == "half" ? "f16" : "bf16";
    const auto fused = apply(
        t, t, "call " + t + " @llvm.fma." + suffix + "(" + t + " %a, " + t + " %b, " + t + " %c)",
        inputs);
    for (std::size_t i = 0; i < kElements; ++i) {
      CAPTURE(t);
      CAPTURE(i);
      APFloat sum = number(0, i), product = sum, quotient = sum, fma = sum;
      sum.add(number(1, i), kNearest);
      product.multiply(number(1, i), kNearest);
      quotient.divide(number(1, i), kNearest);
      fma.fusedMultiplyAdd(number(1, i), number(2, i), kNearest);
      REQUIRE(same(format, sums[i], sum));
      REQUIRE(same(format, products[i], product));
      REQUIRE(same(format, quotients[i], quotient));
      REQUIRE(same(format, fused[i], fma));
    }
  }
}

TEST_CASE("halves keep their bits on their way through blocks, subnormals and NaNs as well") {
  for (const std::string t : {"half", "bfloat", "<2 x half>", "<2 x bfloat>"}) {
    CAPTURE(t);
    std::vector<std::uint32_t> input(kElements), output(kElements);
    for (std::size_t i = 0; i < kElements; ++i)
      input[i] = static_cast<std::uint32_t>(4 * i + 1) * 0x10001U; // all exponents
    Emulation emulation("sm_90a", R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 64
  %i = add i32 %first, %t
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %x = load )" + t + R"(, ptr addrspace(1) %from, align 4
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %odd = and i32 %i, 1
  %isOdd = icmp eq i32 %odd, 1
  br i1 %isOdd, label %one, label %two
one:
  %y = load )" + t + R"(, ptr addrspace(1) %from, align 4
  br label %end
two:
  store )" + t + R"( %x, ptr addrspace(1) %to, align 4
  br label %end
end:
  %r = phi )" + t + R"( [ %y, %one ], [ %x, %two ]
  store )" + t + R"( %r, ptr addrspace(1) %to, align 4
  ret void
}
)");
    emulation.blocks(kElements / 64);
    emulation.array(input);
    REQUIRE(emulation.array(output).report() == "");
    const std::uint32_t moved = t.find('x') != std::string::npos ? 0xffffffff : 0xffff;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kElements; ++i) wrong += (output[i] ^ input[i]) & moved ? 1 : 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("conversions to halves are rounded once") {
  for (const Format &format : kFormats) {
    auto inputs = randomBits<std::uint64_t>(2);
    for (std::size_t i = 0; i < kElements; i += 3) // numbers that halves reach
      inputs[0][i] = APFloat(std::ldexp(1.0 + static_cast<double>(i) / kElements,
                                        static_cast<int>(i % 45) - 27))
                         .bitcastToAPInt()
                         .getZExtValue() +
                     i % 5;
    const auto narrowed =
        apply("double", format.name, "fptrunc double %a to " + format.name, inputs);
    const auto fromSigned = apply("i64", format.name, "sitofp i64 %a to " + format.name, inputs);
    const auto fromUnsigned = apply("i64", format.name, "uitofp i64 %a to " + format.name, inputs);
    for (std::size_t i = 0; i < kElements; ++i) {
      CAPTURE(format.name);
      CAPTURE(i);
      bool ignored = false;
      APFloat number(APFloat::IEEEdouble(), APInt(64, inputs[0][i]));
      number.convert(format.semantics, kNearest, &ignored);
      REQUIRE(same(format, narrowed[i], number));
      APFloat integer(format.semantics);
      integer.convertFromAPInt(APInt(64, inputs[0][i]), true, kNearest);
      REQUIRE(same(format, fromSigned[i], integer));
      integer.convertFromAPInt(APInt(64, inputs[0][i]), false, kNearest);
      REQUIRE(same(format, fromUnsigned[i], integer));
    }
  }
}

// Which lane each exchange reads, by a model of the instructions that shares nothing with the code
// that chooses them: AMD's ISA documents, "Data Parallel Processing", DS_SWIZZLE_B32,
// V_PERMLANEX16_B32, V_PERMLANE32_SWAP_B32, DS_BPERMUTE_B32.

#include "backend/target/amdgpu/shuffle.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

using namespace imbrex;
using llvm::Value;

namespace {

using Lanes = std::vector<std::uint32_t>;

/// Evaluates instructions on all lanes of a warp.
class Warp {
public:
  Warp(std::uint32_t size, const Value &x) : size_(size) {
    Lanes lanes(size);
    std::iota(lanes.begin(), lanes.end(), 100);
    values_[&x] = {lanes};
  }

  void run(const llvm::BasicBlock &block) {
    for (const llvm::Instruction &instruction : block)
      if (!instruction.isTerminator()) values_[&instruction] = evaluate(instruction);
  }
  Lanes of(const Value &value, unsigned part = 0) const {
    if (const auto *number = llvm::dyn_cast<llvm::ConstantInt>(&value))
      return Lanes(size_, static_cast<std::uint32_t>(number->getZExtValue()));
    return values_.at(&value).at(part);
  }

private:
  template <class F>
  Lanes each(F &&f) const {
    Lanes result(size_);
    for (std::uint32_t lane = 0; lane < size_; ++lane) result[lane] = f(lane);
    return result;
  }

  std::vector<Lanes> evaluate(const llvm::Instruction &op) const {
    if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&op)) return evaluateCall(*call);
    if (const auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(&op))
      return {of(*extract->getAggregateOperand(), extract->getIndices()[0])};
    const Lanes a = of(*op.getOperand(0)), b = of(*op.getOperand(1));
    switch (op.getOpcode()) {
    case llvm::Instruction::Xor: return {each([&](auto i) { return a[i] ^ b[i]; })};
    case llvm::Instruction::Shl: return {each([&](auto i) { return a[i] << b[i]; })};
    case llvm::Instruction::ICmp: return {each([&](auto i) { return a[i] >= b[i] ? 1U : 0U; })};
    case llvm::Instruction::Select: {
      const Lanes c = of(*op.getOperand(2));
      return {each([&](auto i) { return a[i] != 0 ? b[i] : c[i]; })};
    }
    default: FAIL("the model lacks " << std::string(op.getOpcodeName()));
    }
    return {};
  }

  std::uint32_t constant(const llvm::IntrinsicInst &call, unsigned i) const {
    return static_cast<std::uint32_t>(
        llvm::cast<llvm::ConstantInt>(call.getArgOperand(i))->getZExtValue());
  }

  std::vector<Lanes> evaluateCall(const llvm::IntrinsicInst &call) const {
    switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_mbcnt_lo: return {each([](auto i) { return std::min(i, 32U); })};
    case llvm::Intrinsic::amdgcn_mbcnt_hi: {
      const Lanes low = of(*call.getArgOperand(1));
      return {each([&](auto i) { return low[i] + (i < 32 ? 0 : i - 32); })};
    }
    case llvm::Intrinsic::amdgcn_update_dpp: return {dpp(call)};
    case llvm::Intrinsic::amdgcn_ds_swizzle: return {swizzle(call)};
    case llvm::Intrinsic::amdgcn_permlanex16: return {permlaneRows(call)};
    case llvm::Intrinsic::amdgcn_permlane32_swap: return swap(call);
    case llvm::Intrinsic::amdgcn_ds_bpermute: {
      const Lanes address = of(*call.getArgOperand(0)), x = of(*call.getArgOperand(1));
      return {each([&](auto i) { return x[address[i] / 4 % size_]; })};
    }
    default: FAIL("the model lacks an intrinsic");
    }
    return {};
  }

  Lanes dpp(const llvm::IntrinsicInst &call) const {
    const Lanes x = of(*call.getArgOperand(1));
    const std::uint32_t control = constant(call, 2);
    CHECK(constant(call, 3) == 0xf);
    CHECK(constant(call, 4) == 0xf);
    return each([&](std::uint32_t lane) {
      const std::uint32_t row = lane / 16 * 16, inRow = lane % 16;
      if (control < 0x100) return x[lane / 4 * 4 + (control >> 2 * (lane % 4) & 3)];
      if (control == 0x140) return x[row + 15 - inRow];
      if (control == 0x141) return x[lane / 8 * 8 + 7 - lane % 8];
      REQUIRE((control >> 4) == 0x16);
      CHECK(size_ == 32); // row_xmask came with the machines of 32 lanes
      return x[row + (inRow ^ (control & 15))];
    });
  }

  Lanes swizzle(const llvm::IntrinsicInst &call) const {
    const Lanes x = of(*call.getArgOperand(0));
    const std::uint32_t offset = constant(call, 1);
    REQUIRE((offset >> 15) == 0);
    const std::uint32_t keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
    return each([&](std::uint32_t lane) {
      return x[lane / 32 * 32 + (((lane % 32 & keep) | set) ^ flip)];
    });
  }

  Lanes permlaneRows(const llvm::IntrinsicInst &call) const {
    const Lanes x = of(*call.getArgOperand(1));
    const std::uint64_t low = constant(call, 2), high = constant(call, 3);
    const std::uint64_t selector = low | high << 32;
    return each([&](std::uint32_t lane) {
      const auto from = static_cast<std::uint32_t>(selector >> 4 * (lane % 16) & 15);
      const std::uint32_t otherRow = (lane / 16 % 2 == 0 ? lane / 16 + 1 : lane / 16 - 1) * 16;
      return x[otherRow + from];
    });
  }

  std::vector<Lanes> swap(const llvm::IntrinsicInst &call) const {
    Lanes first = of(*call.getArgOperand(0)), second = of(*call.getArgOperand(1));
    for (std::uint32_t lane = 0; lane < 32; ++lane) std::swap(first[lane + 32], second[lane]);
    return {first, second};
  }

  std::uint32_t size_;
  std::map<const Value *, std::vector<Lanes>> values_;
};

} // namespace

TEST_CASE("an exchange by any mask reads the lane whose number differs by it, on every machine") {
  for (const target::GpuTarget *target : sample::targets()) {
    const machine::Machine &machine = target->machine();
    if (machine.family != machine::Family::Amdgpu) continue;
    CAPTURE(std::string(machine.name));
    const auto size = static_cast<std::uint32_t>(machine.warpSize);
    for (std::uint32_t mask = 1; mask < size; ++mask) {
      CAPTURE(mask);
      llvm::LLVMContext context;
      Value *given = nullptr, *got = nullptr;
      const auto module =
          sample::kernel(context, *target, [&](const auto &words, auto &b, Value *x) {
            b.SetInsertPoint(
                llvm::BasicBlock::Create(context, "exchange", b.GetInsertBlock()->getParent()));
            given = x;
            return got = words.shuffleXor(b, x, mask);
          });
      Warp warp(size, *given);
      auto *block = llvm::cast<llvm::Instruction>(got)->getParent();
      while (llvm::isa<llvm::StoreInst>(block->back()) || block->back().isTerminator())
        block->back().eraseFromParent();
      warp.run(*block);
      const Lanes lanes = warp.of(*got);
      for (std::uint32_t lane = 0; lane < size; ++lane) REQUIRE(lanes[lane] == 100 + (lane ^ mask));
    }
  }
}

TEST_CASE("the cheapest exchange is taken that the machine has") {
  using namespace target::amdgpu;
  const auto on = [](const char *cpu, std::uint32_t mask) {
    return cheapestExchange(llvm::AMDGPU::getIsaVersion(cpu), mask);
  };
  CHECK(on("gfx942", 1) == Exchange::Dpp);
  CHECK(on("gfx942", 4) == Exchange::Swizzle);
  CHECK(on("gfx942", 16) == Exchange::Swizzle);
  CHECK(on("gfx942", 32) == Exchange::Bpermute);
  CHECK(on("gfx9-4-generic", 32) == Exchange::Bpermute);
  CHECK(on("gfx950", 32) == Exchange::PermlaneSwap);
  CHECK(on("gfx950", 33) == Exchange::Bpermute);
  CHECK(on("gfx1100", 4) == Exchange::Dpp);
  CHECK(on("gfx1100", 8) == Exchange::Dpp);
  CHECK(on("gfx1201", 16) == Exchange::PermlaneRows);
}

TEST_CASE("of lanes that hold the same, those are asked that are reached most cheaply") {
  using namespace target::amdgpu;
  const auto on = [](const char *cpu, std::uint32_t mask, std::uint32_t alike) {
    return cheapestMask(llvm::AMDGPU::getIsaVersion(cpu), mask, alike);
  };
  CHECK(on("gfx942", 4, 0) == 4);
  CHECK(on("gfx942", 4, 1) == 4);
  CHECK(on("gfx942", 4, 3) == 7);
  CHECK(on("gfx942", 8, 7) == 15);
  CHECK(on("gfx942", 16, 15) == 16);
  CHECK(on("gfx942", 32, 31) == 32);
  CHECK(on("gfx1100", 4, 3) == 4);
  // The bits that tell the lanes apart are never given up.
  for (std::uint32_t mask = 1; mask < 64; ++mask)
    for (std::uint32_t alike = 0; alike < 64; ++alike)
      REQUIRE(((on("gfx942", mask, alike) ^ mask) & ~alike) == 0);
}

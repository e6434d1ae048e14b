// What LLVM says of the occupancy of AMD's code, beside what follows from the table of machines.

#include "backend/machine/occupancy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;
using llvm::Value;

namespace {

/// The number behind `; Occupancy: `, in warps of a partition.
std::int32_t numberBehind(llvm::StringRef text, llvm::StringRef phrase) {
  std::int32_t number = -1;
  const llvm::StringRef digits = text.split(phrase).second.take_while(llvm::isDigit);
  CHECK_FALSE(digits.getAsInteger(10, number));
  return number;
}

std::string assemblyOf(const target::GpuTarget &target, std::int32_t threads,
                       const sample::Body &body) {
  llvm::LLVMContext context;
  return *target.assembly(*sample::kernel(context, target, body, threads));
}

/// A kernel that needs the first `count` registers, in blocks of one warp.
std::string withRegisters(const target::GpuTarget &target, std::int32_t count) {
  return assemblyOf(target, target.machine().warpSize, [&](const auto &, auto &b, Value *x) {
    auto *type = llvm::FunctionType::get(b.getVoidTy(), false);
    const std::string last = "~{v" + std::to_string(count - 1) + "}";
    b.CreateCall(llvm::InlineAsm::get(type, "", last, true));
    return x;
  });
}

/// A kernel with an array in shared memory, in blocks of 256 threads.
std::string withSharedMemory(const target::GpuTarget &target, std::int32_t bytes) {
  return assemblyOf(target, 256, [&](const auto &words, auto &b, Value *x) {
    auto *type = llvm::ArrayType::get(b.getInt8Ty(), static_cast<std::uint64_t>(bytes));
    auto *shared = new llvm::GlobalVariable(*b.GetInsertBlock()->getModule(), type, false,
                                            llvm::GlobalValue::InternalLinkage,
                                            llvm::PoisonValue::get(type), "shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, words.sharedSpace());
    constexpr bool kIsVolatile = true;
    b.CreateAlignedStore(x, shared, llvm::Align(4), kIsVolatile);
    return x;
  });
}

std::int32_t warpsOfPartition(const machine::Machine &machine, const machine::BlockDemand &demand) {
  return machine::occupancyOf(machine, demand).warpsPerCore / machine.partitionsPerCore;
}

} // namespace

TEST_CASE("the occupancy that registers allow is the one that LLVM counts with") {
  for (const target::GpuTarget *target : sample::targets()) {
    const machine::Machine &machine = target->machine();
    if (machine.family != machine::Family::Amdgpu) continue;
    CAPTURE(std::string(machine.name));
    for (std::int32_t count = 20; count <= 256; count += 4) {
      CAPTURE(count);
      const std::string text = withRegisters(*target, count);
      const std::int32_t used = numberBehind(text, "; NumVgprs: ");
      CHECK(used == count);
      CHECK(warpsOfPartition(machine, {.threads = machine.warpSize, .registersPerThread = used}) ==
            numberBehind(text, "; Occupancy: "));
    }
  }
}

TEST_CASE("the occupancy that shared memory allows is the one that LLVM counts with") {
  for (const target::GpuTarget *target : sample::targets()) {
    const machine::Machine &machine = target->machine();
    if (machine.family != machine::Family::Amdgpu) continue;
    CAPTURE(std::string(machine.name));
    // Whole granules: LLVM counts without them.
    const std::int32_t step = 7 * machine.sharedMemoryGranule;
    for (std::int32_t bytes = step; bytes <= machine.sharedMemoryBytes; bytes += step) {
      CAPTURE(bytes);
      const std::string text = withSharedMemory(*target, bytes);
      const machine::BlockDemand demand{.threads = 256,
                                        .registersPerThread = numberBehind(text, "; NumVgprs: "),
                                        .sharedMemoryBytes = bytes};
      CHECK(warpsOfPartition(machine, demand) == numberBehind(text, "; Occupancy: "));
    }
  }
}

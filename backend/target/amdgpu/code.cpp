#include "backend/target/amdgpu/code.h"

#include "backend/support/check.h"
#include "backend/target/amdgpu/byte_permutes.h"
#include "backend/target/amdgpu/carried_bytes.h"
#include "backend/target/amdgpu/handed_on.h"
#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/loop_waits.h"
#include "backend/target/amdgpu/masked_loads.h"
#include "backend/target/amdgpu/product_order.h"
#include "backend/target/amdgpu/register_limit.h"
#include "backend/target/amdgpu/signed_zeros.h"
#include "backend/target/amdgpu/swapped_halves.h"
#include "backend/target/amdgpu/uniform_pairs.h"
#include "backend/target/amdgpu/write_backs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/AMDGPUAddrSpace.h"
#include "llvm/TargetParser/TargetParser.h"

namespace imbrex::target::amdgpu {
namespace {

/// Shared memory that a launch gives is the only such array (lower::SharedMemory), and begins at 0.
/// LLVM does not say so before the code is chosen, and would add where it begins to addresses.
void placeSharedMemory(llvm::Module &module) {
  llvm::SmallVector<llvm::GlobalVariable *, 1> shared;
  for (llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == llvm::AMDGPUAS::LOCAL_ADDRESS) shared.push_back(&global);
  if (llvm::none_of(shared, [](auto *array) { return array->isDeclaration(); })) return;
  IMBREX_CHECK(shared.size() == 1, "{0} arrays beside what the launch gives", shared.size() - 1);
  shared[0]->replaceAllUsesWith(llvm::Constant::getNullValue(shared[0]->getType()));
  shared[0]->eraseFromParent();
}

constexpr InsertedPass kInserted[] = {
    {.name = kPassOfSelection, .run = forgetSharedMemory},
    {.name = kPassInFrontOfWaits, .run = removeBranchesAroundLoads},
    {.name = kPassInFrontOfWaits, .run = keepWaitsInLoops},
    {.name = kPassOfWaits, .run = waitForWriteBacks},
};

} // namespace

Result<std::string> generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                                 llvm::CodeGenFileType type) {
  constexpr unsigned kLastInOrder = 9; // whose blocks are in order by themselves
  constexpr unsigned kLargeFragments = 11;
  const unsigned generation = llvm::AMDGPU::getIsaVersion(machine.getTargetCPU()).Major;
  if (generation <= kLastInOrder) finishBeforeMeetings(module);
  prepareLoadsToLds(module);
  keepSignsOfZero(module, machine);
  splitUniformPairs(module, machine);
  permuteBytes(module);
  carryBytesInWords(module);
  permuteSwappedHalves(module);
  // Both halves of a warp have what the other has: read ahead, that would be too much.
  if (generation != kLargeFragments) orderProducts(module);
  placeSharedMemory(module);
  return generate(module, machine, type, {.inserted = kInserted});
}

} // namespace imbrex::target::amdgpu

#include "backend/target/amdgpu/amdgpu_vocabulary.h"

#include "backend/support/check.h"
#include "backend/target/amdgpu/lds_loads.h"
#include "backend/target/amdgpu/shuffle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/AMDGPUAddrSpace.h"

#include <array>
#include <numbers>

namespace imbrex::target::amdgpu {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using Builder = lower::Vocabulary::Builder;
using llvm::Value;

constexpr std::array<Intrinsic::ID, 3> kBlockIndex{Intrinsic::amdgcn_workgroup_id_x,
                                                   Intrinsic::amdgcn_workgroup_id_y,
                                                   Intrinsic::amdgcn_workgroup_id_z};

/// What gives a lane so many elements of a column of shared memory.
struct ColumnLoad {
  machine::MatrixLoads loads;
  std::int32_t elementBits, elements;
  Intrinsic::ID id;
};
using machine::MatrixLoads;
constexpr std::array<ColumnLoad, 4> kColumnLoads{
    {{MatrixLoads::Transposed16, 16, 4, Intrinsic::amdgcn_ds_read_tr16_b64},
     {MatrixLoads::Transposed16, 8, 8, Intrinsic::amdgcn_ds_read_tr8_b64},
     {MatrixLoads::Transposed8, 16, 8, Intrinsic::amdgcn_ds_load_tr16_b128},
     {MatrixLoads::Transposed8, 8, 8, Intrinsic::amdgcn_ds_load_tr8_b64}}};

Value *instruction(Builder &b, Intrinsic::ID id, llvm::ArrayRef<Value *> operands) {
  return b.CreateIntrinsic(id, {operands[0]->getType()}, operands);
}

/// v_sin and v_cos count in turns and are exact enough within one.
Value *ofTurns(Builder &b, Intrinsic::ID id, Value *x) {
  Value *turns = b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), std::numbers::inv_pi / 2));
  return instruction(b, id, {instruction(b, Intrinsic::amdgcn_fract, {turns})});
}

} // namespace

AmdgpuVocabulary::AmdgpuVocabulary(const machine::Machine &machine)
    : Vocabulary(machine),
      isa_(llvm::AMDGPU::getIsaVersion({machine.cpu.data(), machine.cpu.size()})) {}

void AmdgpuVocabulary::declareKernel(llvm::Function &function, std::int32_t threads) const {
  llvm::LLVMContext &context = function.getContext();
  const std::string count = std::to_string(threads);
  function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  function.addFnAttr("amdgpu-flat-work-group-size", count + "," + count);
  function.addFnAttr("uniform-work-group-size", "true"); // the grid is whole blocks
  // With MODE.IEEE V_MAX and V_MIN give a signalling NaN in place of the number, so that LLVM makes
  // each operand quiet first; without, a NaN of either kind loses (CDNA 3 ISA, RDNA 3 ISA,
  // V_MAX_F32), as `max` wants it.
  function.addFnAttr("amdgpu-ieee", "false");
  const auto extent = [&](std::int32_t n) {
    return llvm::ConstantAsMetadata::get(
        llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(n)));
  };
  function.setMetadata("reqd_work_group_size",
                       llvm::MDNode::get(context, {extent(threads), extent(1), extent(1)}));
}

/// Else LLVM 22 has the sums of a loop in accumulation registers and moves them about, 128 times a
/// step of a product of 128 x 128 x 64 on gfx942.
void AmdgpuVocabulary::useMatrixUnit(llvm::Function &function,
                                     const machine::MmaInstruction &) const {
  function.addFnAttr("amdgpu-agpr-alloc", "0");
}

void AmdgpuVocabulary::limitRegisters(llvm::Function &function, std::int32_t registers) const {
  // LLVM counts the half of them from gfx90a to gfx950, where accumulation registers are the other
  // half of one file (GCNSubtarget::getBaseMaxNumVGPRs).
  const bool isHalf = isa_.Major == 9;
  function.addFnAttr("amdgpu-num-vgpr", std::to_string(isHalf ? registers / 2 : registers));
}

/// LLVM knows nothing of the shared memory that a launch gives. It holds back registers for warps
/// that could not be there: attention on gfx942 moved its sums about for them. On RDNA it would
/// not stop at the registers that there are: a product of weights spilled 143 on gfx1100 for 35.
void AmdgpuVocabulary::expectWarps(llvm::Function &function, std::int64_t perPartition) const {
  if (isa_.Major != 9) return;
  function.addFnAttr("amdgpu-waves-per-eu", "1," + std::to_string(perPartition));
}

// V_PK_ADD_F32, V_PK_MUL_F32, V_PK_FMA_F32 (CDNA 3 ISA, VOP3P; LLVM 22, feature "packed-fp32-ops").
bool AmdgpuVocabulary::hasFloatPairs() const {
  return isa_.Major == 9 || machine().cpu == "gfx1250";
}

// The last word of a buffer's description: a format, which raw loads do not ask for; from gfx10 on
// also that what lies beyond its bytes is outside whatever the stride (OOB_SELECT 3), and a bit
// that gfx10 wants to be set (RDNA 2, RDNA 3 ISA, "Buffer Resource Descriptor"; Composable Kernel,
// CK_BUFFER_RESOURCE_3RD_DWORD). Of gfx1250 LLVM 22 takes OOB_SELECT and what is above it alone,
// and places the wider fields for the address and the bytes (what OOB_SELECT means there: AMD,
// rocm-systems, rocjitsu, addr_calc.cpp).
Value *AmdgpuVocabulary::bufferAt(Builder &b, Value *first) const {
  const std::uint32_t format = isa_.Major < 10              ? 0x00027000
                               : isa_.Major == 10           ? 0x31014000
                               : machine().cpu == "gfx1250" ? 3
                                                            : 0x31004000;
  return b.CreateIntrinsic(
      Intrinsic::amdgcn_make_buffer_rsrc,
      {b.getPtrTy(llvm::AMDGPUAS::BUFFER_RESOURCE), first->getType()},
      {first, b.getInt16(0), b.getInt64(BufferPlace::kOutside - 1), b.getInt32(format)});
}

Value *AmdgpuVocabulary::loadFromBuffer(Builder &b, llvm::Type *type,
                                        const BufferPlace &from) const {
  const auto bytes = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
  constexpr unsigned kWord = 4;
  llvm::Type *words = b.getIntNTy(std::min(bytes, kWord) * 8);
  if (bytes > kWord) words = llvm::FixedVectorType::get(words, bytes / kWord);
  Value *loaded = b.CreateIntrinsic(
      Intrinsic::amdgcn_raw_ptr_buffer_load, {words},
      {bufferAt(b, from.first), from.ofThread, uniform(b, from.ofBlock), b.getInt32(0)});
  return b.CreateBitCast(loaded, type);
}

llvm::SmallVector<Value *, 4> AmdgpuVocabulary::loadColumns(Builder &b, Value *row,
                                                            std::int32_t elementBits) const {
  const auto *load = llvm::find_if(kColumnLoads, [&](const ColumnLoad &one) {
    return one.loads == machine().matrixLoads && one.elementBits == elementBits;
  });
  constexpr std::int32_t kWordBits = 32;
  const auto words = static_cast<unsigned>(elementBits * load->elements / kWordBits);
  // LLVM has those of bytes as words.
  llvm::Type *const type = elementBits == 8 ? llvm::FixedVectorType::get(b.getInt32Ty(), words)
                                            : llvm::FixedVectorType::get(b.getInt16Ty(), words * 2);
  Value *const loaded = b.CreateBitCast(b.CreateIntrinsic(load->id, {type}, {row}),
                                        llvm::FixedVectorType::get(b.getInt32Ty(), words));
  llvm::SmallVector<Value *, 4> registers;
  for (unsigned i = 0; i < words; ++i) registers.push_back(b.CreateExtractElement(loaded, i));
  return registers;
}

Value *AmdgpuVocabulary::loadGlobalColumns(Builder &b, llvm::Type *type, Value *row) const {
  const bool areBytes = type->getScalarSizeInBits() == 8;
  llvm::Type *const words = areBytes ? llvm::FixedVectorType::get(b.getInt32Ty(), 2)
                                     : llvm::FixedVectorType::get(b.getInt16Ty(), 8);
  return b.CreateBitCast(b.CreateIntrinsic(areBytes ? Intrinsic::amdgcn_global_load_tr_b64
                                                    : Intrinsic::amdgcn_global_load_tr_b128,
                                           {words}, {row}),
                         type);
}

Value *AmdgpuVocabulary::threadIndex(Builder &b) const {
  return plain(b, Intrinsic::amdgcn_workitem_id_x);
}

// A grid has less than 2^31 blocks along each axis, which LLVM does not know of AMD's.
Value *AmdgpuVocabulary::blockIndex(Builder &b, std::int32_t axis) const {
  llvm::CallInst *index = plain(b, kBlockIndex.at(static_cast<std::size_t>(axis)));
  constexpr unsigned kBits = 32;
  index->addRangeRetAttr({llvm::APInt::getZero(kBits), llvm::APInt::getSignedMaxValue(kBits)});
  return index;
}

// The hidden arguments of code object version 5 begin with hidden_block_count_x, _y, _z, four bytes
// each (LLVM, AMDGPUUsage, "Code Object V5 Metadata").
Value *AmdgpuVocabulary::gridExtent(Builder &b, std::int32_t axis) const {
  Value *hidden = plain(b, Intrinsic::amdgcn_implicitarg_ptr);
  Value *address = b.CreateConstInBoundsGEP1_32(b.getInt32Ty(), hidden, axis);
  llvm::LoadInst *load = b.CreateAlignedLoad(b.getInt32Ty(), address, llvm::Align(4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

// s_barrier orders no memory by itself (LLVM, AMDGPUUsage, "Memory Model").
void AmdgpuVocabulary::meetAll(Builder &b) const {
  const auto scope = b.getContext().getOrInsertSyncScopeID("workgroup");
  b.CreateFence(llvm::AtomicOrdering::Release, scope);
  plain(b, Intrinsic::amdgcn_s_barrier);
  b.CreateFence(llvm::AtomicOrdering::Acquire, scope);
}

// The mask says what may be moved over the place: arithmetic (LLVM, IntrinsicsAMDGPU.td).
void AmdgpuVocabulary::keepOrder(Builder &b) const {
  constexpr std::uint32_t kArithmetic = 1;
  b.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {b.getInt32(kArithmetic)});
}

// All that s_waitcnt counts but vmcnt, which is 0: on gfx9 and gfx10 in bits 0 to 3, 14 and 15, on
// gfx11 in 10 to 15 (LLVM 22, AMDGPUBaseInfo.cpp). From gfx12 on each counter has its own.
void AmdgpuVocabulary::awaitLoads(Builder &b) const {
  constexpr std::uint32_t kNoLoads = 0x3ff0, kNoLoadsOfGfx11 = 0x03ff;
  if (isa_.Major >= 12)
    b.CreateIntrinsic(Intrinsic::amdgcn_s_wait_loadcnt, {}, {b.getInt16(0)});
  else
    b.CreateIntrinsic(Intrinsic::amdgcn_s_waitcnt, {},
                      {b.getInt32(isa_.Major == 11 ? kNoLoadsOfGfx11 : kNoLoads)});
}

// The fences say that they are for LDS alone (LLVM, AMDGPUUsage, "Memory Model Relaxation
// Annotations"); what LLVM makes of them is told in lds_loads.h.
void AmdgpuVocabulary::meetForShared(Builder &b) const {
  const auto scope = b.getContext().getOrInsertSyncScopeID("workgroup");
  llvm::MDNode *const local = markOfLocalFences(b.getContext());
  b.CreateFence(llvm::AtomicOrdering::Release, scope)
      ->setMetadata(llvm::LLVMContext::MD_mmra, local);
  plain(b, Intrinsic::amdgcn_s_barrier);
  b.CreateFence(llvm::AtomicOrdering::Acquire, scope)
      ->setMetadata(llvm::LLVMContext::MD_mmra, local);
}

void AmdgpuVocabulary::copyInLaneOrder(Builder &b, Value *to, Value *from,
                                       std::int64_t bytes) const {
  Value *const none = b.getInt32(0);
  b.CreateIntrinsic(Intrinsic::amdgcn_global_load_lds, {},
                    {from, to, b.getInt32(static_cast<std::uint32_t>(bytes)), none, none});
}

// That what is outside is zeros in LDS, too: triton-lang/triton, pull request 11435.
void AmdgpuVocabulary::copyFromBuffer(Builder &b, Value *to, const BufferPlace &from,
                                      std::int64_t bytes) const {
  Value *const none = b.getInt32(0);
  b.CreateIntrinsic(Intrinsic::amdgcn_raw_ptr_buffer_load_lds, {},
                    {bufferAt(b, from.first), to, b.getInt32(static_cast<std::uint32_t>(bytes)),
                     from.ofThread, uniform(b, from.ofBlock), none, none});
}

Value *AmdgpuVocabulary::uniform(Builder &b, Value *x) const {
  return b.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {x->getType()}, {x});
}

void AmdgpuVocabulary::drainCopies(Builder &b, std::int32_t left) const {
  b.CreateIntrinsic(Intrinsic::amdgcn_s_waitcnt, {}, {b.getInt32(waitForLoads(left))});
}

Value *AmdgpuVocabulary::shuffleXor(Builder &b, Value *x, std::uint32_t mask) const {
  return exchange(b, isa_, x, mask);
}

std::uint32_t AmdgpuVocabulary::cheapestMask(std::uint32_t mask, std::uint32_t alike) const {
  return amdgpu::cheapestMask(isa_, mask, alike);
}

Value *AmdgpuVocabulary::shuffle(Builder &b, Value *x, Value *lane) const {
  return fetch(b, x, lane);
}

Value *AmdgpuVocabulary::any(Builder &b, Value *condition) const {
  llvm::Type *lanes = b.getIntNTy(static_cast<unsigned>(machine().warpSize));
  return b.CreateIsNotNull(b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {lanes}, {condition}));
}

unsigned AmdgpuVocabulary::globalSpace() const { return llvm::AMDGPUAS::GLOBAL_ADDRESS; }
unsigned AmdgpuVocabulary::sharedSpace() const { return llvm::AMDGPUAS::LOCAL_ADDRESS; }

llvm::SyncScope::ID AmdgpuVocabulary::syncScope(llvm::LLVMContext &context, ir::Scope scope) const {
  switch (scope) {
  case ir::Scope::Block: return context.getOrInsertSyncScopeID("workgroup");
  case ir::Scope::Device: return context.getOrInsertSyncScopeID("agent");
  case ir::Scope::System: return llvm::SyncScope::System;
  }
  IMBREX_UNREACHABLE("no scope has the number {0}", static_cast<int>(scope));
}

// The caches know one more policy than the usual: what is not used again soon.
void AmdgpuVocabulary::applyHints(llvm::Instruction &access, ir::Cache cache,
                                  ir::Eviction eviction) const {
  const bool isStreaming = cache == ir::Cache::Streaming || cache == ir::Cache::Bypass ||
                           eviction == ir::Eviction::First;
  if (!isStreaming) return;
  llvm::LLVMContext &context = access.getContext();
  auto *one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  access.setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, {one}));
}

Value *AmdgpuVocabulary::fastAlone(Builder &b, ir::OpKind kind,
                                   llvm::ArrayRef<Value *> operands) const {
  Value *x = operands[0];
  if (kind == ir::OpKind::Sin) return ofTurns(b, Intrinsic::amdgcn_sin, x);
  if (kind == ir::OpKind::Cos) return ofTurns(b, Intrinsic::amdgcn_cos, x);
  if (kind == ir::OpKind::Div)
    return b.CreateFMul(x, instruction(b, Intrinsic::amdgcn_rcp, {operands[1]}));
  constexpr auto kForms = std::to_array<FastForm>({{ir::OpKind::Exp2, Intrinsic::amdgcn_exp2},
                                                   {ir::OpKind::Log2, Intrinsic::amdgcn_log},
                                                   {ir::OpKind::Rsqrt, Intrinsic::amdgcn_rsq},
                                                   {ir::OpKind::Tanh, Intrinsic::amdgcn_tanh}});
  return instruction(b, fastForm(kind, kForms), operands);
}

// V_RCP_F32: 1 ulp; V_RCP_F64: 2^29 ulp (CDNA 3 ISA, RDNA 3 ISA).
Value *AmdgpuVocabulary::nearReciprocal(Builder &b, Value *x) const {
  return instruction(b, Intrinsic::amdgcn_rcp, {x});
}

// V_MINIMUM and V_MAXIMUM of gfx12, V_MINIMUM3 and V_MAXIMUM3 of gfx950.
bool AmdgpuVocabulary::keepsNaN() const { return isa_.Major >= 12 || machine().cpu == "gfx950"; }

} // namespace imbrex::target::amdgpu

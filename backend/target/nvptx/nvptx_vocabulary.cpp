#include "backend/target/nvptx/nvptx_vocabulary.h"

#include "backend/machine/role_registers.h"
#include "backend/support/check.h"
#include "backend/support/text.h"
#include "backend/target/nvptx/ptx_version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/NVPTXAddrSpace.h"

#include <array>

namespace imbrex::target::nvptx {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using Builder = lower::Vocabulary::Builder;
using llvm::Value;

// Every lane takes part in what a warp does together.
constexpr std::uint32_t kAllLanes = 0xffffffff;
// The clamp of a shuffle (PTX ISA, shfl.sync, operand c): the whole warp is one segment.
constexpr std::uint32_t kWholeWarp = 31;

constexpr std::array<Intrinsic::ID, 3> kBlockIndex{Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                                   Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                                   Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
constexpr std::array<Intrinsic::ID, 3> kGridExtent{Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                                   Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                                   Intrinsic::nvvm_read_ptx_sreg_nctaid_z};

// LLVM 22 has neither an intrinsic for this instruction nor a pattern for `afn` on llvm.tanh.
Value *tanhApproximation(Builder &b, Value *x) {
  auto *type = llvm::FunctionType::get(b.getFloatTy(), {b.getFloatTy()}, false);
  constexpr bool kHasSideEffects = false;
  return b.CreateCall(
      llvm::InlineAsm::get(type, "tanh.approx.f32 $0, $1;", "=f,f", kHasSideEffects), {x});
}

} // namespace

void NvptxVocabulary::declareKernel(llvm::Function &function, std::int32_t threads) const {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  function.addFnAttr("nvvm.reqntid", std::to_string(threads));
  // Of larger blocks ptxas spills registers so that another could live beside them on a core,
  // unless it is told that one is enough.
  const bool isLarge = threads > machine().registersPerCore / machine().maxRegistersPerThread;
  if (isLarge) function.addFnAttr("nvvm.minctasm", "1");
}

void NvptxVocabulary::limitRegisters(llvm::Function &function, std::int32_t registers) const {
  function.addFnAttr("nvvm.maxnreg", std::to_string(registers));
}

// `.reqnctapercluster`: then a launch that asks for nothing has them as well.
void NvptxVocabulary::formClusters(llvm::Function &function,
                                   llvm::ArrayRef<std::int64_t> extents) const {
  function.addFnAttr("nvvm.cluster_dim", joined(extents, ","));
}

// PTX ISA 9.0, "griddepcontrol": `wait` until the prerequisite grids have completed and their
// memory operations are visible; `launch_dependents` lets those start that depend on this grid,
// once all of its blocks have come here. Whoever starts so has to wait in turn, so that all of what
// is in front in the stream has ended behind the wait.
void NvptxVocabulary::awaitLaunchBefore(Builder &b) const {
  plain(b, Intrinsic::nvvm_griddepcontrol_wait);
}
void NvptxVocabulary::letNextLaunchStart(Builder &b) const {
  plain(b, Intrinsic::nvvm_griddepcontrol_launch_dependents);
}

Value *NvptxVocabulary::threadIndex(Builder &b) const {
  return plain(b, Intrinsic::nvvm_read_ptx_sreg_tid_x);
}

Value *NvptxVocabulary::blockIndex(Builder &b, std::int32_t axis) const {
  return plain(b, kBlockIndex.at(static_cast<std::size_t>(axis)));
}

Value *NvptxVocabulary::gridExtent(Builder &b, std::int32_t axis) const {
  return plain(b, kGridExtent.at(static_cast<std::size_t>(axis)));
}

// bar.sync orders the memory accesses of the threads that take part (PTX ISA, barrier).
void NvptxVocabulary::meetAll(Builder &b) const {
  b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {b.getInt32(0)});
}

Value *NvptxVocabulary::shuffleXor(Builder &b, Value *x, std::uint32_t mask) const {
  return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                           {b.getInt32(kAllLanes), x, b.getInt32(mask), b.getInt32(kWholeWarp)});
}

Value *NvptxVocabulary::shuffle(Builder &b, Value *x, Value *lane) const {
  return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {},
                           {b.getInt32(kAllLanes), x, lane, b.getInt32(kWholeWarp)});
}

Value *NvptxVocabulary::any(Builder &b, Value *condition) const {
  return b.CreateIntrinsic(Intrinsic::nvvm_vote_any_sync, {}, {b.getInt32(kAllLanes), condition});
}

unsigned NvptxVocabulary::globalSpace() const { return llvm::NVPTXAS::ADDRESS_SPACE_GLOBAL; }
unsigned NvptxVocabulary::sharedSpace() const { return llvm::NVPTXAS::ADDRESS_SPACE_SHARED; }

llvm::SyncScope::ID NvptxVocabulary::syncScope(llvm::LLVMContext &context, ir::Scope scope) const {
  switch (scope) {
  case ir::Scope::Block: return context.getOrInsertSyncScopeID("block");
  case ir::Scope::Device: return context.getOrInsertSyncScopeID("device");
  case ir::Scope::System: return llvm::SyncScope::System;
  }
  IMBREX_UNREACHABLE("no scope has the number {0}", static_cast<int>(scope));
}

// LLVM 22 writes no cache operator and no eviction priority on a load or store of PTX, whatever it
// is marked with. Hints change no result.
void NvptxVocabulary::applyHints(llvm::Instruction &, ir::Cache, ir::Eviction) const {}

void NvptxVocabulary::useMatrixUnit(llvm::Function &function,
                                    const machine::MmaInstruction &instruction) const {
  wantPtx(*function.getParent(), instruction.ptx);
}

namespace {

/// The forms of `ldmatrix` and `stmatrix`, by how many matrices they move.
struct MatrixForm {
  std::size_t count;
  Intrinsic::ID load, loadTransposed, store, storeTransposed;
};

#define IMBREX_MATRIX_FORM(COUNT)                                                                  \
  {COUNT, Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x##COUNT##_b16,                               \
   Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x##COUNT##_trans_b16,                                \
   Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x##COUNT##_b16,                                      \
   Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x##COUNT##_trans_b16}
constexpr auto kMatrixForms = std::to_array<MatrixForm>(
    {IMBREX_MATRIX_FORM(1), IMBREX_MATRIX_FORM(2), IMBREX_MATRIX_FORM(4)});
#undef IMBREX_MATRIX_FORM

const MatrixForm &matrixForm(std::size_t count) {
  const auto *const form =
      llvm::find_if(kMatrixForms, [&](const MatrixForm &f) { return f.count == count; });
  IMBREX_CHECK(form != kMatrixForms.end(), "no instruction moves {0} matrices", count);
  return *form;
}

} // namespace

llvm::SmallVector<Value *, 4>
NvptxVocabulary::loadMatrices(Builder &b, Value *row, std::int32_t count, bool isTransposed) const {
  const MatrixForm &form = matrixForm(static_cast<std::size_t>(count));
  Value *const loaded =
      b.CreateIntrinsic(isTransposed ? form.loadTransposed : form.load, {row->getType()}, {row});
  if (count == 1) return {loaded};
  llvm::SmallVector<Value *, 4> registers;
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i)
    registers.push_back(b.CreateExtractValue(loaded, i));
  return registers;
}

void NvptxVocabulary::storeMatrices(Builder &b, Value *row, llvm::ArrayRef<Value *> registers,
                                    bool isTransposed) const {
  const MatrixForm &form = matrixForm(registers.size());
  llvm::SmallVector<Value *, 5> operands{row};
  llvm::append_range(operands, registers);
  b.CreateIntrinsic(isTransposed ? form.storeTransposed : form.store, {row->getType()}, operands);
}

// Copies of 16 bytes pass by the first cache, in which nobody will look for them again; smaller
// ones cannot (PTX ISA, "cp.async": .cg takes 16 bytes only).
void NvptxVocabulary::copyAsync(Builder &b, Value *to, Value *from, const Copy &copy) const {
  struct Form {
    std::int64_t bytes;
    Intrinsic::ID whole, partly;
  };
  constexpr std::array<Form, 3> kForms{{
      {4, Intrinsic::nvvm_cp_async_ca_shared_global_4,
       Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
      {8, Intrinsic::nvvm_cp_async_ca_shared_global_8,
       Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
      {16, Intrinsic::nvvm_cp_async_cg_shared_global_16,
       Intrinsic::nvvm_cp_async_cg_shared_global_16_s},
  }};
  const auto *form = llvm::find_if(kForms, [&](const Form &f) { return f.bytes == copy.bytes; });
  IMBREX_CHECK(form != kForms.end(), "no copy moves {0} bytes", copy.bytes);
  if (copy.condition == nullptr) {
    b.CreateIntrinsic(form->whole, {}, {to, from});
    return;
  }
  // The bytes that are read; the rest is zero.
  Value *bytes = b.CreateSelect(copy.condition, b.getInt32(static_cast<std::uint32_t>(copy.bytes)),
                                b.getInt32(0));
  b.CreateIntrinsic(form->partly, {}, {to, from, bytes});
}

void NvptxVocabulary::commitCopies(Builder &b) const {
  plain(b, Intrinsic::nvvm_cp_async_commit_group);
}

void NvptxVocabulary::drainCopies(Builder &b, std::int32_t left) const {
  b.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_group, {},
                    {b.getInt32(static_cast<std::uint32_t>(left))});
}

// Without "grid constant" the code generator would copy the map into a thread's own memory, from
// which the engine cannot read (PTX ISA 9.0, 9.7.9.25.5.2: global, constant or parameter space).
void NvptxVocabulary::passByValue(llvm::Argument &argument, std::int32_t bytes,
                                  std::int32_t alignment) const {
  llvm::LLVMContext &context = argument.getContext();
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), static_cast<unsigned>(bytes));
  argument.addAttr(llvm::Attribute::getWithByValType(context, type));
  argument.addAttr(llvm::Attribute::getWithAlignment(
      context, llvm::Align(static_cast<std::uint64_t>(alignment))));
  argument.addAttr(llvm::Attribute::get(context, llvm::Attribute::ReadOnly));
  argument.addAttr(llvm::Attribute::get(context, "nvvm.grid_constant"));
}

void NvptxVocabulary::makeBarrier(Builder &b, Value *barrier, std::int32_t arrivals) const {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_init_shared, {},
                    {barrier, b.getInt32(static_cast<std::uint32_t>(arrivals))});
}

void NvptxVocabulary::showBarriers(Builder &b) const {
  plain(b, Intrinsic::nvvm_fence_mbarrier_init_release_cluster);
}

void NvptxVocabulary::arrive(Builder &b, Value *barrier) const {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_arrive_scope_cta_space_cta, {},
                    {barrier, b.getInt32(1)});
}

void NvptxVocabulary::expect(Builder &b, Value *barrier, std::int64_t bytes) const {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_arrive_expect_tx_scope_cta_space_cta, {},
                    {barrier, b.getInt32(static_cast<std::uint32_t>(bytes))});
}

Value *NvptxVocabulary::isOver(Builder &b, Value *barrier, Value *parity) const {
  return b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_try_wait_parity_scope_cta_space_cta, {},
                           {barrier, parity});
}

// The form for blocks of a cluster, of which this is one by itself: that for a block alone wants a
// newer version of PTX.
void NvptxVocabulary::loadBox(Builder &b, Value *to, const Box &box, Value *barrier) const {
  constexpr std::array<Intrinsic::ID, 5> kByAxes{Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_1d,
                                                 Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_2d,
                                                 Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_3d,
                                                 Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_4d,
                                                 Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_5d};
  auto *cluster =
      llvm::PointerType::get(b.getContext(), llvm::NVPTXAS::ADDRESS_SPACE_SHARED_CLUSTER);
  llvm::SmallVector<Value *, 13> operands{b.CreateAddrSpaceCast(to, cluster), barrier, box.map};
  operands.append(box.first.begin(), box.first.end());
  // To no other block, with no hint for caches.
  operands.append({b.getInt16(0), b.getInt64(0), b.getFalse(), b.getFalse(), b.getInt32(0)});
  b.CreateIntrinsic(kByAxes.at(box.first.size() - 1), {}, operands);
}

void NvptxVocabulary::meetWarp(Builder &b) const {
  b.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {}, {b.getInt32(kAllLanes)});
}

void NvptxVocabulary::meet(Builder &b, std::int32_t threads) const {
  constexpr std::uint32_t kNumber = 1; // 0 is the whole block's
  b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_count, {},
                    {b.getInt32(kNumber), b.getInt32(static_cast<std::uint32_t>(threads))});
}

void NvptxVocabulary::releaseRegisters(Builder &b, std::int32_t left) const {
  b.CreateIntrinsic(Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32, {},
                    {b.getInt32(static_cast<std::uint32_t>(left))});
}

void NvptxVocabulary::takeRegisters(Builder &b, std::int32_t count) const {
  b.CreateIntrinsic(Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32, {},
                    {b.getInt32(static_cast<std::uint32_t>(count))});
}

// As a number of registers, which is then that of the launch: those that the roles hand over were
// counted with it.
void NvptxVocabulary::fitBlocks(llvm::Function &function, std::int32_t blocks) const {
  std::int32_t threads = 0;
  function.getFnAttribute("nvvm.reqntid").getValueAsString().getAsInteger(10, threads);
  const std::int32_t registers = machine::launchRegisters({threads, blocks}, machine());
  function.addFnAttr("nvvm.maxnreg", std::to_string(registers));
}

// That of exp2 takes subnormal numbers for zeros, as the instruction does: the form that keeps them
// multiplies in front of it and behind (PTX ISA 9.0, "ex2").
Value *NvptxVocabulary::fastAlone(Builder &b, ir::OpKind kind,
                                  llvm::ArrayRef<Value *> operands) const {
  if (kind == ir::OpKind::Tanh) return tanhApproximation(b, operands[0]);
  if (kind == ir::OpKind::Exp2)
    return b.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz, {b.getFloatTy()}, operands);
  constexpr auto kForms =
      std::to_array<FastForm>({{ir::OpKind::Log2, Intrinsic::nvvm_lg2_approx_f},
                               {ir::OpKind::Rsqrt, Intrinsic::nvvm_rsqrt_approx_f},
                               {ir::OpKind::Sin, Intrinsic::nvvm_sin_approx_f},
                               {ir::OpKind::Cos, Intrinsic::nvvm_cos_approx_f},
                               {ir::OpKind::Div, Intrinsic::nvvm_div_approx_f}});
  return b.CreateIntrinsic(fastForm(kind, kForms), {}, operands);
}

// 1 ulp (PTX ISA 9.0, "rcp"), and in f64 of the upper 20 bits of the significand alone
// ("rcp.approx.ftz.f64"). They flush subnormal numbers, which there are none of here.
Value *NvptxVocabulary::nearReciprocal(Builder &b, Value *x) const {
  return b.CreateIntrinsic(x->getType()->isDoubleTy() ? Intrinsic::nvvm_rcp_approx_ftz_d
                                                      : Intrinsic::nvvm_rcp_approx_ftz_f,
                           {}, {x});
}

// min.NaN and max.NaN, from compute capability 8.0 on (PTX ISA 9.0, "min", "max").
bool NvptxVocabulary::keepsNaN() const { return machine().cpu != "sm_75"; }

} // namespace imbrex::target::nvptx

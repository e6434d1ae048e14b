#include "tests/support/assembler.h"
#include "tests/unit/target/sample_kernel.h"

#if IMBREX_ENABLE_AMDGPU
#include "backend/target/amdgpu/gcn_mix.h"
#include "backend/target/amdgpu/spills.h"
#endif
#if IMBREX_ENABLE_NVPTX
#include "backend/target/nvptx/ptx_mix.h"
#include "backend/target/nvptx/resources.h"
#endif

#include <doctest/doctest.h>

using namespace imbrex::target;
using Class = InstructionClass;

#if IMBREX_ENABLE_NVPTX
TEST_CASE("an instruction of PTX that goes over several lines is one") {
  const InstructionMix mix = nvptx::mixOfPtx(R"(
.visible .entry k(
	.param .u64 k_param_0
)
{
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
		{%r9, %r10, %r11, %r12},
		{%r1, %r2, %r3, %r4},
		{%r5, %r6},
		{%r9, %r10, %r11, %r12};
	add.s32 	%r7, %r1, 1;
$L__BB0_2:
	bra.uni 	$L__BB0_2;
}
)");
  CHECK(mix.count(Class::Matrix) == 1);
  CHECK(mix.count(Class::Integer) == 1);
  CHECK(mix.total() == 3);
}

TEST_CASE("PTX is counted by class and width") {
  const InstructionMix mix = nvptx::mixOfPtx(R"(
.version 7.8
.target sm_80
.visible .entry k(
	.param .u64 k_param_0
)
.reqntid 128
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	.loc	1 7 0 // a.cpp:7
	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	ld.global.nc.v4.b32 	{%r2, %r3, %r4, %r5}, [%rd1];
	ld.global.v2.b64 	{%rd2, %rd3}, [%rd1];
	ld.global.b8 	%rs1, [%rd1];
	st.shared.b32 	[%r1], %r2;
	bar.sync 	0;
	cp.async.cg.shared.global [%rd71], [%rd81+64], 16, %r62;
	cp.async.ca.shared.global [%rd71], [%rd81], 4;
	cp.async.commit_group;
	cp.async.wait_group 	1;
	cp.async.mbarrier.arrive.noinc.shared.b64 [%rd1];
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd108], [%rd1, {%r17, %r140}], [%rd94];
	ld.volatile.shared.v2.b16 	{%rs1, %rs2}, [%r1];
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
	ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r5];
	stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r1};
	mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r6, %r7};
	fma.rn.f32 	%r6, %r2, %r3, %r4;
	mul.rn.bf16x2 	%r6, %r2, %r3;
	add.s32 	%r7, %r1, 1;
	setp.lt.f32 	%p1, %r2, %r3;
	setp.lt.u32 	%p1, %r2, %r3;
	cvt.f32.s32 	%r8, %r7;
	shfl.sync.bfly.b32 	%r9, %r8, 4, 31, -1;
	@%p1 bra 	$L__BB0_2;
	atom.acq_rel.gpu.global.add.u32 	%r1, [%rd1], 1;
	st.local.b64 	[%rd9], %rd1;
	ex2.approx.f32 	%r1, %r2;
$L__BB0_2:
	st.global.v4.b32 	[%rd1], {%r2, %r3, %r4, %r5};
	ret;
}
)");
  CHECK(mix.count(Class::ConstantLoad) == 1);
  CHECK(mix.count(Class::GlobalLoad) == 3);
  CHECK(mix.widths.at(Class::GlobalLoad) == std::map<std::int32_t, std::int32_t>{{1, 1}, {16, 2}});
  CHECK(mix.widths.at(Class::GlobalStore) == std::map<std::int32_t, std::int32_t>{{16, 1}});
  CHECK(mix.widths.at(Class::SharedLoad) ==
        std::map<std::int32_t, std::int32_t>{{4, 1}, {8, 1}, {16, 1}});
  CHECK(mix.widths.at(Class::SharedStore) == std::map<std::int32_t, std::int32_t>{{4, 2}});
  CHECK(mix.count(Class::Matrix) == 1);
  CHECK(mix.widths.at(Class::StackStore) == std::map<std::int32_t, std::int32_t>{{8, 1}});
  CHECK(mix.count(Class::AsyncCopy) == 3);
  CHECK(mix.widths.at(Class::AsyncCopy) == std::map<std::int32_t, std::int32_t>{{4, 1}, {16, 1}});
  CHECK(mix.count(Class::Wait) == 3);
  CHECK(mix.count(Class::Barrier) == 1);
  CHECK(mix.count(Class::Float) == 4);
  CHECK(mix.count(Class::Integer) == 2);
  CHECK(mix.count(Class::Convert) == 1);
  CHECK(mix.count(Class::Shuffle) == 1);
  CHECK(mix.count(Class::Atomic) == 1);
  CHECK(mix.count(Class::Branch) == 2);
  CHECK(mix.count(Class::Move) == 1);
  CHECK(mix.total() == 31);
}

TEST_CASE("the assembler's remarks are read") {
  const auto resources = nvptx::resourcesOf(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    48 bytes stack frame, 24 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem, 360 bytes cmem[0]\n");
  REQUIRE(resources);
  CHECK(resources->registers == 168);
  CHECK(resources->stackBytes == 48);
  CHECK(resources->spilledBytes == 24);
  CHECK(resources->sharedMemoryBytes == 1024);
  CHECK_FALSE(nvptx::resourcesOf("nothing"));
  CHECK_FALSE(nvptx::resourcesOf(" registers"));
}
#endif

#if IMBREX_ENABLE_AMDGPU
TEST_CASE("what AMD's code spills is found by the marks of LLVM, with the line of most") {
  const SpilledLines spilled =
      amdgpu::spillsIn("\t.file\t1 \"/kernels\" \"one.cpp\"\n"
                       "\t.loc\t1 3 0\n"
                       "\tscratch_store_dword off, v1, s32 ; 4-byte Folded Spill\n"
                       "\t.loc\t1 7 0 ; one.cpp:7\n"
                       "\tscratch_store_dwordx4 off, v[0:3], s32 offset:4 ; 16-byte Folded Spill\n"
                       "\tscratch_load_dword v1, off, s32 ; 4-byte Folded Reload\n");
  CHECK(spilled.total() == 20);
  CHECK(toText(spilled.most()) == "/kernels/one.cpp:7");
  CHECK(amdgpu::spillsIn("s_endpgm").total() == 0);
}

TEST_CASE("AMD's assembly is counted by class and width") {
  const InstructionMix mix = amdgpu::mixOfAssembly(R"(
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
k:                                      ; @k
; %bb.0:
	s_load_dwordx4 s[0:3], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx4 v[2:5], v1, s[0:1] ; 16-byte
	global_load_b128 v[2:5], v1, s[0:1]
	global_load_ubyte v2, v1, s[0:1]
	global_load_lds_dwordx4 v1, s[0:1]
	global_load_lds_dword v1, s[0:1] offset:64
	global_load_async_to_lds_b128 v0, v[2:3], off
	tensor_load_to_lds s[0:3], s[4:11]
	ds_read2_b32 v[2:3], v1 offset1:1
	ds_load_2addr_b64 v[2:5], v1 offset1:1
	ds_read_b64_tr_b16 v[2:3], v1
	ds_load_tr16_b128 v[2:5], v1
	ds_write_b128 v1, v[2:5]
	s_barrier
	s_barrier_signal -1
	s_wait_dscnt 0x0
	ds_bpermute_b32 v1, v2, v3
	v_permlanex16_b32 v1, v0, s2, 0xfedcba98 op_sel:[1,1]
	v_add_f32_dpp v1, v2, v3 row_mirror row_mask:0xf bank_mask:0xf
	v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
	v_cvt_f32_i32_e32 v1, v2
	v_accvgpr_read_b32 v1, a0
	v_cmp_lt_f32_e32 vcc, v1, v2
	v_cmp_lt_u32_e32 vcc, v1, v2
	ds_add_u32 v1, v2
	global_atomic_add v1, v2, s[0:1]
	scratch_store_dword off, v1, s32
	buffer_inv sc1
	s_cbranch_execz .LBB0_2
	v_exp_f32_e32 v1, v2
.LBB0_2:
	global_store_short v1, v2, s[0:1]
	s_endpgm
	.section .rodata
)");
  using Widths = std::map<std::int32_t, std::int32_t>;
  CHECK(mix.widths.at(Class::ConstantLoad) == Widths{{16, 1}});
  CHECK(mix.widths.at(Class::GlobalLoad) == Widths{{1, 1}, {16, 2}});
  CHECK(mix.count(Class::GlobalLoad) == 3);
  CHECK(mix.count(Class::AsyncCopy) == 4);
  CHECK(mix.widths.at(Class::AsyncCopy) == Widths{{4, 1}, {16, 2}});
  CHECK(mix.widths.at(Class::GlobalStore) == Widths{{2, 1}});
  CHECK(mix.widths.at(Class::SharedLoad) == Widths{{8, 2}, {16, 2}});
  CHECK(mix.widths.at(Class::SharedStore) == Widths{{16, 1}});
  CHECK(mix.widths.at(Class::StackStore) == Widths{{4, 1}});
  CHECK(mix.count(Class::Wait) == 3);
  CHECK(mix.count(Class::Barrier) == 2);
  CHECK(mix.count(Class::Shuffle) == 2);
  CHECK(mix.count(Class::Float) == 4);
  CHECK(mix.count(Class::Integer) == 2);
  CHECK(mix.count(Class::Matrix) == 1);
  CHECK(mix.count(Class::Convert) == 1);
  CHECK(mix.count(Class::Move) == 1);
  CHECK(mix.count(Class::Atomic) == 2);
  CHECK(mix.count(Class::Branch) == 2);
  CHECK(mix.total() == 35);
}
#endif

TEST_CASE("an image says what its kernel takes" * doctest::test_suite("toolkit")) {
  for (const GpuTarget *target : sample::targets()) {
    CHECK(target->resources(ObjectCode{}).registers == 0);
    if (!imbrex::testing::canAssemble(*target)) continue;
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto module =
        sample::kernel(context, *target, [](const auto &words, auto &b, llvm::Value *x) {
          llvm::Module &inside = *b.GetInsertBlock()->getModule();
          auto *type = llvm::ArrayType::get(b.getInt32Ty(), 300);
          auto *shared = new llvm::GlobalVariable(
              inside, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
              "shared", nullptr, llvm::GlobalValue::NotThreadLocal, words.sharedSpace());
          llvm::Value *here = b.CreateGEP(b.getInt32Ty(), shared, words.threadIndex(b));
          b.CreateStore(x, here);
          words.meetAll(b);
          return b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt32Ty(), shared, 200));
        });
    target->optimise(*module);
    const auto object = target->objectOf(target->assembly(*module).value());
    REQUIRE(object.ok());
    const Resources resources = target->resources(*object);
    CHECK(resources.sharedMemoryBytes == 1200);
    CHECK(resources.registers > 0);
    CHECK(resources.registers < 64);
    CHECK(resources.spilledBytes == 0);
    CHECK(resources.stackBytes == 0);
  }
}

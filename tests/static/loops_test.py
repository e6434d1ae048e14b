"""bench/static/loops.py finds the loop of the products in machine code, and counts a step of it;
products.py does so with ours where there is no peer, and else says what falls short.

    loops_test.py BENCH_PRODUCTS"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "static"))
import loops
import products

# A loop of two steps of one product each, behind one that copies; the last branch ends the text.
UNROLLED = """\
//--------------------- .text.k --------------------------
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDGSTS.E.BYPASS.128 [R2], [R4.64] ;
        /*0020*/              @P0  BRA `(.L_x_0) ;
.L_x_1:
        /*0030*/                   LDSM.16.M88.4 R8, [R2] ;
        /*0040*/                   HMMA.16816.F32.BF16 R12, R8, R10, R12 ;
        /*0050*/              @!P1 LDGSTS.E.BYPASS.128 [R2], [R4.64] ;
        /*0060*/                   HMMA.16816.F32.BF16 R16, R8, R10, R16 ;
        /*0070*/                   IADD3 R4, P0, R4, 0x40, RZ ;
        /*0080*/              @P0  BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
.L_x_2:
        /*00a0*/                   BRA `(.L_x_2) ;
//--------------------- .text.other --------------------------
        /*0000*/                   HMMA.16816.F32.BF16 R12, R8, R10, R12 ;
"""

# A step of eight multiply-adds of each lane, of which a loop in it has two a turn.
ROLLED = """\
//--------------------- .text.k --------------------------
.L_x_0:
        /*0010*/                   BAR.SYNC 0x0 ;
.L_x_1:
        /*0020*/                   LDS R8, [R2] ;
        /*0030*/                   FFMA R12, R8, R10, R12 ;
        /*0040*/                   FFMA R13, R8, R10, R13 ;
        /*0050*/              @P0  BRA `(.L_x_1) ;
        /*0060*/              @P1  BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
"""

BRANCHING = """\
//--------------------- .text.k --------------------------
.L_x_0:
        /*0010*/              @P0  BRA `(.L_x_2) ;
        /*0020*/              @P1  BRA `(.L_x_3) ;
.L_x_1:
        /*0030*/                   ISETP.GE R0, R1 ;
        /*0040*/                   ISETP.GE R0, R2 ;
        /*0050*/                   LDGSTS.E.BYPASS.128 [R2], [R6.64], P3 ;
        /*0060*/                   BRA `(.L_x_3) ;
.L_x_2:
        /*0070*/                   IADD3 R4, P2, R4, 0x40, RZ ;
        /*0080*/                   LDGSTS.E.BYPASS.128 [R2], [R4.64] ;
.L_x_3:
        /*0090*/                   HMMA.16816.F32.BF16 R12, R8, R10, R12 ;
        /*00a0*/              @P0  BRA `(.L_x_0) ;
        /*00b0*/                   EXIT ;
"""

GUARDED = """\
//--------------------- .text.k --------------------------
.L_x_0:
        /*0010*/              @P0  LDGSTS.E.BYPASS.128 [R2], [R4.64] ;
        /*0020*/              @P0  BRA `(.L_x_1) ;
        /*0030*/                   ISETP.GE R0, R2 ;
        /*0040*/                   LDGSTS.E.BYPASS.128 [R2], [R6.64], P3 ;
.L_x_1:
        /*0050*/                   HMMA.16816.F32.BF16 R12, R8, R10, R12 ;
        /*0060*/              @P1  BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
"""

GCN = """\
\t.text
k:                                      ; @k
; %bb.0:
\ts_load_dwordx2 s[0:1], s[4:5], 0x0
.LBB0_1:                                ; %for
                                        ; =>This Inner Loop Header: Depth=1
\tds_read_b128 v[0:3], v8
\ts_waitcnt lgkmcnt(0)
\tv_mfma_f32_32x32x8_bf16_1k v[16:31], v[0:1], v[2:3], v[16:31]
\ts_nop 1
\tv_add_u32_e32 v8, 16, v8
\ts_cbranch_scc1 .LBB0_1
; %bb.2:
\ts_endpgm
\t.section\t.rodata,"a",@progbits
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size 0
\t.end_amdhsa_kernel
"""


class Loops(unittest.TestCase):
    def test_a_step_is_its_part_of_an_unrolled_turn(self):
        code, labels = loops.parse_sass(UNROLLED)
        self.assertEqual(len(code), 11)
        self.assertEqual([(loop.first, loop.last) for loop in loops.loops_of(code, labels)],
                         [(1, 2), (3, 8)])
        step = loops.step_of(code, labels, 16 * 8 * 16, 32)
        self.assertEqual((step.steps, step.instructions), (2, 3))
        self.assertEqual(step.by_kind(), {"matrix": 1, "shared read": 0.5, "global": 0.5,
                                          "branch": 0.5, "integer": 0.5})

    def test_the_loop_with_the_copies_is_the_one(self):
        # Behind it one of the last steps, for which all has been copied.
        last = UNROLLED.replace(".L_x_0", ".L_x_3").replace(".L_x_1", ".L_x_4").splitlines()
        last = [line for line in last[4:] if "LDGSTS" not in line and "x_3" not in line]
        code, labels = loops.parse_sass("\n".join([*UNROLLED.splitlines()[:14], *last]))
        self.assertEqual(len(loops.loops_of(code, labels)), 3)
        step = loops.step_of(code, labels, 16 * 8 * 16, 32)
        self.assertEqual((step.loops, step.instructions), (2, 3))

    def test_a_loop_that_only_stores_is_not_the_one(self):
        # What a branch back from behind the loop makes look like one.
        lines = UNROLLED.splitlines()
        stores = [line.replace("LDGSTS.E.BYPASS.128", "STG.E.128").replace("x_1", "x_4")
                  for line in lines[6:13] if "IADD3" not in line]
        code, labels = loops.parse_sass("\n".join([*lines[:14], *stores]))
        step = loops.step_of(code, labels, 16 * 8 * 16, 32)
        self.assertEqual((step.loops, step.instructions), (2, 3))

    def test_products_that_are_computed_twice_make_no_further_step(self):
        code, labels = loops.parse_sass(UNROLLED)
        for wanted, steps in ((1500, 2), (2500, 1), (4096, 1), (4500, 1)):
            self.assertEqual(loops.step_of(code, labels, wanted, 32).steps, steps)

    def test_turns_of_a_loop_in_a_step_follow_from_the_products(self):
        step = loops.step_of(*loops.parse_sass(ROLLED), 8 * 32, 32)
        self.assertEqual(step.instructions, 1 + 4 * 4 + 1)
        self.assertEqual(step.by_kind(), {"shared read": 4, "wait": 1, "float": 8, "branch": 5})

    def test_a_branch_around_copies_counts_the_shorter_way_that_copies(self):
        # From the head on: a branch to copies without masks, else those with them, or none.
        lines = BRANCHING.splitlines()
        code, labels = loops.parse_sass(BRANCHING)
        step = loops.step_of(code, labels, 16 * 8 * 16, 32)
        self.assertEqual(step.by_kind(), {"matrix": 1, "global": 1, "branch": 2, "integer": 1})
        self.assertEqual([i.text for i in step.code if i.loads],
                         ["LDGSTS.E.BYPASS.128 [R2], [R4.64]"])
        # Without those that need no mask, the way that copies.
        lines = [line for line in lines if "[R2], [R4.64]" not in line]
        step = loops.step_of(*loops.parse_sass("\n".join(lines)), 16 * 8 * 16, 32)
        self.assertEqual([i.text for i in step.code if i.loads],
                         ["LDGSTS.E.BYPASS.128 [R2], [R6.64], P3"])
        # Of a loop within the loop all counts, as long as nobody says how often it turns.
        inner = BRANCHING.replace("ISETP.GE R0, R2 ;", "@P4 BRA `(.L_x_1) ;")
        step = loops.step_of(*loops.parse_sass(inner), 16 * 8 * 16, 32)
        self.assertEqual(step.by_kind()["global"], 2)

    def test_copies_under_a_branch_s_condition_in_front_of_it_are_on_the_way_around_the_others(self):
        # As an assembler has it that spares the first of two branches.
        code, labels = loops.parse_sass(GUARDED)
        step = loops.step_of(code, labels, 16 * 8 * 16, 32)
        self.assertEqual(step.by_kind(), {"matrix": 1, "global": 1, "branch": 2})
        uniform = GUARDED.replace("@P0  BRA `(.L_x_1)", "BRA.U UP0, `(.L_x_1)")
        step = loops.step_of(*loops.parse_sass(uniform), 16 * 8 * 16, 32)
        self.assertEqual(step.by_kind()["global"], 1)
        # What a branch leads around that nothing is done in place of counts.
        other = GUARDED.replace("@P0  LDGSTS", "LDGSTS")
        step = loops.step_of(*loops.parse_sass(other), 16 * 8 * 16, 32)
        self.assertEqual(step.by_kind()["global"], 2)

    def test_a_loop_without_the_products_is_none(self):
        code, labels = loops.parse_sass(ROLLED.replace("FFMA", "FADD"))
        self.assertIsNone(loops.step_of(code, labels, 8 * 32, 32))

    def test_assembly_of_the_other_vendor(self):
        code, labels = loops.parse_gcn(GCN)
        step = loops.step_of(code, labels, 32 * 32 * 8, 64)
        self.assertEqual(len(code), 8)
        self.assertEqual(step.by_kind(), {"matrix": 1, "shared read": 1, "wait": 1, "branch": 1,
                                          "integer": 1, "hint": 1})

    def test_kinds(self):
        expected = {
            "LDSM.16.M88.4": "shared read", "LDL.LU": "spill", "STL": "spill", "LDC.64": "move",
            "LDGSTS.E.128": "global", "LDGDEPBAR": "wait", "STG.E": "global",
            "F2FP.BF16": "convert",
            "UIADD3": "uniform", "UTMALDG.2D": "global", "VIADD": "integer", "R2UR": "uniform",
            "SYNCS.ARRIVE": "wait", "scratch_load_dwordx2": "spill", "s_waitcnt": "wait",
            "ds_bpermute_b32": "shuffle", "ds_read_b128": "shared read", "s_add_i32": "scalar",
            "v_dual_cndmask_b32": "move", "buffer_load_dwordx4": "global", "s_delay_alu": "hint",
            "v_perm_b32": "move", "v_permlanex16_b32": "shuffle", "v_lshl_add_u32": "integer",
            "NEW.OP": "other"}
        for mnemonic, kind in expected.items():
            self.assertEqual(loops.Instruction(mnemonic, mnemonic, None).kind, kind, mnemonic)

    def test_products_of_instructions(self):
        expected = {
            "HMMA.16816.F32": 2048, "HMMA.1688.F32.TF32": 1024, "IMMA.16832.S8.S8": 4096,
            "QMMA.16832.F32.E4M3.E4M3": 4096, "HGMMA.64x256x16.F32.BF16": 65536, "FFMA": 32,
            "IMAD": 32, "IMAD.MOV.U32": 0, "LDSM.16.M88.4": 0}
        for mnemonic, products in expected.items():
            self.assertEqual(loops.sass_products(mnemonic), products, mnemonic)
        expected = {
            "v_mfma_f32_16x16x32_fp8_fp8 v[0:3]": 8192, "v_mfma_i32_32x32x16_i8 v[0:15]": 16384,
            "v_wmma_f32_16x16x16_bf16 v[0:7]": 4096, "v_pk_fma_f32 v[0:1]": 64,
            "v_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5": 64,
            "v_fmac_f32_e32 v0, v1, v2": 32, "v_fma_mix_f32 v0, v1, v2, v0": 32,
            "v_add_f32_e32 v0, v1, v2": 0}
        for text, products in expected.items():
            self.assertEqual(loops.gcn_products(text, 32), products, text)


def count(**given):
    return {"instructions": 100, "warps": 4, "registers": 128, "shared_bytes": 49152, "spills": 0,
            "stack": 0, "bank_conflicts": 0, "blocks_on_core": 4, "masked": True} | given


class Comparison(unittest.TestCase):
    CASE = {"target": "sm_80", "register_granule": 8, "registers_of_core": 65536,
            "shared_of_core": 167936, "shared_reserved": 1024, "warps_of_core": 64}

    def row(self, ours, theirs):
        return {"kernel": "k", "target": "sm_80", "ours": ours, "triton": theirs,
                "ratio": products.ratio(ours, theirs), "ratio_no_masks": None}

    def test_the_best_spills_nothing_and_has_the_fewest_instructions_of_a_block(self):
        counts = [count(instructions=90, spills=3), count(instructions=120),
                  count(instructions=58, warps=8)]
        self.assertEqual(products.least(counts), counts[2])
        self.assertEqual(products.least(counts[:2]), counts[1])
        self.assertIsNone(products.least([]))

    def test_ratios_are_of_a_block(self):
        self.assertEqual(products.ratio(count(), count(instructions=100, warps=8)), 0.5)
        self.assertIsNone(products.ratio(count(), None))

    def test_what_keeps_blocks_from_a_core(self):
        on = lambda **given: products.blocks_on_core(self.CASE, count(**given))
        self.assertEqual(on(registers=128), 3)  # by shared memory
        self.assertEqual(on(registers=249), 2)  # by registers, which are given by eight
        self.assertEqual(on(registers=32, shared_bytes=0), 16)

    def test_what_falls_short_is_named(self):
        self.assertEqual(list(products.misses(self.row(count(), count(instructions=150)))), [])
        short = count(instructions=130, shared_bytes=65536, spills=2, bank_conflicts=7,
                      blocks_on_core=2)
        self.assertEqual(list(products.misses(self.row(short, count(instructions=150)))),
                         ["instructions 0.87", "shared memory 65536 for 49152",
                          "2 blocks on a core for 4", "spills 2, stack 0", "bank conflicts 7"])
        self.assertEqual(list(products.misses(self.row({"error": "no loop"}, None))), ["no loop"])


class Products(unittest.TestCase):
    program = ""

    def test_warps_on_a_core_are_all_of_the_blocks(self):
        tools = products.Tools(None)
        with tempfile.TemporaryDirectory() as folder:
            rows = products.ours_of(self.program, "sm_90a", "gemm_bf16_128x128x32_abt", tools,
                                    folder)
        if "image" not in rows[0]:
            self.skipTest(rows[0]["assembler"])
        for row in rows:
            self.assertGreater(row["threads"], 32 * row["warps"])  # one loads
            self.assertEqual(row["warps_on_core"], row["blocks_on_core"] * row["threads"] // 32)
            shared = row["shared_of_core"] // (row["shared_bytes"] + row["shared_reserved"])
            warps = 4 * (row["registers_of_core"] // 4 // (32 * -(-row["registers"] // 8) * 8))
            self.assertEqual(row["blocks_on_core"],
                             min(shared, warps // (row["threads"] // 32)))

    def test_ours_are_counted_where_there_is_no_peer(self):
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "bench/static/products.py", self.program, "--targets",
             "gfx942", "--only", "gemm_bf16_128x128x64_ab", "--triton", "/no/such/python"],
            capture_output=True, text=True)
        print(done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0)
        self.assertIn("SKIP: Triton's side", done.stderr)
        rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| gemm")]
        self.assertEqual(len(rows), 2)  # a · b and a · bᵀ
        for row in rows:
            self.assertGreater(float(row[2]), 32)
            self.assertIn("-: -", row[3])


if __name__ == "__main__":
    Products.program = sys.argv.pop()
    unittest.main()

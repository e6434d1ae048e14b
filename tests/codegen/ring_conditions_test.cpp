#include "tests/codegen/random_loops.h"
#include "tests/codegen/ring_assembly.h"

/// What the ways through an assembly have in common: the conditions of their jumps.
namespace imbrex::testing {

namespace {

/// Two copies, each behind a jump: whether the code may do one of them without the other.
bool mayPart(const std::string &first, const std::string &second) {
  using target::RingEventKind;
  // Two copies or none, and the end of their group.
  const RingOrder both{{{.next = {2, 4}},
                        {},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {3}},
                        {.event = target::RingEvent{RingEventKind::Copy}, .next = {4}},
                        {.next = {5}},
                        {.event = target::RingEvent{RingEventKind::Commit}, .next = {1}}}};
  const std::string copy = "cp.async.cg.shared.global [%r1], [%rd1], 16;\n";
  const std::string text = "\n{\nmov.u32 %r9, %tid.x;\nld.global.b32 %r5, [%rd1];\n" + first +
                           " bra $A;\n" + copy + "$A:\n" + second + " bra $B;\n" + copy +
                           "$B:\ncp.async.commit_group;\nret;\n}\n";
  return differenceFrom(both, targetNamed("sm_80")->ringsOf(text)).has_value();
}

/// One copy on each of two ways, of which a flag of scalar registers tells at their meeting:
/// whether the code may do none or two of them.
bool mayMistake(const std::string &decision) {
  const RingOrder one{
      {{.next = {2}}, {}, {.event = target::RingEvent{target::RingEventKind::Copy}, .next = {1}}}};
  const std::string copy = "global_load_lds_dwordx4 v[0:1], off\n";
  const std::string text = "; %bb.0\ns_mov_b64 s[2:3], 0\ns_cbranch_scc1 .LBB0_1\n" + copy +
                           "s_mov_b64 s[2:3], -1\n.LBB0_1:\n" + decision + " .LBB0_2\n" + copy +
                           ".LBB0_2:\ns_endpgm\n";
  return differenceFrom(one, targetNamed("gfx950")->ringsOf(text)).has_value();
}

using target::RingEventKind;

/// Of copies and commits in any order; but which copy may have been one that others follow, so many
/// of either, is to be remembered: for each of the last ones.
RingOrder withManyMemories(std::size_t length) {
  constexpr std::size_t kLoop = 2;
  RingOrder order{{{.next = {kLoop}}, {}, {.next = {RingOrder::kEnd}}}};
  const auto addTo = [&](std::size_t from, RingEventKind kind) {
    order.steps.push_back({.event = target::RingEvent{kind}});
    order.steps[from].next.push_back(order.steps.size() - 1);
    return order.steps.size() - 1;
  };
  for (const RingEventKind kind : {RingEventKind::Copy, RingEventKind::Commit})
    order.steps[addTo(kLoop, kind)].next = {kLoop};
  std::size_t last = addTo(kLoop, RingEventKind::Copy);
  for (std::size_t i = 1; i < length; ++i) {
    order.steps.push_back({});
    const std::size_t join = order.steps.size() - 1;
    for (const RingEventKind kind : {RingEventKind::Copy, RingEventKind::Commit})
      order.steps[addTo(last, kind)].next = {join};
    last = join;
  }
  order.steps[last].next = {RingOrder::kEnd};
  return order;
}

/// A loop with a copy and a commit in any order.
target::CodeGraph inAnyOrder(std::vector<target::RingEvent> last = {}) {
  const std::vector<target::CodeBlock::Edge> all{{.to = 0}, {.to = 1}, {.to = 2}};
  return {{.label = "copies", .events = {{RingEventKind::Copy}}, .next = all},
          {.label = "commits", .events = {{RingEventKind::Commit}}, .next = all},
          {.label = "end", .events = std::move(last), .ends = true}};
}

} // namespace

TEST_CASE("a flag that ways set on their way to a meeting says which of them it was") {
  if (targetNamed("gfx950") == nullptr) return;
  const std::string take = "s_and_b64 vcc, exec, s[2:3]\n";
  CHECK_FALSE(mayMistake(take + "s_cbranch_vccnz"));
  CHECK_FALSE(mayMistake("s_and_b64 vcc, s[2:3], exec\ns_cbranch_vccnz"));
  CHECK_FALSE(mayMistake("s_andn2_b64 vcc, exec, s[2:3]\ns_cbranch_vccz"));
  CHECK_FALSE(mayMistake("s_xor_b64 s[6:7], s[2:3], -1\ns_andn2_b64 vcc, exec, s[6:7]\n"
                         "s_cbranch_vccnz"));
  CHECK_FALSE(mayMistake("s_xor_b64 s[6:7], s[2:3], -1\ns_branch .LBB0_3\n.LBB0_3:\n"
                         "s_and_b64 vcc, exec, s[6:7]\ns_cbranch_vccz"));
  CHECK_FALSE(mayMistake("s_mov_b64 s[6:7], s[2:3]\ns_mov_b64 s[2:3], 0\n"
                         "s_branch .LBB0_3\n.LBB0_3:\ns_and_b64 vcc, exec, s[6:7]\n"
                         "s_cbranch_vccnz"));
  // The opposite, another register, and what nobody can tell.
  CHECK(mayMistake(take + "s_cbranch_vccz"));
  CHECK(mayMistake("s_xor_b64 s[2:3], s[2:3], -1\n" + take + "s_cbranch_vccnz"));
  CHECK(mayMistake("s_and_b64 vcc, exec, s[4:5]\ns_cbranch_vccnz"));
  CHECK(mayMistake("s_and_b64 vcc, exec, s[2:3]\ns_cbranch_scc1"));
  CHECK(mayMistake("s_and_b64 vcc, s[4:5], s[2:3]\ns_cbranch_vccnz"));
  // It has been set anew, whole or in part, before it is asked; once it has been, vcc holds what it
  // was, until that is set anew.
  for (const char *set :
       {"s_mov_b64 s[2:3], s[8:9]\n", "s_mov_b32 s3, 0\n", "s_mov_b32 s2, s8\n",
        "s_load_dwordx4 s[0:3], s[8:9], 0x0\n", "v_cmp_eq_u32_e64 s[2:3], v0, v1\n",
        "v_mad_u64_u32 v[2:3], s[2:3], v0, v1, v[4:5]\n", "s_mov_b64 s[2:3], 0\n",
        "v_readfirstlane_b32 s2, v0\n"}) {
    CAPTURE(set);
    CHECK(mayMistake(set + take + "s_cbranch_vccnz"));
    CHECK_FALSE(mayMistake(take + set + "s_cbranch_vccnz"));
    CHECK_FALSE(
        mayMistake("s_andn2_b64 vcc, exec, s[2:3]\n" + std::string(set) + "s_cbranch_vccz"));
    CHECK(mayMistake(take + set + "s_cbranch_vccz"));
    CHECK(mayMistake(take + set + "s_branch .LBB0_3\n.LBB0_3:\n" + take + "s_cbranch_vccnz"));
  }
  for (const char *set : {"v_cmp_eq_u32_e32 vcc, v0, v1\n", "s_mov_b32 vcc_lo, 0\n",
                          "v_add_co_u32_e32 v0, vcc, v1, v2\n"})
    CHECK(mayMistake(take + set + "s_cbranch_vccnz"));
}

TEST_CASE("jumps on one predicate go the same way, until it is set anew") {
  if (targetNamed("sm_80") == nullptr) return;
  const std::string first = "setp.eq.s32 %p1, %r5, 0;\n@%p1";
  CHECK_FALSE(mayPart(first, "@%p1"));
  CHECK(mayPart(first, "@!%p1"));
  CHECK(mayPart(first, "setp.lt.s32 %p1, %r5, 0;\n@%p1"));
}

TEST_CASE("jumps on one condition go the same way, in whatever form it is computed") {
  if (targetNamed("sm_80") == nullptr) return;
  CHECK_FALSE(mayPart("setp.gt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.u32 %p2, %r5, 9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.gt.s16 %p1, %r5, 2;\n@%p1", "setp.lt.s16 %p2, %r5, 3;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.gt.u32 %p1, %r5, -4;\n@%p1", "setp.lt.u32 %p2, %r5, -3;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, -9;\n@%p1", "setp.ge.s32 %p2, %r5, -8;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, 8;\n@%p1", "setp.ge.s32 %p2, %r5, 9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r5, %r9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.lt.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r9, %r5;\n@%p2"));
  CHECK_FALSE(mayPart("setp.eq.s32 %p1, %r5, %r9;\nnot.pred %p3, %p1;\n@%p3",
                      "setp.ne.s32 %p2, %r5, %r9;\n@%p2"));
  const std::string byte = "cvt.s8.s32 %rs1, %r5;\nsetp.lt.s16 %p1, %rs1, 1;\n@%p1";
  const std::string half = "cvt.u16.u32 %rs2, %r5;\n";
  CHECK_FALSE(mayPart(byte, half + "cvt.s16.s8 %rs3, %rs2;\nsetp.lt.s16 %p2, %rs3, 1;\n@%p2"));
  CHECK(mayPart(byte, half + "cvt.u16.u8 %rs3, %rs2;\nsetp.lt.s16 %p2, %rs3, 1;\n@%p2"));
  CHECK(mayPart(byte, half + "setp.lt.s16 %p2, %rs2, 1;\n@%p2"));
  CHECK(mayPart(byte, "ld.global.b16 %rs2, [%rd1];\ncvt.s16.s8 %rs3, %rs2;\n"
                      "setp.lt.s16 %p2, %rs3, 1;\n@%p2"));
  const std::string some = "and.b32 %r2, %r9, 24;\nsetp.eq.b32 %p1, %r2, 0;\n@%p1";
  CHECK_FALSE(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.ne.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 56;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
}

TEST_CASE("conditions that only look alike may differ") {
  if (targetNamed("sm_80") == nullptr) return;
  CHECK(mayPart("setp.gt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.u32 %p2, %r5, 8;\n@!%p2"));
  CHECK(mayPart("setp.lt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.s32 %p2, %r5, 8;\n@%p2"));
  CHECK(mayPart("setp.gt.s16 %p1, %r5, 32767;\n@%p1", "setp.lt.s16 %p2, %r5, 32768;\n@!%p2"));
  CHECK(mayPart("setp.gt.u32 %p1, %r5, -1;\n@%p1", "setp.lt.u32 %p2, %r5, 0;\n@!%p2"));
  CHECK(mayPart("setp.lt.f32 %p1, %r5, %r9;\n@%p1", "setp.ge.f32 %p2, %r5, %r9;\n@!%p2")); // NaN
  // What is read anew may be something else, into another register or into the same.
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.b32 %r6, [%rd1];\nsetp.eq.s32 %p2, %r6, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.b32 %r5, [%rd1];\nsetp.eq.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n@%p1",
                "ld.global.v2.b32 {%r4, %r5}, [%rd1];\nsetp.eq.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("mov.u32 %r2, %clock;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1",
                "mov.u32 %r3, %clock;\nsetp.eq.s32 %p2, %r3, 0;\n@%p2"));
}

TEST_CASE("a condition of what a register held before is none of what it holds now") {
  if (targetNamed("sm_80") == nullptr) return;
  const std::string again = "ld.global.b32 %r5, [%rd1];\n";
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n" + again + "@%p1", "setp.eq.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\n" + again + "not.pred %p3, %p1;\n@%p3",
                "setp.ne.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p1, %r5, 0;\nnot.pred %p3, %p1;\n" + again + "@%p3",
                "setp.ne.s32 %p2, %r5, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p2, %r5, 0;\n" + again + "setp.eq.s32 %p1, %r5, 0;\n@%p1", "@%p2"));
  CHECK_FALSE(mayPart(again + "setp.eq.s32 %p1, %r5, 0;\n@%p1", "setp.ne.s32 %p2, %r5, 0;\n@!%p2"));
  // It may be told by what was made of that, while this is what it was.
  const std::string far = "sub.s32 %r6, %r9, %r5;\nsetp.lt.u32 %p1, %r6, 2;\n" + again + "@%p1";
  CHECK_FALSE(mayPart(far, "setp.gt.u32 %p2, %r6, 1;\n@!%p2"));
  CHECK_FALSE(mayPart(far, "@%p1"));
  CHECK(mayPart(far, "setp.gt.u32 %p2, %r6, 1;\n@%p2"));
  CHECK(mayPart(far, "sub.s32 %r7, %r9, %r5;\nsetp.gt.u32 %p2, %r7, 1;\n@!%p2"));
  CHECK(mayPart("sub.s32 %r6, %r9, %r5;\nsetp.lt.u32 %p1, %r6, 2;\n@%p1",
                again + "sub.s32 %r7, %r9, %r5;\nsetp.gt.u32 %p2, %r7, 1;\n@!%p2"));
  // In a vector, and as the opposite.
  CHECK(mayPart("mov.b64 %rd5, {%r5, %r9};\nsetp.eq.s64 %p1, %rd5, 0;\n@%p1",
                again + "mov.b64 %rd6, {%r5, %r9};\nsetp.eq.s64 %p2, %rd6, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p3, %r5, 0;\nsetp.eq.and.s32 %p1, %r9, 0, !%p3;\n@%p1",
                "setp.eq.s32 %p3, %r9, 1;\nsetp.eq.and.s32 %p2, %r9, 0, !%p3;\n@%p2"));
}

TEST_CASE("ways whose steps include another's need not be looked at") {
  // 2^30 sets of steps may come next.
  const RingOrder meant = withManyMemories(30);
  CHECK_FALSE(differenceFrom(meant, inAnyOrder()));
  const auto difference = differenceFrom(meant, inAnyOrder({{RingEventKind::Show}}));
  REQUIRE(difference);
  CHECK(difference->isKnown);
  CHECK(has(difference->what, "in 'end'"));
}

TEST_CASE("of more ways than may be looked at it is said that nothing is known") {
  const RingOrder meant = withManyMemories(3);
  const target::CodeGraph code = inAnyOrder();
  CHECK(checkRings(meant, code, "loops", "sm_80", 100));
  constexpr std::size_t kTooFew = 2;
  CHECK_FALSE(differenceFrom(meant, code, kTooFew)->isKnown);
  const auto checked = checkRings(meant, code, "loops", "sm_80", kTooFew);
  REQUIRE_FALSE(checked);
  CHECK(has(render(checked.error()),
            "whether the assembly of kernel 'loops' for sm_80 does what was proven of its rings is "
            "not known: more than 2 ways through it had to be looked at\n"
            "  hint: let fewer of its loops be 'pipelined', or make several kernels of it"));
}

TEST_CASE("what many loops do on gfx950 is compared") {
  const target::GpuTarget *target = targetNamed("gfx950");
  if (target == nullptr) return;
  const Compiled made = compiled(randomLoops(3001, kManyLoops), *target);
  const auto text = makeAssembly(*made.code, *target);
  CHECK_MESSAGE(text, text.error().message);
}

} // namespace imbrex::testing

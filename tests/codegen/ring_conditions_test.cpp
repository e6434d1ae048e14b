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

} // namespace

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
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, 8;\n@%p1", "setp.ge.s32 %p2, %r5, 9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.le.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r5, %r9;\n@!%p2"));
  CHECK_FALSE(mayPart("setp.lt.s32 %p1, %r5, %r9;\n@%p1", "setp.gt.s32 %p2, %r9, %r5;\n@%p2"));
  CHECK_FALSE(mayPart("setp.eq.s32 %p1, %r5, %r9;\nnot.pred %p3, %p1;\n@%p3",
                      "setp.ne.s32 %p2, %r5, %r9;\n@%p2"));
  const std::string some = "and.b32 %r2, %r9, 24;\nsetp.eq.b32 %p1, %r2, 0;\n@%p1";
  CHECK_FALSE(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 24;\nsetp.ne.b32 %p2, %r3, 0;\n@%p2"));
  CHECK(mayPart(some, "and.b32 %r3, %r9, 56;\nsetp.eq.b32 %p2, %r3, 0;\n@%p2"));
}

TEST_CASE("conditions that only look alike may differ") {
  if (targetNamed("sm_80") == nullptr) return;
  CHECK(mayPart("setp.gt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.u32 %p2, %r5, 8;\n@!%p2"));
  CHECK(mayPart("setp.lt.u32 %p1, %r5, 8;\n@%p1", "setp.lt.s32 %p2, %r5, 8;\n@%p2"));
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
  // In a vector, and as the opposite.
  CHECK(mayPart("mov.b64 %rd5, {%r5, %r9};\nsetp.eq.s64 %p1, %rd5, 0;\n@%p1",
                again + "mov.b64 %rd6, {%r5, %r9};\nsetp.eq.s64 %p2, %rd6, 0;\n@%p2"));
  CHECK(mayPart("setp.eq.s32 %p3, %r5, 0;\nsetp.eq.and.s32 %p1, %r9, 0, !%p3;\n@%p1",
                "setp.eq.s32 %p3, %r9, 1;\nsetp.eq.and.s32 %p2, %r9, 0, !%p3;\n@%p2"));
}

} // namespace imbrex::testing

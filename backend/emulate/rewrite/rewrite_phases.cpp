#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::Value;

Value *make(MachineCall &c) {
  return createCall(c.b, calls::makeBarrier,
                    {c.site("making of a barrier", PhaseSite{}), c.word(0), c.operand(1)});
}

Value *unmake(MachineCall &c) {
  return createCall(c.b, calls::unmakeBarrier,
                    {c.site("end of a barrier", PhaseSite{}), c.word(0)});
}

/// Which operands say how often it arrives and how many bytes it expects; -1: once, none.
struct ArrivalOperands {
  int count, bytes;
};

Value *arrive(MachineCall &c, const PhaseSite &facts, ArrivalOperands at) {
  const auto operand = [&](int index, std::uint32_t otherwise) -> Value * {
    return index < 0 ? c.b.getInt32(otherwise) : c.operand(static_cast<unsigned>(index));
  };
  return createCall(c.b, calls::arriveAtPhase,
                    {c.site("arrival at a barrier", facts), c.word(0), operand(at.count, 1),
                     operand(at.bytes, 0)});
}

/// No arrival, but bytes.
Value *expect(MachineCall &c, int sign) {
  Value *bytes = c.operand(1);
  return createCall(c.b, calls::arriveAtPhase,
                    {c.site("announcement of bytes", PhaseSite{}), c.word(0), c.b.getInt32(0),
                     sign < 0 ? c.b.CreateNeg(bytes) : bytes});
}

Value *await(MachineCall &c, const PhaseSite &facts) {
  Value *isOver =
      createCall(c.b, calls::awaitPhase, {c.site("wait for a phase", facts), c.word(0), c.word(1)});
  return c.b.CreateTrunc(isOver, c.call.getType());
}

Value *signal(MachineCall &c, std::uint32_t more) {
  return createCall(c.b, calls::signalPhase,
                    {c.site("arrival behind copies", PhaseSite{}), c.word(0), c.b.getInt32(more)});
}

/// The state of a phase has the arrivals that it lacked in its upper half.
Value *lacking(MachineCall &c) {
  return c.b.CreateTrunc(c.b.CreateLShr(c.operand(0), 32), c.call.getType());
}

namespace phase_columns {
constexpr bool Ordered = true, Unordered = false;
constexpr bool Drops = true, Stays = false;
constexpr bool MayNotEnd = true, MayEnd = false;
constexpr bool Parity = true, State = false;
constexpr std::uint32_t More = 1, Counted = 0;
} // namespace phase_columns

} // namespace

RewriteTable phaseRewrites() {
  using namespace phase_columns;
  return {
#define IMBREX_PHASE_MAKE_CALL(intrinsic) {llvm::Intrinsic::intrinsic, make},
#define IMBREX_PHASE_UNMAKE_CALL(intrinsic) {llvm::Intrinsic::intrinsic, unmake},
#define IMBREX_PHASE_ARRIVE_CALL(intrinsic, memory, arrivals, end, count, bytes)                   \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) {                                                \
     return arrive(c, {.ordersMemory = memory, .drops = arrivals, .mayNotEnd = end},               \
                   {count, bytes});                                                                \
   }},
#define IMBREX_PHASE_EXPECT_CALL(intrinsic, sign)                                                  \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return expect(c, sign); }},
#define IMBREX_PHASE_AWAIT_CALL(intrinsic, by, memory)                                             \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](MachineCall &c) { return await(c, {.ordersMemory = memory, .asksByParity = by}); }},
#define IMBREX_PHASE_SIGNAL_CALL(intrinsic, count)                                                 \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return signal(c, count); }},
#include "backend/emulate/rewrite/phase_calls.def"
      {llvm::Intrinsic::nvvm_mbarrier_pending_count, lacking},
  };
}

} // namespace imbrex::emulate

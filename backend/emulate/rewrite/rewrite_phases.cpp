#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;

Value *siteOf(Rewriting &rewriting, CallInst &call, const char *what, const PhaseSite &facts = {}) {
  return addSite(rewriting, call, what, facts);
}

Value *addressOf(Rewriting &rewriting, Builder &b, CallInst &call) {
  return toWord(rewriting, b, call.getArgOperand(0));
}

bool make(Rewriting &rewriting, Builder &b, CallInst &call) {
  createCall(b, calls::makeBarrier,
             {siteOf(rewriting, call, "making of a barrier"), addressOf(rewriting, b, call),
              call.getArgOperand(1)});
  return true;
}

bool unmake(Rewriting &rewriting, Builder &b, CallInst &call) {
  createCall(b, calls::unmakeBarrier,
             {siteOf(rewriting, call, "end of a barrier"), addressOf(rewriting, b, call)});
  return true;
}

/// Which operands say how often it arrives and how many bytes it expects; -1: once, none.
struct ArrivalOperands {
  int count, bytes;
};

bool arrive(Rewriting &rewriting, Builder &b, CallInst &call, const PhaseSite &facts,
            ArrivalOperands at) {
  const auto operand = [&](int index, std::uint32_t otherwise) -> Value * {
    return index < 0 ? b.getInt32(otherwise) : call.getArgOperand(static_cast<unsigned>(index));
  };
  Value *state =
      createCall(b, calls::arriveAtPhase,
                 {siteOf(rewriting, call, "arrival at a barrier", facts),
                  addressOf(rewriting, b, call), operand(at.count, 1), operand(at.bytes, 0)});
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(state);
  return true;
}

/// No arrival, but bytes.
bool expect(Rewriting &rewriting, Builder &b, CallInst &call, int sign) {
  Value *bytes = call.getArgOperand(1);
  createCall(b, calls::arriveAtPhase,
             {siteOf(rewriting, call, "announcement of bytes"), addressOf(rewriting, b, call),
              b.getInt32(0), sign < 0 ? b.CreateNeg(bytes) : bytes});
  return true;
}

bool await(Rewriting &rewriting, Builder &b, CallInst &call, const PhaseSite &facts) {
  Value *isOver =
      createCall(b, calls::awaitPhase,
                 {siteOf(rewriting, call, "wait for a phase", facts), addressOf(rewriting, b, call),
                  toWord(rewriting, b, call.getArgOperand(1))});
  call.replaceAllUsesWith(b.CreateTrunc(isOver, call.getType()));
  return true;
}

bool signal(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t more) {
  createCall(b, calls::signalPhase,
             {siteOf(rewriting, call, "arrival behind copies"), addressOf(rewriting, b, call),
              b.getInt32(more)});
  return true;
}

/// The state of a phase has the arrivals that it lacked in its upper half.
bool lacking(Builder &b, CallInst &call) {
  Value *upper = b.CreateLShr(call.getArgOperand(0), 32);
  call.replaceAllUsesWith(b.CreateTrunc(upper, call.getType()));
  return true;
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
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return arrive(r, b, c, {.ordersMemory = memory, .drops = arrivals, .mayNotEnd = end},         \
                   {count, bytes});                                                                \
   }},
#define IMBREX_PHASE_EXPECT_CALL(intrinsic, sign)                                                  \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return expect(r, b, c, sign); }},
#define IMBREX_PHASE_AWAIT_CALL(intrinsic, by, memory)                                             \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return await(r, b, c, {.ordersMemory = memory, .asksByParity = by});                          \
   }},
#define IMBREX_PHASE_SIGNAL_CALL(intrinsic, count)                                                 \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return signal(r, b, c, count); }},
#include "backend/emulate/rewrite/phase_calls.def"
      {llvm::Intrinsic::nvvm_mbarrier_pending_count,
       [](Rewriting &, Builder &b, CallInst &c) { return lacking(b, c); }},
  };
}

} // namespace imbrex::emulate

#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

/// Whether AMD's threads, where they meet in a loop, have done what the trip before began.
using namespace imbrex;
using llvm::Value;
using lower::Vocabulary;
using target::GpuTarget;
using Builder = Vocabulary::Builder;

namespace {

/// A loop of x trips that begins with a meeting and ends with what a function does; x.
sample::Body meetingThen(const std::function<void(const Vocabulary &, Builder &, Value *)> &end) {
  return [end](const Vocabulary &words, Builder &b, Value *x) -> Value * {
    llvm::Function *function = b.GetInsertBlock()->getParent();
    llvm::BasicBlock *before = b.GetInsertBlock();
    auto *loop = llvm::BasicBlock::Create(b.getContext(), "loop", function);
    auto *after = llvm::BasicBlock::Create(b.getContext(), "after", function);
    Value *trips = words.blockIndex(b, 0);
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *trip = b.CreatePHI(b.getInt32Ty(), 2);
    words.meetAll(b);
    Value *value = b.CreateAdd(x, trip);
    end(words, b, value);
    Value *next = b.CreateAdd(trip, b.getInt32(1));
    trip->addIncoming(b.getInt32(0), before);
    trip->addIncoming(next, loop);
    b.CreateCondBr(b.CreateICmpULT(next, trips), loop, after);
    b.SetInsertPoint(after);
    return x;
  };
}

void storeTo(Builder &b, unsigned space, Value *value) {
  Value *place = b.CreateShl(value, 2);
  auto *pointer = llvm::PointerType::get(b.getContext(), space);
  b.CreateAlignedStore(value, b.CreateIntToPtr(b.CreateZExt(place, b.getInt64Ty()), pointer),
                       llvm::Align(4));
}

/// How many meetings an assembly has, each of which must release for the block.
int checkMeetings(const GpuTarget &target, llvm::StringRef text) {
  int meetings = 0;
  for (const target::FoundAccess &found : target.accessesOf(text)) {
    if (found.access.kind != target::AccessKind::Meeting) continue;
    CHECK(found.access.releases >= target::MemoryScope::Block);
    ++meetings;
  }
  return meetings;
}

} // namespace

TEST_CASE("on AMD a meeting in a loop waits for what the trip before has stored") {
  const auto toMemory = meetingThen([](const Vocabulary &words, Builder &b, Value *value) {
    storeTo(b, words.globalSpace(), value);
  });
  const auto toShared = meetingThen([](const Vocabulary &words, Builder &b, Value *value) {
    storeTo(b, words.sharedSpace(), value);
  });
  for (const GpuTarget *target : sample::targets()) {
    if (target->machine().family != machine::Family::Amdgpu) continue;
    CAPTURE(std::string(target->machine().name));
    for (const sample::Body &body : {toMemory, toShared}) {
      llvm::LLVMContext context;
      const auto module = sample::kernel(context, *target, body);
      target->optimise(*module);
      const auto text = target->assembly(*module);
      REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
      CAPTURE(*text);
      CHECK(checkMeetings(*target, *text) >= 1);
    }
  }
}

#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/TargetParser/TargetParser.h"

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;

/// What starts a copy, for people: which instruction it is follows from the machine.
constexpr const char *kCopy = "asynchronous copy";

/// The accesses of a copy of so many bytes, which must be aligned to their number (PTX ISA 9.0,
/// 9.7.9.25.3.1, "cp.async").
CopySite copySite(const Rewriting &rewriting, const CallInst &call, std::uint32_t bytes) {
  CopySite facts;
  facts.from.bytes = facts.to.bytes = bytes;
  facts.from.alignment = facts.to.alignment = bytes;
  facts.from.space = Space::Global;
  facts.from.parameter = parameterBehind(rewriting, call.getArgOperand(1));
  facts.to.space = Space::Shared;
  facts.to.mode = AccessMode::Write;
  return facts;
}

/// `taken`: the operand that says how many bytes are read; -1: all.
bool startCopy(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t bytes, int taken) {
  Value *count = taken < 0 ? b.getInt32(bytes) : call.getArgOperand(static_cast<unsigned>(taken));
  createCall(b, calls::startCopy,
             {addSite(rewriting, call, kCopy, copySite(rewriting, call, bytes)),
              toWord(rewriting, b, call.getArgOperand(0)),
              toWord(rewriting, b, call.getArgOperand(1)), count});
  return true;
}

// --- AMD's ---

std::uint64_t constant(const CallInst &call, unsigned operand) {
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(operand))->getZExtValue();
}

/// Whether the machine has loads of so many bytes to LDS (LLVM 22, AMDGPU.td:
/// "vmem-to-lds-load-insts" and "lds-load-b96-b128").
bool hasLdsLoad(const machine::Machine &machine, std::uint64_t bytes) {
  const unsigned generation = llvm::AMDGPU::getIsaVersion(machine.cpu).Major;
  if (generation != 9 && generation != 10) return false;
  const bool isWide = bytes == 12 || bytes == 16;
  return bytes == 1 || bytes == 2 || bytes == 4 || (isWide && machine.cpu == "gfx950");
}

CopySite ldsSite(std::uint32_t bytes, bool hasOneBase) {
  CopySite facts;
  // Less than a word is extended to one by zeros.
  const std::uint32_t stored = hasOneBase ? std::max(bytes, 4u) : bytes;
  facts.from.bytes = bytes;
  facts.from.alignment = std::min(bytes, 4u);
  facts.from.space = Space::Global;
  facts.to.bytes = stored;
  facts.to.alignment = std::min(stored, 4u);
  facts.to.space = Space::Shared;
  facts.to.mode = AccessMode::Write;
  facts.laneStride = hasOneBase ? stored : 0;
  facts.isGroup = true;
  return facts;
}

enum class LdsSource : std::uint8_t { Pointer, Buffer };

bool loadToLds(Rewriting &rewriting, Builder &b, CallInst &call, LdsSource source) {
  const auto bytes = static_cast<std::uint32_t>(constant(call, 2));
  if (!hasLdsLoad(rewriting.machine, bytes)) return false;
  CopySite facts = ldsSite(bytes, true);
  const auto word = [&](unsigned operand) {
    return toWord(rewriting, b, call.getArgOperand(operand));
  };
  if (source == LdsSource::Buffer) {
    Value *offset = call.getArgOperand(5);
    Value *to = b.CreateAdd(word(1), b.CreateZExt(offset, b.getInt64Ty()));
    createCall(b, calls::startBufferCopy,
               {addSite(rewriting, call, kCopy, facts), to, word(0),
                b.CreateAdd(call.getArgOperand(3), offset), call.getArgOperand(4)});
    return true;
  }
  // The offset is added to both addresses.
  facts.from.parameter = parameterBehind(rewriting, call.getArgOperand(0));
  Value *offset = b.CreateSExt(call.getArgOperand(3), b.getInt64Ty());
  createCall(b, calls::startCopy,
             {addSite(rewriting, call, kCopy, facts), b.CreateAdd(word(1), offset),
              b.CreateAdd(word(0), offset), b.getInt32(bytes)});
  return true;
}

bool loadToLdsAsync(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t bytes) {
  // No document says whether the offset is added to one address or to both.
  const llvm::AMDGPU::IsaVersion version = llvm::AMDGPU::getIsaVersion(rewriting.machine.cpu);
  const bool hasAsyncCount = version.Major == 12 && version.Minor >= 5;
  if (constant(call, 2) != 0 || !hasAsyncCount) return false;
  CopySite facts = ldsSite(bytes, false);
  facts.from.parameter = parameterBehind(rewriting, call.getArgOperand(0));
  createCall(b, calls::startCopy,
             {addSite(rewriting, call, kCopy, facts), toWord(rewriting, b, call.getArgOperand(1)),
              toWord(rewriting, b, call.getArgOperand(0)), b.getInt32(bytes)});
  return true;
}

bool makeBuffer(Rewriting &rewriting, Builder &b, CallInst &call) {
  const auto *stride = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
  constexpr unsigned kResource = 8; // the address space; a fat pointer has another
  if (stride == nullptr || !stride->isZero() ||
      call.getType()->getPointerAddressSpace() != kResource)
    return false;
  Value *base = call.getArgOperand(0), *records = call.getArgOperand(2);
  Value *buffer =
      createCall(b, calls::makeBuffer,
                 {toWord(rewriting, b, base), toWord(rewriting, b, records),
                  b.getInt32(static_cast<std::uint32_t>(parameterBehind(rewriting, base)))});
  call.replaceAllUsesWith(b.CreateIntToPtr(buffer, call.getType()));
  return true;
}

/// The field of s_waitcnt that counts vector memory: bits 0 to 3, 14 and 15 (LLVM 22,
/// AMDGPUBaseInfo.cpp, decodeVmcnt). From gfx11 on it is elsewhere, and nothing loads to LDS.
std::uint64_t vectorMemoryCount(std::uint64_t counters) {
  return (counters & 15) | (counters >> 14 & 3) << 4;
}

// --- both ---

bool commitCopies(Builder &b) {
  createCall(b, calls::commitCopies, {});
  return true;
}

bool await(Rewriting &rewriting, Builder &b, CallInst &call, Value *groups) {
  createCall(b, calls::awaitCopies,
             {addSite(rewriting, call, "wait for copies", ControlSite{}), groups});
  return true;
}

} // namespace

RewriteTable asyncRewrites() {
  return {
#define IMBREX_COPY_CALL(intrinsic, bytes, taken)                                                  \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return startCopy(r, b, c, bytes, taken); }},
#define IMBREX_LDS_LOAD_CALL(intrinsic, from)                                                      \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return loadToLds(r, b, c, LdsSource::from); }},
#define IMBREX_LDS_ASYNC_LOAD_CALL(intrinsic, bytes)                                               \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return loadToLdsAsync(r, b, c, bytes); }},
#define IMBREX_AWAIT_COUNTERS_CALL(intrinsic)                                                      \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return await(r, b, c, b.getInt64(vectorMemoryCount(constant(c, 0))));                         \
   }},
#define IMBREX_COMMIT_CALL(intrinsic)                                                              \
  {llvm::Intrinsic::intrinsic, [](Rewriting &, Builder &b, CallInst &) { return commitCopies(b); }},
#define IMBREX_AWAIT_CALL(intrinsic, groups)                                                       \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return await(r, b, c, toWord(r, b, c.getArgOperand(groups)));                                 \
   }},
#define IMBREX_AWAIT_ALL_CALL(intrinsic)                                                           \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return commitCopies(b) && await(r, b, c, b.getInt64(0));                                      \
   }},
#include "backend/emulate/rewrite/async_calls.def"
      {llvm::Intrinsic::amdgcn_make_buffer_rsrc, makeBuffer},
  };
}

} // namespace imbrex::emulate

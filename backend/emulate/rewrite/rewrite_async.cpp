#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/TargetParser/TargetParser.h"

namespace imbrex::emulate {
namespace {

using llvm::Value;

/// What starts a copy, for people: which instruction it is follows from the machine.
constexpr const char *kCopy = "asynchronous copy";

/// The accesses of a copy of so many bytes, which must be aligned to their number (PTX ISA 9.0,
/// 9.7.9.25.3.1, "cp.async").
CopySite copySite(const MachineCall &c, std::uint32_t bytes) {
  CopySite facts;
  facts.from.bytes = facts.to.bytes = bytes;
  facts.from.alignment = facts.to.alignment = bytes;
  facts.from.space = Space::Global;
  facts.from.parameter = parameterBehind(c.rewriting, c.operand(1));
  facts.to.space = Space::Shared;
  facts.to.mode = AccessMode::Write;
  return facts;
}

/// `taken`: the operand that says how many bytes are read; -1: all.
Value *startCopy(MachineCall &c, std::uint32_t bytes, int taken) {
  Value *count = taken < 0 ? c.b.getInt32(bytes) : c.operand(static_cast<unsigned>(taken));
  return createCall(c.b, calls::startCopy,
                    {c.site(kCopy, copySite(c, bytes)), c.word(0), c.word(1), count});
}

// --- AMD's ---

std::uint64_t constant(const MachineCall &c, unsigned operand) {
  return llvm::cast<llvm::ConstantInt>(c.operand(operand))->getZExtValue();
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

Value *loadToLds(MachineCall &c, LdsSource source) {
  const auto bytes = static_cast<std::uint32_t>(constant(c, 2));
  if (!hasLdsLoad(c.rewriting.machine, bytes)) return nullptr;
  CopySite facts = ldsSite(bytes, true);
  if (source == LdsSource::Buffer) {
    Value *offset = c.operand(5);
    Value *to = c.b.CreateAdd(c.word(1), c.b.CreateZExt(offset, c.b.getInt64Ty()));
    return createCall(
        c.b, calls::startBufferCopy,
        {c.site(kCopy, facts), to, c.word(0), c.b.CreateAdd(c.operand(3), offset), c.operand(4)});
  }
  // The offset is added to both addresses.
  facts.from.parameter = parameterBehind(c.rewriting, c.operand(0));
  Value *offset = c.b.CreateSExt(c.operand(3), c.b.getInt64Ty());
  return createCall(c.b, calls::startCopy,
                    {c.site(kCopy, facts), c.b.CreateAdd(c.word(1), offset),
                     c.b.CreateAdd(c.word(0), offset), c.b.getInt32(bytes)});
}

Value *loadToLdsAsync(MachineCall &c, std::uint32_t bytes) {
  // No document says whether the offset is added to one address or to both.
  const llvm::AMDGPU::IsaVersion version = llvm::AMDGPU::getIsaVersion(c.rewriting.machine.cpu);
  const bool hasAsyncCount = version.Major == 12 && version.Minor >= 5;
  if (constant(c, 2) != 0 || !hasAsyncCount) return nullptr;
  CopySite facts = ldsSite(bytes, false);
  facts.from.parameter = parameterBehind(c.rewriting, c.operand(0));
  return createCall(c.b, calls::startCopy,
                    {c.site(kCopy, facts), c.word(1), c.word(0), c.b.getInt32(bytes)});
}

Value *makeBuffer(MachineCall &c) {
  const auto *stride = llvm::dyn_cast<llvm::ConstantInt>(c.operand(1));
  constexpr unsigned kResource = 8; // the address space; a fat pointer has another
  if (stride == nullptr || !stride->isZero() ||
      c.call.getType()->getPointerAddressSpace() != kResource)
    return nullptr;
  const auto parameter = static_cast<std::uint32_t>(parameterBehind(c.rewriting, c.operand(0)));
  Value *buffer =
      createCall(c.b, calls::makeBuffer, {c.word(0), c.word(2), c.b.getInt32(parameter)});
  return c.b.CreateIntToPtr(buffer, c.call.getType());
}

/// The field of s_waitcnt that counts vector memory: bits 0 to 3, 14 and 15 (LLVM 22,
/// AMDGPUBaseInfo.cpp, decodeVmcnt). From gfx11 on it is elsewhere, and nothing loads to LDS.
std::uint64_t vectorMemoryCount(std::uint64_t counters) {
  return (counters & 15) | (counters >> 14 & 3) << 4;
}

// --- both ---

Value *commitCopies(MachineCall &c) { return createCall(c.b, calls::commitCopies, {}); }

Value *await(MachineCall &c, Value *groups) {
  return createCall(c.b, calls::awaitCopies, {c.site("wait for copies"), groups});
}

Value *awaitAll(MachineCall &c) {
  commitCopies(c);
  return await(c, c.b.getInt64(0));
}

} // namespace

RewriteTable asyncRewrites() {
  return {
#define IMBREX_COPY_CALL(intrinsic, bytes, taken)                                                  \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return startCopy(c, bytes, taken); }},
#define IMBREX_LDS_LOAD_CALL(intrinsic, from)                                                      \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return loadToLds(c, LdsSource::from); }},
#define IMBREX_LDS_ASYNC_LOAD_CALL(intrinsic, bytes)                                               \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return loadToLdsAsync(c, bytes); }},
#define IMBREX_AWAIT_COUNTERS_CALL(intrinsic)                                                      \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](MachineCall &c) { return await(c, c.b.getInt64(vectorMemoryCount(constant(c, 0)))); }},
#define IMBREX_COMMIT_CALL(intrinsic) {llvm::Intrinsic::intrinsic, commitCopies},
#define IMBREX_AWAIT_CALL(intrinsic, groups)                                                       \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return await(c, c.word(groups)); }},
#define IMBREX_AWAIT_ALL_CALL(intrinsic) {llvm::Intrinsic::intrinsic, awaitAll},
#include "backend/emulate/rewrite/async_calls.def"
      {llvm::Intrinsic::amdgcn_make_buffer_rsrc, makeBuffer},
  };
}

} // namespace imbrex::emulate

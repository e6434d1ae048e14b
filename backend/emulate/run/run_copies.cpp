#include "backend/emulate/run/grid_run.h"

#include <algorithm>

/// Copies from global to shared memory that run beside the threads.
namespace imbrex::emulate {

/// What a copy touches, at the time of its issue; no destination after an error that ends the run.
Copy GridRun::checkedCopy(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  const auto &facts = std::get<CopySite>(code_.sites[site].facts);
  Copy copy{.bytes = operands.bytes, .zeros = facts.to.bytes - operands.bytes, .site = site};
  const ThreadId queue = agents_.of(thread.order.id(), Queue::Copies);
  const Tick tick = thread.copies.nextTick();
  AccessSite taken = facts.from;
  taken.bytes = operands.bytes;
  if (operands.parameter >= 0) taken.parameter = operands.parameter;
  // What takes no byte may point anywhere.
  if (operands.bytes != 0) {
    copy.from = memory_.access({thread, site, taken, queue, tick}, operands.from);
    if (copy.from == nullptr) return copy;
  }
  // The vector memory operations of AMD's waves are over in the order in which they were issued
  // (LLVM, AMDGPUUsage, "Memory Model gfx942"). Of NVIDIA's copies that is said of groups alone.
  const bool isInOrder = facts.laneStride != 0;
  copy.to = memory_.access({thread, site, facts.to, queue, tick, false, isInOrder},
                           operands.to + std::uint64_t{facts.laneStride} * thread.lane);
  return copy;
}

/// AMD's loads to LDS take one address for all lanes, which the compiler reads from the first.
void GridRun::checkLaneBase(const Thread &thread, std::uint32_t site, std::uint64_t base) {
  const auto other =
      thread.block->laneBases.differing({thread.warp, site, thread.meetings, thread.lane, base});
  if (other) report_.errorOf(thread, Diag::EmulatedNotUniform, site, 0, std::int64_t{*other});
}

void GridRun::startCopy(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  const auto &facts = std::get<CopySite>(code_.sites[site].facts);
  thread.site = site;
  if (operands.bytes > facts.to.bytes) {
    report_.error(Diag::EmulatedCopySize, site, 0, code_.sites[site].what,
                  std::int64_t{operands.bytes}, std::int64_t{facts.to.bytes},
                  report_.text(thread.order.id()));
    abandon(thread);
  }
  if (facts.laneStride != 0) checkLaneBase(thread, site, operands.to);
  const Copy copy = checkedCopy(thread, site, operands);
  if (copy.to == nullptr) abandon(thread);
  thread.copies.issue(copy);
  if (facts.isGroup) thread.copies.commit();
  copiesFly_ = true;
  if (launch_.options.delivery == Delivery::Random) thread.copies.landSome(random_);
  if (launch_.options.counters != nullptr && operands.bytes != 0)
    recorder_.touch(thread, site, operands.from, false);
}

std::uint64_t GridRun::makeBuffer(const BufferResource &buffer) {
  const auto [number, isNew] = bufferNumbers_.try_emplace(buffer, buffers_.size());
  if (isNew) buffers_.push_back(buffer);
  return number->second;
}

/// Words beyond the buffer's size are zeros when they are read, and are not written ("AMD Instinct
/// MI300" ISA, 9.1.5.1, "Range checking"). The scalar offset is not part of what is compared (LLVM,
/// IntrinsicsAMDGPU.td).
CopyOperands GridRun::withinBuffer(const BufferOperands &operands, std::uint32_t wanted) const {
  constexpr std::uint32_t kWord = 4;
  const BufferResource &buffer = buffers_.at(operands.buffer);
  const std::uint64_t left =
      buffer.records > operands.offset ? buffer.records - operands.offset : 0;
  std::uint32_t bytes = wanted;
  if (left < wanted) bytes = static_cast<std::uint32_t>(left / kWord * kWord);
  return {.to = operands.to,
          .from = buffer.base + operands.offset + operands.scalarOffset,
          .bytes = bytes,
          .parameter = buffer.parameter};
}

void GridRun::startBufferCopy(Thread &thread, std::uint32_t site, const BufferOperands &operands) {
  const std::uint32_t wanted = std::get<CopySite>(code_.sites[site].facts).from.bytes;
  startCopy(thread, site, withinBuffer(operands, wanted));
}

void GridRun::accessBuffer(Thread &thread, std::uint32_t site, const BufferOperands &operands) {
  AccessSite facts = std::get<AccessSite>(code_.sites[site].facts);
  const CopyOperands within = withinBuffer(operands, facts.bytes);
  facts.bytes = within.bytes;
  facts.parameter = within.parameter;
  if (facts.bytes == 0) return;
  std::byte *memory =
      memory_.access({thread, site, facts, thread.order.id(), thread.order.tick()}, within.from);
  if (memory == nullptr) abandon(thread);
  if (launch_.options.counters != nullptr) recorder_.touch(thread, site, within.from, false);
  auto *words = reinterpret_cast<std::byte *>(thread.words.data());
  if (writes(facts.mode))
    std::copy_n(words, facts.bytes, memory);
  else
    std::copy_n(memory, facts.bytes, words);
}

void GridRun::awaitCopies(Thread &thread, std::uint32_t site, std::uint64_t groups) {
  thread.site = site;
  const Tick over = thread.copies.await(groups);
  const ThreadId queue = agents_.of(thread.order.id(), Queue::Copies);
  // Bytes that a wave of AMD's has waited for are in LDS, where all see them. NVIDIA's wait makes
  // them visible to the thread alone (PTX ISA 9.0, 9.7.9.25.3.3).
  if (code_.lanesMeetAlways)
    thread.order.publishLanded(queue, over);
  else
    thread.order.seeLanded(queue, over);
}

/// PTX ISA 9.0, 9.7.9.25.1 lets those wait who access the result, and does not say that the end of
/// a thread waits for anybody. When all have ended, the memory is another block's.
void GridRun::endCopies(Thread &thread) {
  endStores(thread);
  const std::optional<Copy> pending = thread.copies.pending();
  if (!pending) return;
  report_.errorOf(thread, Diag::EmulatedNeverAwaited, pending->site, thread.site,
                  toText(code_.sites[thread.site].where));
}

void GridRun::landSome() {
  for (const std::unique_ptr<ThreadBlock> &block : blocks_) {
    for (const std::unique_ptr<Thread> &thread : block->threads) {
      thread->copies.landSome(random_);
      thread->stores.landSome(random_);
    }
    for (std::size_t i = block->completions.size(); i-- > 0 && !isStopped_;)
      if ((random_() & 3) == 0) complete(*block, i);
  }
}

} // namespace imbrex::emulate

#include "backend/emulate/run.h"

/// Copies from global to shared memory that run beside the threads.
namespace imbrex::emulate {

void Run::startCopy(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  const auto &facts = std::get<CopySite>(code_.sites[site].facts);
  thread.site = site;
  if (operands.bytes > facts.to.bytes) {
    report_.error(Diag::EmulatedCopySize, site, 0, code_.sites[site].what,
                  std::int64_t{operands.bytes}, std::int64_t{facts.to.bytes},
                  report_.text(thread.order.id()));
    abandon(thread);
  }
  AccessSite taken = facts.from;
  taken.bytes = operands.bytes;
  const ThreadId queue = agents_.of(thread.order.id(), Queue::Copies);
  const Tick tick = thread.copies.nextTick();
  Copy copy{.bytes = operands.bytes, .zeros = facts.to.bytes - operands.bytes, .site = site};
  // What takes no byte may point anywhere.
  if (operands.bytes != 0)
    copy.from = memory_.access({thread, site, taken, queue, tick}, operands.from);
  if (operands.bytes == 0 || copy.from != nullptr)
    copy.to = memory_.access({thread, site, facts.to, queue, tick}, operands.to);
  if (copy.to == nullptr) abandon(thread);
  thread.copies.issue(copy);
  copiesFly_ = true;
  if (launch_.delivery == Delivery::Random) thread.copies.landSome(random_);
  if (launch_.counters != nullptr && operands.bytes != 0)
    recorder_.touch(thread, site, operands.from, false);
}

void Run::awaitCopies(Thread &thread, std::uint32_t site, std::uint64_t groups) {
  thread.site = site;
  const Tick over = thread.copies.await(groups);
  thread.order.seeLanded(agents_.of(thread.order.id(), Queue::Copies), over);
}

/// PTX ISA 9.0, 9.7.9.25.1 lets those wait who access the result, and does not say that the end of
/// a thread waits for anybody. When all have ended, the memory is another block's.
void Run::endCopies(Thread &thread) {
  const std::optional<Copy> pending = thread.copies.pending();
  if (!pending) return;
  report_.error(Diag::EmulatedNeverAwaited, pending->site, thread.site,
                code_.sites[pending->site].what, report_.text(thread.order.id()),
                toText(code_.sites[thread.site].where));
}

void Run::landSome() {
  for (const std::unique_ptr<Block> &block : blocks_)
    for (const std::unique_ptr<Thread> &thread : block->threads) thread->copies.landSome(random_);
}

} // namespace imbrex::emulate

#include "backend/emulate/run/grid_run.h"

#include <cstring>

/// Copies of boxes and of many bytes, which another proxy makes: NVIDIA's TMA.
namespace imbrex::emulate {
namespace {

constexpr std::uint32_t kBulkUnit = 16; // PTX ISA 9.0, 9.7.9.25.4, "Bulk copy"
constexpr std::uint32_t kBoxAlignment = 128;

/// Half of a bulk copy.
AccessSite bulkAccess(AccessMode mode, Space space, std::uint32_t bytes) {
  AccessSite facts;
  facts.mode = mode;
  facts.space = space;
  facts.bytes = bytes;
  return facts;
}

} // namespace

void GridRun::fenceProxy(Thread &thread) { thread.order.fenceProxy(agents_.generic()); }

void GridRun::fenceMaking(Thread &thread) {
  for (auto &[offset, barrier] : thread.block->phaseBarriers)
    if (barrier.maker == thread.order.id()) thread.order.seeLanded(barrier.fence, 1);
}

/// A number for a copy that ends by itself: one that the thread knows to be free, or a new one.
IdleAgent GridRun::idleAgent(Thread &thread) {
  for (IdleAgent &agent : thread.bulkAgents)
    if (thread.order.seen().seen(agent.id) >= agent.tick) {
      ++agent.tick;
      return agent;
    }
  thread.bulkAgents.push_back({agents_.make(thread.order.id()), 1});
  return thread.bulkAgents.back();
}

/// The barrier at which a bulk copy ends. Its making must have crossed to the other proxy.
PhaseBarrier &GridRun::bulkBarrier(Thread &thread, std::uint32_t site, std::uint64_t address) {
  PhaseBarrier &barrier = knownBarrier(thread, site, address);
  checkArrival(thread, site, barrier, *barrier.knownPhases(thread.order.seen()));
  const Clock &seen = thread.order.seen();
  const bool isFenced = seen.seen(barrier.fence) != 0 ||
                        seen.seen(agents_.fenceOf(barrier.maker)) >= barrier.madeTick;
  if (!isFenced)
    report_.errorOf(thread, Diag::EmulatedProxy, site, barrier.madeAt, std::string("ends at"),
                    std::string("shared memory"), code_.sites[barrier.madeAt].what,
                    toText(code_.sites[barrier.madeAt].where), report_.text(barrier.maker));
  return barrier;
}

/// One half of a copy, or of a part of one; null after an error that ends the run. Whoever holds
/// memory must give it back before it abandons the thread.
std::byte *GridRun::touchInBulk(Thread &thread, std::uint32_t site, const IdleAgent &agent,
                                const AccessSite &facts, std::uint64_t address) {
  return memory_.access({thread, site, facts, agent.id, agent.tick, true}, address);
}

void GridRun::requireAligned(Thread &thread, std::uint32_t site, std::uint64_t address,
                             std::uint32_t alignment) {
  if (address % alignment == 0) return;
  report_.errorOf(thread, Diag::EmulatedOperand, site, 0,
                  "an address that ends in " + std::to_string(address % alignment),
                  "it must be a multiple of " + std::to_string(alignment));
  abandon(thread);
}

void GridRun::requireUnits(Thread &thread, std::uint32_t site, std::uint32_t bytes) {
  if (bytes % kBulkUnit == 0) return;
  report_.errorOf(thread, Diag::EmulatedOperand, site, 0, std::to_string(bytes) + " bytes",
                  std::string("they must be a multiple of 16"));
  abandon(thread);
}

/// Whether there is a map that a copy can be given.
bool GridRun::readMap(Thread &thread, std::uint32_t site, std::uint64_t address, TensorMap &map) {
  const AccessSite facts = bulkAccess(AccessMode::Read, Space::Generic, sizeof(TensorMap));
  const std::byte *bytes =
      memory_.access({thread, site, facts, thread.order.id(), thread.order.tick()}, address);
  if (bytes == nullptr) return false;
  std::memcpy(&map, bytes, sizeof(map));
  const auto wrong = whatIsWrong(map, std::get<BoxSite>(code_.sites[site].facts).axes);
  if (!wrong) return true;
  report_.errorOf(thread, Diag::EmulatedOperand, site, 0, std::string("a tensor map"), *wrong);
  return false;
}

TensorMap GridRun::tensorMap(Thread &thread, std::uint32_t site, std::uint64_t address) {
  requireAligned(thread, site, address, alignof(TensorMap));
  TensorMap map;
  if (!readMap(thread, site, address, map)) abandon(thread);
  return map;
}

/// A copy that is to end at a barrier, with a number of its own; what it copies is not in it yet.
Completion GridRun::bulkLoad(Thread &thread, std::uint32_t site, std::uint64_t barrier) {
  const std::uint32_t phase = bulkBarrier(thread, site, barrier).phase;
  const IdleAgent agent = idleAgent(thread);
  return {.issuer = &thread,
          .site = site,
          .barrier = offsetOf(barrier),
          .phase = phase,
          .by = agent.id,
          .tick = agent.tick};
}

void GridRun::endAtBarrier(Thread &thread, Completion load, std::int64_t bytes,
                           std::vector<Copy> copies) {
  load.bytes = bytes;
  load.copies = std::move(copies);
  thread.block->completions.push_back(std::move(load));
  copiesFly_ = true;
}

void GridRun::requireBulk(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  requireUnits(thread, site, operands.bytes);
  requireAligned(thread, site, operands.to, kBulkUnit);
  requireAligned(thread, site, operands.from, kBulkUnit);
}

void GridRun::loadBulk(Thread &thread, std::uint32_t site, const BulkOperands &operands) {
  Completion load = bulkLoad(thread, site, operands.barrier);
  requireBulk(thread, site, {operands.to, operands.from, operands.bytes});
  const IdleAgent agent{load.by, load.tick};
  Copy copy{.bytes = operands.bytes, .site = site};
  copy.from =
      touchInBulk(thread, site, agent, bulkAccess(AccessMode::Read, Space::Global, operands.bytes),
                  operands.from);
  if (copy.from != nullptr)
    copy.to =
        touchInBulk(thread, site, agent,
                    bulkAccess(AccessMode::Write, Space::Shared, operands.bytes), operands.to);
  if (copy.to == nullptr) abandon(thread);
  endAtBarrier(thread, std::move(load), operands.bytes, {copy});
}

std::optional<std::vector<Copy>> GridRun::loadedParts(Thread &thread, std::uint32_t site,
                                                      const IdleAgent &agent, const TensorMap &map,
                                                      const BoxOperands &operands) {
  std::vector<Copy> parts;
  for (const BoxPiece &piece : piecesOf(map, operands.first)) {
    Copy copy{.site = site};
    (piece.address != 0 ? copy.bytes : copy.zeros) = piece.bytes;
    if (piece.address != 0) {
      copy.from =
          touchInBulk(thread, site, agent, bulkAccess(AccessMode::Read, Space::Global, piece.bytes),
                      piece.address);
      if (copy.from == nullptr) return std::nullopt;
    }
    copy.to =
        touchInBulk(thread, site, agent, bulkAccess(AccessMode::Write, Space::Shared, piece.bytes),
                    swizzled(map.swizzle, operands.shared + piece.offset));
    if (copy.to == nullptr) return std::nullopt;
    parts.push_back(copy);
  }
  return parts;
}

void GridRun::loadBox(Thread &thread, std::uint32_t site, const BoxOperands &operands) {
  Completion load = bulkLoad(thread, site, operands.barrier);
  const TensorMap map = tensorMap(thread, site, operands.map);
  requireAligned(thread, site, operands.shared, kBoxAlignment);
  auto parts = loadedParts(thread, site, {load.by, load.tick}, map, operands);
  if (!parts) abandon(thread);
  endAtBarrier(thread, std::move(load), boxBytes(map), std::move(*parts));
}

// --- from shared memory ---

/// No destination after an error that ends the run.
Copy GridRun::storedPart(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  const Tick tick = thread.stores.nextTick();
  const IdleAgent taker{agents_.of(thread.order.id(), Queue::BulkReads), tick};
  const IdleAgent giver{agents_.of(thread.order.id(), Queue::BulkWrites), tick};
  Copy copy{.bytes = operands.bytes, .site = site};
  copy.from =
      touchInBulk(thread, site, taker, bulkAccess(AccessMode::Read, Space::Shared, operands.bytes),
                  operands.from);
  if (copy.from == nullptr) return copy;
  copy.to = touchInBulk(thread, site, giver,
                        bulkAccess(AccessMode::Write, Space::Global, operands.bytes), operands.to);
  return copy;
}

void GridRun::storeBulk(Thread &thread, std::uint32_t site, const CopyOperands &operands) {
  thread.site = site;
  requireBulk(thread, site, operands);
  const Copy part = storedPart(thread, site, operands);
  if (part.to == nullptr) abandon(thread);
  thread.stores.issue({.parts = {part}, .site = site});
  copiesFly_ = true;
}

std::optional<std::vector<Copy>> GridRun::storedParts(Thread &thread, std::uint32_t site,
                                                      const TensorMap &map,
                                                      const BoxOperands &operands) {
  std::vector<Copy> parts;
  for (const BoxPiece &piece : piecesOf(map, operands.first)) {
    if (piece.address == 0) continue;
    parts.push_back(storedPart(thread, site,
                               {.to = piece.address,
                                .from = swizzled(map.swizzle, operands.shared + piece.offset),
                                .bytes = piece.bytes}));
    if (parts.back().to == nullptr) return std::nullopt;
  }
  return parts;
}

void GridRun::storeBox(Thread &thread, std::uint32_t site, const BoxOperands &operands) {
  thread.site = site;
  const TensorMap map = tensorMap(thread, site, operands.map);
  requireAligned(thread, site, operands.shared, kBoxAlignment);
  auto parts = storedParts(thread, site, map, operands);
  if (!parts) abandon(thread);
  thread.stores.issue({.parts = std::move(*parts), .site = site});
  copiesFly_ = true;
}

void GridRun::awaitStores(Thread &thread, std::uint32_t site, std::uint64_t groups,
                          bool onlyTaken) {
  thread.site = site;
  const ThreadId id = thread.order.id();
  thread.order.seeLanded(agents_.of(id, Queue::BulkReads), thread.stores.awaitTaken(groups));
  if (!onlyTaken)
    thread.order.seeLanded(agents_.of(id, Queue::BulkWrites), thread.stores.await(groups));
}

/// What goes to global memory arrives by the end of the kernel; what is in shared memory is there
/// only as long as the block.
void GridRun::endStores(Thread &thread) {
  if (const auto pending = thread.stores.pending())
    report_.error(Diag::EmulatedNeverAwaited, *pending, thread.site, code_.sites[*pending].what,
                  report_.text(thread.order.id()), toText(code_.sites[thread.site].where));
  thread.stores.landAll();
}

} // namespace imbrex::emulate

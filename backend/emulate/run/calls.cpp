#include "backend/emulate/run/calls.h"

#include "backend/emulate/run/grid_run.h"
#include "backend/support/check.h"

#include <bit>
#include <type_traits>

namespace imbrex::emulate::calls {
namespace {

std::uint32_t lanesBelow(std::uint32_t lane) {
  return lane >= 32 ? ~0u : (std::uint32_t{1} << lane) - 1;
}

std::uint32_t laneMask(Register which, std::uint32_t lane) {
  const std::uint32_t equal = std::uint32_t{1} << (lane % 32), less = equal - 1;
  if (which == Register::LanesEqual) return equal;
  if (which == Register::LanesLess) return less;
  if (which == Register::LanesLessEqual) return less | equal;
  if (which == Register::LanesGreater) return ~(less | equal);
  return ~less;
}

/// What the call means to the thread that makes it.
template <class Result, class... Operands>
Result onThread(Result (GridRun::*what)(Thread &, Operands...),
                std::type_identity_t<Operands>... operands) {
  Thread &thread = currentThread();
  return (thread.run->*what)(thread, operands...);
}

std::uint32_t unsignedOf(std::int32_t value) { return static_cast<std::uint32_t>(value); }

} // namespace

std::byte *access(std::uint64_t address, std::uint32_t site) {
  return onThread(&GridRun::access, address, site);
}

std::byte *accessPrivate(std::byte *variable, std::byte *address, std::uint32_t site) {
  return onThread(&GridRun::accessPrivate, variable, address, site);
}

void didCompareExchange(std::uint64_t address, std::uint32_t site, std::uint32_t didExchange) {
  Thread &thread = currentThread();
  if (didExchange != 0) thread.run->didCompareExchange(thread, address, site);
}

void fence(std::uint32_t site) { onThread(&GridRun::fence, site); }

std::uint64_t meetWarp(std::uint32_t site, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                       std::uint64_t d, std::uint64_t e, std::uint64_t f) {
  return onThread(&GridRun::meetWarp, site, {a, b, c, d, e, f});
}

std::uint64_t secondResult() { return currentThread().result.second; }

std::uint32_t *words() { return currentThread().words.data(); }

void loadWords(std::uint32_t site, std::uint64_t address, std::uint32_t lanes) {
  Thread &thread = currentThread();
  if (thread.lane < lanes) thread.run->loadWords(thread, site, address);
}

void storeWords(std::uint32_t site, std::uint64_t address, std::uint32_t lanes) {
  Thread &thread = currentThread();
  if (thread.lane < lanes) thread.run->storeWords(thread, site, address);
}

void loadBuffer(std::uint32_t site, std::uint64_t buffer, std::uint32_t offset,
                std::uint32_t scalarOffset) {
  Thread &thread = currentThread();
  thread.words = {};
  thread.run->accessBuffer(thread, site, {0, buffer, offset, scalarOffset});
}

void storeBuffer(std::uint32_t site, std::uint64_t buffer, std::uint32_t offset,
                 std::uint32_t scalarOffset) {
  onThread(&GridRun::accessBuffer, site, {0, buffer, offset, scalarOffset});
}

void meetBlock(std::uint32_t site, std::uint64_t number, std::uint64_t count) {
  onThread(&GridRun::meetBlock, site, {number, count});
}

void startCopy(std::uint32_t site, std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
  onThread(&GridRun::startCopy, site, {to, from, bytes});
}

void startBufferCopy(std::uint32_t site, std::uint64_t to, std::uint64_t buffer,
                     std::uint32_t offset, std::uint32_t scalarOffset) {
  onThread(&GridRun::startBufferCopy, site, {to, buffer, offset, scalarOffset});
}

std::uint64_t makeBuffer(std::uint64_t base, std::uint64_t records, std::int32_t parameter) {
  return currentThread().run->makeBuffer({base, records, parameter});
}

void commitCopies() { currentThread().copies.commit(); }

void awaitCopies(std::uint32_t site, std::uint64_t groups) {
  onThread(&GridRun::awaitCopies, site, groups);
}

void makeBarrier(std::uint32_t site, std::uint64_t address, std::uint32_t arrivals) {
  onThread(&GridRun::makeBarrier, site, address, arrivals);
}

void unmakeBarrier(std::uint32_t site, std::uint64_t address) {
  onThread(&GridRun::unmakeBarrier, site, address);
}

std::uint64_t arriveAtPhase(std::uint32_t site, std::uint64_t address, std::uint32_t count,
                            std::int32_t bytes) {
  return onThread(&GridRun::arriveAtPhase, site, {address, count, bytes});
}

void signalPhase(std::uint32_t site, std::uint64_t address, std::uint32_t more) {
  onThread(&GridRun::signalPhase, site, address, more);
}

std::uint32_t awaitPhase(std::uint32_t site, std::uint64_t address, std::uint64_t what) {
  return onThread(&GridRun::awaitPhase, site, address, what) ? 1 : 0;
}

void fenceProxy() { onThread(&GridRun::fenceProxy); }

void fenceMaking() { onThread(&GridRun::fenceMaking); }

void loadBulk(std::uint32_t site, std::uint64_t to, std::uint64_t barrier, std::uint64_t from,
              std::uint32_t bytes) {
  onThread(&GridRun::loadBulk, site, {to, barrier, from, bytes});
}

void loadBox(std::uint32_t site, std::uint64_t to, std::uint64_t barrier, std::uint64_t map,
             std::int32_t x0, std::int32_t x1, std::int32_t x2, std::int32_t x3, std::int32_t x4) {
  onThread(&GridRun::loadBox, site, {to, barrier, map, {x0, x1, x2, x3, x4}});
}

void storeBulk(std::uint32_t site, std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
  onThread(&GridRun::storeBulk, site, {to, from, bytes});
}

void storeBox(std::uint32_t site, std::uint64_t from, std::uint64_t map, std::int32_t x0,
              std::int32_t x1, std::int32_t x2, std::int32_t x3, std::int32_t x4) {
  onThread(&GridRun::storeBox, site, {from, 0, map, {x0, x1, x2, x3, x4}});
}

void commitStores() { currentThread().stores.commit(); }

void awaitStores(std::uint32_t site, std::uint64_t groups, std::uint32_t onlyTaken) {
  onThread(&GridRun::awaitStores, site, groups, onlyTaken != 0);
}

void countTurn(std::uint32_t site) { onThread(&GridRun::countTurn, site); }

void trap(std::uint32_t site) { onThread(&GridRun::trap, site); }

void exit(std::uint32_t site) { currentThread().site = site; }

std::uint64_t *blockCounts() { return currentThread().run->blockCounts(); }

std::uint32_t readRegister(std::uint32_t which) {
  const Thread &thread = currentThread();
  const auto &block = thread.block->index;
  const auto &grid = thread.run->launch().grid.extents;
  const auto asked = static_cast<Register>(which);
  switch (asked) {
  case Register::ThreadIndex: return thread.order.id().thread;
  case Register::BlockIndexX: return unsignedOf(block[0]);
  case Register::BlockIndexY: return unsignedOf(block[1]);
  case Register::BlockIndexZ: return unsignedOf(block[2]);
  case Register::GridExtentX: return unsignedOf(grid[0]);
  case Register::GridExtentY: return unsignedOf(grid[1]);
  case Register::GridExtentZ: return unsignedOf(grid[2]);
  case Register::BlockThreads: return thread.run->code().threads;
  case Register::Lane: return thread.lane;
  case Register::Warp: return thread.warp;
  case Register::WarpSize: return thread.run->code().warpSize;
  case Register::LanesEqual:
  case Register::LanesLess:
  case Register::LanesLessEqual:
  case Register::LanesGreater:
  case Register::LanesGreaterEqual: return laneMask(asked, thread.lane);
  case Register::Zero: return 0;
  case Register::One: return 1;
  }
  IMBREX_UNREACHABLE("register");
}

std::uint32_t countLanesLow(std::uint32_t mask, std::uint32_t base) {
  return base + unsignedOf(std::popcount(mask & lanesBelow(currentThread().lane)));
}

std::uint32_t countLanesHigh(std::uint32_t mask, std::uint32_t base) {
  const std::uint32_t lane = currentThread().lane;
  return base + unsignedOf(std::popcount(mask & lanesBelow(lane < 32 ? 0 : lane - 32)));
}

const std::byte *implicitArguments() {
  return reinterpret_cast<const std::byte *>(&currentThread().run->launch().implicit);
}

const std::byte *dispatchPacket() {
  return reinterpret_cast<const std::byte *>(&currentThread().run->launch().packet);
}

} // namespace imbrex::emulate::calls

#include "backend/emulate/model/memory.h"

#include "backend/support/text.h"

#include <algorithm>

namespace imbrex::emulate {
namespace {

/// Below it, an address is a null pointer and an offset.
constexpr std::uint64_t kNullBytes = kSharedBase;

constexpr std::string_view kSharedText = "shared memory";

bool reads(const AccessSite &facts) { return facts.reads || !writes(facts.mode); }

AtomicOrder::Operation operationOf(const AccessSite &facts, std::uint64_t address) {
  return {.address = address,
          .reads = facts.reads,
          .writes = writes(facts.mode),
          .acquires = facts.acquires,
          .releases = facts.releases,
          .scope = facts.scope};
}

} // namespace

bool GlobalRegion::holds(std::uint64_t address, std::uint64_t count) const {
  if (bytes == ir::Argument::kUnknownSize) return true;
  const auto size = static_cast<std::uint64_t>(bytes);
  return address >= begin && count <= size && address - begin <= size - count;
}

std::byte *Memory::access(Thread &thread, std::uint64_t address, std::uint32_t site) {
  const auto &facts = std::get<AccessSite>(report_.site(site).facts);
  return access({thread, site, facts, thread.order.id(), thread.order.tick()}, address);
}

std::byte *Memory::access(const Accessor &who, std::uint64_t address) {
  const AccessSite &facts = who.facts;
  who.thread.site = who.site;
  const bool isGeneric = facts.space == Space::Generic;
  // Arithmetic on a pointer to shared memory may be in 32 bits.
  if (facts.space == Space::Shared) address &= 0xffffffff;
  const GlobalRegion *target = takeMark(address);
  auto *pointer = reinterpret_cast<std::byte *>(address);
  if (isGeneric && who.thread.ownsStackAt(pointer)) return pointer;
  if (address % facts.alignment != 0) {
    report_.error(Diag::EmulatedMisaligned, who.site, 0, report_.site(who.site).what,
                  counted(facts.bytes, "byte"), facts.alignment,
                  report_.text(who.thread.order.id()));
    return nullptr;
  }
  if (facts.space == Space::Shared || (isGeneric && isShared(who.thread, address)))
    return accessShared(who, address);
  return accessGlobal(who, address, target);
}

const GlobalRegion *Memory::takeMark(std::uint64_t &address) const {
  const auto found = marks_.find(address >> kMarkShift);
  if (found == marks_.end()) return nullptr;
  address ^= address >> kMarkShift << kMarkShift;
  return found->second;
}

bool Memory::isShared(const Thread &thread, std::uint64_t address) const {
  return address >= kSharedBase && address < kSharedBase + thread.block->shared.size();
}

std::byte *Memory::accessPrivate(Thread &thread, std::byte *variable, std::byte *address,
                                 std::uint32_t site) {
  const Site &at = report_.site(site);
  const auto &facts = std::get<AccessSite>(at.facts);
  thread.site = site;
  const std::ptrdiff_t offset = address - variable;
  if (offset >= 0 && offset + std::ptrdiff_t{facts.bytes} <= std::ptrdiff_t{facts.privateBytes})
    return address;
  report_.error(Diag::EmulatedPrivateOutside, site, 0, at.what, counted(facts.bytes, "byte"),
                std::int64_t{offset}, counted(facts.privateBytes, "byte"),
                report_.text(thread.order.id()));
  return nullptr;
}

std::byte *Memory::accessShared(const Accessor &who, std::uint64_t address) {
  ThreadBlock &block = *who.thread.block;
  const AccessSite &facts = who.facts;
  const std::string &what = report_.site(who.site).what;
  const std::uint64_t offset = address - kSharedBase;
  if (address < kSharedBase || offset + facts.bytes > block.shared.size()) {
    report_.error(Diag::EmulatedSharedOutside, who.site, 0, what, counted(facts.bytes, "byte"),
                  static_cast<std::int64_t>(offset), counted(block.shared.size(), "byte"),
                  report_.text(who.thread.order.id()));
    return nullptr;
  }
  if (!block.phaseBarriers.empty() && touchesBarrier(who, offset)) return nullptr;
  const auto first = block.written.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto last = first + static_cast<std::ptrdiff_t>(facts.bytes);
  if (reads(facts)) {
    const auto unwritten = std::find(first, last, std::uint8_t{0});
    if (unwritten != last)
      report_.error(Diag::EmulatedSharedUnwritten, who.site, 0, what,
                    std::int64_t{unwritten - block.written.begin()},
                    report_.text(who.thread.order.id()));
  }
  if (writes(facts.mode)) std::fill(first, last, std::uint8_t{1});
  touch(block.sharedShadow, who, address, kSharedText);
  return block.shared.data() + offset;
}

/// The bytes of a barrier are nobody's data.
bool Memory::touchesBarrier(const Accessor &who, std::uint64_t offset) {
  const auto *barrier = barrierWithin(who.thread.block->phaseBarriers, offset, who.facts.bytes);
  if (barrier == nullptr) return false;
  const Site &made = report_.site(barrier->second.madeAt);
  report_.errorOf(who.thread, Diag::EmulatedBarrierTouched, who.site, barrier->second.madeAt,
                  static_cast<std::int64_t>(std::max(offset, barrier->first)), made.what,
                  toText(made.where));
  return true;
}

const GlobalRegion *Memory::regionOf(std::uint64_t address, const AccessSite &facts) const {
  const GlobalRegion *unknown = nullptr;
  for (const GlobalRegion &region : regions_) {
    if (facts.parameter >= 0 && region.parameter == facts.parameter) return &region;
    if (facts.parameter >= 0) continue;
    if (region.bytes == ir::Argument::kUnknownSize)
      unknown = &region;
    else if (region.holds(address, 1))
      return &region;
  }
  return unknown;
}

/// The argument that an address was probably meant to be in; null where it is far from all.
const GlobalRegion *Memory::nearest(std::uint64_t address) const {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 20;
  const GlobalRegion *best = nullptr;
  std::uint64_t least = kFar;
  for (const GlobalRegion &region : regions_) {
    const std::uint64_t end = region.begin + static_cast<std::uint64_t>(region.bytes);
    const std::uint64_t distance = address < region.begin ? region.begin - address : address - end;
    if (distance >= least) continue;
    best = &region;
    least = distance;
  }
  return best;
}

void Memory::reportOutside(const Accessor &who, std::uint64_t address, const GlobalRegion *region) {
  const std::string &what = report_.site(who.site).what;
  const std::string thread = report_.text(who.thread.order.id());
  const std::string count = counted(who.facts.bytes, "byte");
  if (address < kNullBytes || (region != nullptr && region->begin == 0))
    report_.error(Diag::EmulatedNullPointer, who.site, 0, what, count,
                  region == nullptr ? std::string("no argument") : region->name, thread);
  else if (region == nullptr)
    report_.error(Diag::EmulatedNowhere, who.site, 0, what, count, thread);
  else
    report_.error(Diag::EmulatedOutside, who.site, 0, what, count,
                  static_cast<std::int64_t>(address - region->begin), region->name,
                  counted(region->bytes, "byte"), thread);
}

void Memory::checkWritten(const Accessor &who, std::uint64_t address, const GlobalRegion &region) {
  const AccessSite &facts = who.facts;
  std::uint8_t *flags = region.unwritten + (address - region.begin);
  if (reads(facts)) {
    const std::uint8_t *found = std::find_if(flags, flags + facts.bytes, [](auto f) { return f; });
    if (found != flags + facts.bytes)
      report_.error(Diag::EmulatedUnwritten, who.site, 0, report_.site(who.site).what,
                    std::int64_t{found - region.unwritten}, region.name,
                    report_.text(who.thread.order.id()));
  }
  if (writes(facts.mode)) std::fill(flags, flags + facts.bytes, std::uint8_t{0});
}

std::byte *Memory::accessGlobal(const Accessor &who, std::uint64_t address,
                                const GlobalRegion *target) {
  const AccessSite &facts = who.facts;
  const GlobalRegion *region = target != nullptr ? target : regionOf(address, facts);
  const bool isWritable = region != nullptr && !(region->isConstant && writes(facts.mode));
  if (!isWritable || address < kNullBytes || !region->holds(address, facts.bytes)) {
    reportOutside(who, address, region != nullptr ? region : nearest(address));
    return nullptr;
  }
  auto *pointer = reinterpret_cast<std::byte *>(address);
  if (region->isConstant) return pointer;
  if (region->unwritten != nullptr) checkWritten(who, address, *region);
  touch(shadow_, who, address, region->name);
  return pointer;
}

void Memory::touch(Shadow &shadow, const Accessor &who, std::uint64_t address,
                   std::string_view what) {
  if (!isAtomic(who.facts.mode)) return checkRaces(shadow, who, address, what);
  const AtomicOrder::Operation operation = operationOf(who.facts, address);
  ThreadOrder &order = who.thread.order;
  if (operation.reads) atomics_.read(order, operation, join_);
  checkRaces(shadow, who, address, what);
  if (operation.writes && !who.facts.isConditional) atomics_.write(order, operation, join_);
}

void Memory::didCompareExchange(Thread &thread, std::uint64_t address, std::uint32_t site) {
  const auto &facts = std::get<AccessSite>(report_.site(site).facts);
  takeMark(address);
  atomics_.write(thread.order, operationOf(facts, address), join_);
}

void Memory::checkRaces(Shadow &shadow, const Accessor &who, std::uint64_t address,
                        std::string_view what) {
  const AccessSite &facts = who.facts;
  const ThreadId thread = who.thread.order.id();
  const bool isThread = agents_.isThread(who.id);
  AccessAgent toucher{who.id, who.tick, warpSize_, &who.thread.order.seen()};
  toucher.isInOrder = who.isInOrder;
  if (!isThread) toucher.issuer = &thread;
  if (who.isOtherProxy) toucher.generic = agents_.generic();
  const bool isStatement = isThread && &shadow == &shadow_;
  const std::uint32_t statement = isStatement ? report_.site(who.site).where.line : 0;
  const auto conflict =
      shadow.touch(toucher, {address, facts.bytes, who.site, facts.mode, facts.scope, statement});
  if (conflict) reportConflict(who, *conflict, what);
}

void Memory::reportConflict(const Accessor &who, const Conflict &conflict, std::string_view what) {
  const Site &other = report_.site(conflict.site);
  if (conflict.lacksFence) {
    report_.errorOf(who.thread, Diag::EmulatedProxy, who.site, conflict.site,
                    writes(who.facts.mode) ? "writes" : "reads", what, other.what,
                    toText(other.where), report_.text(agents_.issuer(conflict.id)));
    return;
  }
  if (!agents_.isThread(conflict.id)) {
    report_.errorOf(who.thread, Diag::EmulatedPending, who.site, conflict.site,
                    writes(who.facts.mode) ? "writes" : "reads", what, other.what,
                    toText(other.where), report_.text(agents_.issuer(conflict.id)),
                    conflict.wrote ? "writing" : "reading");
    return;
  }
  const bool isOneBlock = conflict.id.block == who.thread.order.id().block;
  report_.errorOf(who.thread, isOneBlock ? Diag::EmulatedRace : Diag::EmulatedBlocksRace, who.site,
                  conflict.site, other.what, toText(other.where), report_.text(conflict.id), what);
}

} // namespace imbrex::emulate

#include "backend/emulate/memory.h"

#include <algorithm>

namespace imbrex::emulate {
namespace {

std::string plural(std::uint64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Below it, an address is a null pointer and an offset.
constexpr std::uint64_t kNullBytes = kSharedBase;

const std::string kSharedText = "shared memory";

bool reads(const AccessSite &facts) { return facts.reads || !writes(facts.manner); }

AtomicOrder::Operation operationOf(const AccessSite &facts, std::uint64_t address) {
  return {.address = address,
          .reads = facts.reads,
          .writes = writes(facts.manner),
          .acquires = facts.acquires,
          .releases = facts.releases,
          .reach = facts.reach};
}

} // namespace

bool Region::holds(std::uint64_t address, std::uint64_t count) const {
  if (bytes == ir::Argument::kUnknownSize) return true;
  const auto size = static_cast<std::uint64_t>(bytes);
  return address >= begin && count <= size && address - begin <= size - count;
}

std::byte *Memory::access(Thread &thread, std::uint64_t address, std::uint32_t site) {
  const auto &facts = std::get<AccessSite>(report_.site(site).facts);
  thread.site = site;
  const bool isGeneric = facts.space == Space::Generic;
  // Arithmetic on a pointer to shared memory may be in 32 bits.
  if (facts.space == Space::Shared) address &= 0xffffffff;
  auto *pointer = reinterpret_cast<std::byte *>(address);
  if (isGeneric && thread.fiber->holds(pointer)) return pointer;
  if (address % facts.alignment != 0) {
    report_.error(Diag::EmulatedMisaligned, site, 0, report_.site(site).what,
                  plural(facts.bytes, "byte"), facts.alignment, report_.text(thread.order.id()));
    return nullptr;
  }
  if (facts.space == Space::Shared || (isGeneric && isShared(thread, address)))
    return accessShared(thread, address, site, facts);
  return accessGlobal(thread, address, site, facts);
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
  report_.error(Diag::EmulatedPrivateOutside, site, 0, at.what, plural(facts.bytes, "byte"),
                std::int64_t{offset}, plural(facts.privateBytes, "byte"),
                report_.text(thread.order.id()));
  return nullptr;
}

std::byte *Memory::accessShared(Thread &thread, std::uint64_t address, std::uint32_t site,
                                const AccessSite &facts) {
  Block &block = *thread.block;
  const std::string &what = report_.site(site).what;
  const std::uint64_t offset = address - kSharedBase;
  if (address < kSharedBase || offset + facts.bytes > block.shared.size()) {
    report_.error(Diag::EmulatedSharedOutside, site, 0, what, plural(facts.bytes, "byte"),
                  static_cast<std::int64_t>(offset), plural(block.shared.size(), "byte"),
                  report_.text(thread.order.id()));
    return nullptr;
  }
  const auto first = block.written.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto last = first + static_cast<std::ptrdiff_t>(facts.bytes);
  if (reads(facts)) {
    const auto unwritten = std::find(first, last, std::uint8_t{0});
    if (unwritten != last)
      report_.error(Diag::EmulatedSharedUnwritten, site, 0, what,
                    std::int64_t{unwritten - block.written.begin()},
                    report_.text(thread.order.id()));
  }
  if (writes(facts.manner)) std::fill(first, last, std::uint8_t{1});
  touch(block.sharedShadow, thread, address, site, kSharedText);
  return block.shared.data() + offset;
}

const Region *Memory::regionOf(std::uint64_t address, const AccessSite &facts) const {
  const Region *unknown = nullptr;
  for (const Region &region : regions_) {
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
const Region *Memory::nearest(std::uint64_t address) const {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 20;
  const Region *best = nullptr;
  std::uint64_t least = kFar;
  for (const Region &region : regions_) {
    const std::uint64_t end = region.begin + static_cast<std::uint64_t>(region.bytes);
    const std::uint64_t distance = address < region.begin ? region.begin - address : address - end;
    if (distance >= least) continue;
    best = &region;
    least = distance;
  }
  return best;
}

void Memory::reportOutside(Thread &thread, std::uint64_t address, std::uint32_t site,
                           const Region *region) {
  const Site &at = report_.site(site);
  const std::uint64_t bytes = std::get<AccessSite>(at.facts).bytes;
  const std::string who = report_.text(thread.order.id());
  const std::string count = plural(bytes, "byte");
  if (address < kNullBytes || (region != nullptr && region->begin == 0))
    report_.error(Diag::EmulatedNullPointer, site, 0, at.what, count,
                  region == nullptr ? std::string("no argument") : region->name, who);
  else if (region == nullptr)
    report_.error(Diag::EmulatedNowhere, site, 0, at.what, count, who);
  else
    report_.error(Diag::EmulatedOutside, site, 0, at.what, count,
                  static_cast<std::int64_t>(address - region->begin), region->name,
                  plural(static_cast<std::uint64_t>(region->bytes), "byte"), who);
}

void Memory::checkWritten(Thread &thread, std::uint64_t address, std::uint32_t site,
                          const Region &region) {
  const Site &at = report_.site(site);
  const auto &facts = std::get<AccessSite>(at.facts);
  std::uint8_t *flags = region.unwritten + (address - region.begin);
  if (reads(facts)) {
    const std::uint8_t *found = std::find_if(flags, flags + facts.bytes, [](auto f) { return f; });
    if (found != flags + facts.bytes)
      report_.error(Diag::EmulatedUnwritten, site, 0, at.what,
                    std::int64_t{found - region.unwritten}, region.name,
                    report_.text(thread.order.id()));
  }
  if (writes(facts.manner)) std::fill(flags, flags + facts.bytes, std::uint8_t{0});
}

std::byte *Memory::accessGlobal(Thread &thread, std::uint64_t address, std::uint32_t site,
                                const AccessSite &facts) {
  const Region *region = regionOf(address, facts);
  const bool isWritable = region != nullptr && !(region->isConstant && writes(facts.manner));
  if (!isWritable || address < kNullBytes || !region->holds(address, facts.bytes)) {
    reportOutside(thread, address, site, region != nullptr ? region : nearest(address));
    return nullptr;
  }
  auto *pointer = reinterpret_cast<std::byte *>(address);
  if (region->isConstant) return pointer;
  if (region->unwritten != nullptr) checkWritten(thread, address, site, *region);
  touch(shadow_, thread, address, site, region->name);
  return pointer;
}

void Memory::touch(Shadow &shadow, Thread &thread, std::uint64_t address, std::uint32_t site,
                   const std::string &what) {
  const auto &facts = std::get<AccessSite>(report_.site(site).facts);
  if (!isAtomic(facts.manner)) return checkRaces(shadow, thread, address, site, what);
  const AtomicOrder::Operation operation = operationOf(facts, address);
  if (operation.reads) atomics_.read(thread.order, operation, join_);
  checkRaces(shadow, thread, address, site, what);
  if (operation.writes && !facts.isConditional) atomics_.write(thread.order, operation, join_);
}

void Memory::exchanged(Thread &thread, std::uint64_t address, std::uint32_t site) {
  const auto &facts = std::get<AccessSite>(report_.site(site).facts);
  atomics_.write(thread.order, operationOf(facts, address), join_);
}

void Memory::checkRaces(Shadow &shadow, Thread &thread, std::uint64_t address, std::uint32_t site,
                        const std::string &what) {
  const Site &at = report_.site(site);
  const auto &facts = std::get<AccessSite>(at.facts);
  const Toucher who{thread.order.id(), thread.order.tick(), warpSize_, &thread.order.seen()};
  const std::uint32_t statement = &shadow == &shadow_ ? at.where.line : 0;
  const auto conflict =
      shadow.touch(who, {address, facts.bytes, site, facts.manner, facts.reach, statement});
  if (!conflict) return;
  const Site &other = report_.site(conflict->site);
  const bool isOneBlock = conflict->id.block == thread.order.id().block;
  report_.error(isOneBlock ? Diag::EmulatedRace : Diag::EmulatedBlocksRace, site, conflict->site,
                at.what, report_.text(thread.order.id()), other.what, toText(other.where),
                report_.text(conflict->id), what);
}

} // namespace imbrex::emulate

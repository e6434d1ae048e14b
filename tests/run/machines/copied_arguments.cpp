#include "tests/run/machines/copied_arguments.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace imbrex::testing {
namespace {

// On both sides of a range, so that stores beyond its ends show.
constexpr std::size_t kMargin = 64;
constexpr std::byte kUntouched{0xa5};

} // namespace

CopiedArguments::CopiedArguments(llvm::ArrayRef<ir::Argument> arguments, GuestProcess &guest)
    : arguments_(arguments.begin(), arguments.end()) {
  const auto add = [&](const ir::Argument &argument) {
    if (argument.data == nullptr) return;
    IMBREX_CHECK(argument.bytes >= 0, "memory of unknown size cannot be copied");
    ranges_.push_back({argument.data, argument.data + argument.bytes});
  };
  for (const ir::Argument &argument : arguments_) {
    add(argument);
    for (const ir::Argument &pointee : argument.pointees) add(pointee);
    if (!argument.pointees.empty()) tables_.push_back(argument.data);
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::vector<Range> merged;
  for (const Range &range : ranges_)
    if (!merged.empty() && range.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  ranges_ = std::move(merged);
  for (Range &range : ranges_) {
    const auto bytes = static_cast<std::size_t>(range.end - range.begin);
    std::byte *room =
        guest.allocateData(bytes + 2 * kMargin, reinterpret_cast<std::uintptr_t>(range.begin) % 64);
    std::memset(room, std::to_integer<int>(kUntouched), bytes + 2 * kMargin);
    range.copy = room + kMargin;
    std::memcpy(range.copy, range.begin, bytes);
  }
  for (ir::Argument &argument : arguments_) {
    argument.data = copyOf(argument);
    // A table's copy has the addresses of copies.
    for (const auto &[number, pointee] : llvm::enumerate(argument.pointees)) {
      const auto address = reinterpret_cast<std::uintptr_t>(copyOf(pointee));
      std::memcpy(argument.data + number * sizeof address, &address, sizeof address);
    }
  }
}

std::byte *CopiedArguments::copyOf(const ir::Argument &argument) const {
  for (const Range &range : ranges_)
    if (range.begin <= argument.data && argument.data + argument.bytes <= range.end)
      return range.copy + (argument.data - range.begin);
  return argument.data;
}

void CopiedArguments::copyBack() const {
  const auto isUntouched = [](std::byte byte) { return byte == kUntouched; };
  const auto isTable = [&](const std::byte *begin) { return llvm::is_contained(tables_, begin); };
  for (const Range &range : ranges_) {
    const auto bytes = static_cast<std::size_t>(range.end - range.begin);
    if (!isTable(range.begin)) std::memcpy(range.begin, range.copy, bytes);
    IMBREX_CHECK(std::all_of(range.copy - kMargin, range.copy, isUntouched) &&
                     std::all_of(range.copy + bytes, range.copy + bytes + kMargin, isUntouched),
                 "a kernel wrote beside its arguments");
  }
}

} // namespace imbrex::testing

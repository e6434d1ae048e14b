#include "backend/target/host/whole/sort.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace imbrex::host {
namespace {

using ir::ElementKind;

// --- keys ---

/// From an element's bits to a number that orders unsigned as the elements order.
class KeyRule {
public:
  KeyRule(ElementKind element, bool descending)
      : element_(element), mask_(~std::uint64_t{0} >> (64 - ir::info(element).bits)),
        sign_(mask_ ^ mask_ >> 1), isSigned_(ir::isSigned(element)), isFloat_(ir::isFloat(element)),
        isNarrow_(ir::isNarrowFloat(element)), flip_(descending ? mask_ : 0) {
    if (isFloat_)
      infinity_ = llvm::APFloat::getInf(ir::floatFormat(element)).bitcastToAPInt().getZExtValue();
  }

  /// NaNs, all equal, come last in either direction.
  std::uint64_t operator()(std::uint64_t bits) const {
    if (isSigned_) return (bits ^ sign_) ^ flip_;
    if (!isFloat_ && !isNarrow_) return bits ^ flip_;
    if (isFloat_ && (bits & ~sign_) > infinity_) return mask_;
    // Some narrow floats have a number for each other code.
    if (isNarrow_ && isNarrowNan(bits)) return mask_ + 1;
    // e8m0 has no sign; in the others negative numbers order against their bits.
    if (element_ == ElementKind::E8M0) return bits ^ flip_;
    return ((bits & sign_) != 0 ? ~bits & mask_ : bits | sign_) ^ flip_;
  }

private:
  bool isNarrowNan(std::uint64_t bits) const {
    const llvm::APInt code(static_cast<unsigned>(ir::info(element_).bits), bits);
    return llvm::APFloat(ir::floatFormat(element_), code).isNaN();
  }

  ElementKind element_;
  std::uint64_t mask_;
  std::uint64_t sign_;
  bool isSigned_;
  bool isFloat_;
  bool isNarrow_;
  std::uint64_t flip_;
  std::uint64_t infinity_ = 0; // its bits, of a float
};

// --- entries ---

/// A key of up to 32 bits and the place that it comes from, of which no two are equal.
struct PackedEntry {
  std::uint64_t bits;
  static constexpr std::int32_t digits = 4;
  static PackedEntry of(std::uint64_t key, std::int64_t from) {
    return {key << 32 | static_cast<std::uint64_t>(from)};
  }
  std::uint64_t key() const { return bits >> 32; }
  std::int64_t from() const { return static_cast<std::uint32_t>(bits); }
};

struct WideEntry {
  std::uint64_t bits;
  std::int64_t place;
  static constexpr std::int32_t digits = 8;
  static WideEntry of(std::uint64_t key, std::int64_t from) { return {key, from}; }
  std::uint64_t key() const { return bits; }
  std::int64_t from() const { return place; }
};

template <class Entry>
using Entries = llvm::SmallVector<Entry, 128>;

// To count digits costs as much as to sort so few by insertion.
constexpr std::size_t kFew = 64;

template <class Entry>
void insertionSort(Entries<Entry> &entries) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const Entry moved = entries[i];
    std::size_t to = i;
    for (; to > 0 && moved.key() < entries[to - 1].key(); --to) entries[to] = entries[to - 1];
    entries[to] = moved;
  }
}

/// Digit by digit, from the lowest; a digit that all have in common costs one count.
template <class Entry>
void radixSort(Entries<Entry> &entries) {
  Entries<Entry> moved;
  moved.resize_for_overwrite(entries.size());
  for (std::int32_t digit = 0; digit < Entry::digits; ++digit) {
    const auto digitOf = [&](const Entry &entry) {
      return static_cast<std::uint8_t>(entry.key() >> (8 * digit));
    };
    std::array<std::size_t, 256> first{};
    for (const Entry &entry : entries) ++first[digitOf(entry)];
    if (first[digitOf(entries[0])] == entries.size()) continue;
    std::size_t before = 0;
    for (std::size_t &count : first) before += std::exchange(count, before);
    for (const Entry &entry : entries) moved[first[digitOf(entry)]++] = entry;
    std::swap(entries, moved);
  }
}

template <class Entry>
void sortEntries(Entries<Entry> &entries) {
  if (entries.size() <= kFew)
    insertionSort(entries);
  else
    radixSort(entries);
}

// --- lines ---

/// Call `use` with an unsigned integer that is as wide as an element.
template <class Use>
void withInteger(std::int64_t bytes, const Use &use) {
  if (bytes == 1) return use(std::uint8_t{});
  if (bytes == 2) return use(std::uint16_t{});
  if (bytes == 4) return use(std::uint32_t{});
  return use(std::uint64_t{});
}

template <class Integer>
Integer at(const std::byte *data, std::int64_t index) {
  Integer value;
  std::memcpy(&value, data + index * std::int64_t{sizeof(Integer)}, sizeof(Integer));
  return value;
}

template <class Entry>
void moveLine(const SortTile &tile, const Entries<Entry> &order, std::int64_t first,
              std::int64_t step) {
  withInteger(tile.elementBytes, [&]<class Integer>(Integer) {
    llvm::SmallVector<Integer, 128> moved(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      moved[i] = at<Integer>(tile.data, first + order[i].from() * step);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t to = first + static_cast<std::int64_t>(i) * step;
      std::memcpy(tile.data + to * std::int64_t{sizeof(Integer)}, &moved[i], sizeof(Integer));
    }
  });
}

template <class Entry>
void sortAll(const KeyRule &key, const SortShape &shape, std::span<const SortTile> tiles) {
  Entries<Entry> order;
  order.resize_for_overwrite(static_cast<std::size_t>(shape.along));
  for (std::int64_t line = 0; line < shape.outer * shape.inner; ++line) {
    const std::int64_t first = line / shape.inner * shape.along * shape.inner + line % shape.inner;
    withInteger(tiles[0].elementBytes, [&]<class Integer>(Integer) {
      for (std::int64_t i = 0; i < shape.along; ++i)
        order[static_cast<std::size_t>(i)] =
            Entry::of(key(at<Integer>(tiles[0].data, first + i * shape.inner)), i);
    });
    sortEntries(order);
    for (const SortTile &tile : tiles) moveLine(tile, order, first, shape.inner);
  }
}

} // namespace

void sortLines(ElementKind element, bool descending, const SortShape &shape,
               std::span<const SortTile> tiles) {
  const KeyRule key(element, descending);
  if (ir::info(element).bits <= 32)
    sortAll<PackedEntry>(key, shape, tiles);
  else
    sortAll<WideEntry>(key, shape, tiles);
}

} // namespace imbrex::host

#include "backend/launching/sort.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace imbrex::launching {
namespace {

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

/// So many, whose values nobody has set yet.
template <class Entry>
class Entries {
public:
  explicit Entries(std::size_t size)
      : data_(std::make_unique_for_overwrite<Entry[]>(size)), size_(size) {}
  std::size_t size() const { return size_; }
  Entry &operator[](std::size_t i) { return data_[i]; }
  const Entry &operator[](std::size_t i) const { return data_[i]; }
  Entry *begin() { return data_.get(); }
  Entry *end() { return data_.get() + size_; }

private:
  std::unique_ptr<Entry[]> data_;
  std::size_t size_;
};

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
void radixSort(Entries<Entry> &entries, Entries<Entry> &moved) {
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
void sortEntries(Entries<Entry> &entries, Entries<Entry> &moved) {
  if (entries.size() <= kFew)
    insertionSort(entries);
  else
    radixSort(entries, moved);
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

/// `moved` has room for the elements of a line.
template <class Entry>
void moveLine(const SortTile &tile, const Entries<Entry> &order, std::int64_t first,
              std::int64_t step, Entries<std::uint64_t> &moved) {
  withInteger(tile.elementBytes, [&]<class Integer>(Integer) {
    for (std::size_t i = 0; i < order.size(); ++i)
      moved[i] = at<Integer>(tile.data, first + order[i].from() * step);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t to = first + static_cast<std::int64_t>(i) * step;
      const auto element = static_cast<Integer>(moved[i]);
      std::memcpy(tile.data + to * std::int64_t{sizeof(Integer)}, &element, sizeof(Integer));
    }
  });
}

template <class Entry>
void sortAll(const KeyRule &key, const SortShape &shape, std::span<const SortTile> tiles) {
  Entries<Entry> order(static_cast<std::size_t>(shape.along)), other(order.size());
  Entries<std::uint64_t> moved(order.size());
  for (std::int64_t line = 0; line < shape.outer * shape.inner; ++line) {
    const std::int64_t first = line / shape.inner * shape.along * shape.inner + line % shape.inner;
    withInteger(tiles[0].elementBytes, [&]<class Integer>(Integer) {
      for (std::int64_t i = 0; i < shape.along; ++i)
        order[static_cast<std::size_t>(i)] =
            Entry::of(key(at<Integer>(tiles[0].data, first + i * shape.inner)), i);
    });
    sortEntries(order, other);
    for (const SortTile &tile : tiles) moveLine(tile, order, first, shape.inner, moved);
  }
}

} // namespace

void sortLines(const KeyRule &rule, const SortShape &shape, std::span<const SortTile> tiles) {
  if (rule.mask >> 32 == 0)
    sortAll<PackedEntry>(rule, shape, tiles);
  else
    sortAll<WideEntry>(rule, shape, tiles);
}

void sortForCode(const KeyRule *rule, std::int64_t outer, std::int64_t along, std::int64_t inner,
                 std::uint32_t count, std::byte *const *data, const std::int64_t *bytes) {
  std::vector<SortTile> tiles;
  for (std::uint32_t i = 0; i < count; ++i) tiles.push_back({data[i], bytes[i]});
  sortLines(*rule, {.outer = outer, .along = along, .inner = inner}, tiles);
}

} // namespace imbrex::launching

#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace imbrex {

/// An index that knows what it counts, so that a slot is never taken for a value:
///
///   using ValueId = Id<struct ValueTag>;
///
/// A default-made id is none and compares greater than every other.
template <class Tag>
class Id {
public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}

  constexpr bool valid() const { return index_ != kNone; }
  constexpr std::uint32_t index() const { return index_; }
  friend constexpr auto operator<=>(Id, Id) = default;

private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t index_ = kNone;
};

template <class Tag>
std::string toText(Id<Tag> id) {
  return id.valid() ? std::to_string(id.index()) : "none";
}

} // namespace imbrex

template <class Tag>
struct std::hash<imbrex::Id<Tag>> {
  std::size_t operator()(imbrex::Id<Tag> id) const noexcept { return id.index(); }
};

#pragma once

#include <imbrex/memory.hpp>

/// Indivisible updates of global memory. Each gives the old values (zero where the mask is off),
/// and is a statement of its own: two in one expression are an error, as their order would be open.
namespace imbrex {

/// What an atomic orders besides itself: nothing; the accesses after it; those before it; both.
enum class order { relaxed, acquire, release, acq_rel };
/// Who sees an atomic as indivisible: its own block; every block of the device; other devices too.
enum class scope { block, device, system };

/// `atomic_add(p, x, order::relaxed)`, `atomic_add(p, x, scope::block)`, or both in braces.
struct atomic_options {
  constexpr atomic_options() = default;
  constexpr atomic_options(order o) : ordered(o) {}
  constexpr atomic_options(scope s) : seen_by(s) {}
  constexpr atomic_options(order o, scope s) : ordered(o), seen_by(s) {}

  order ordered = order::acq_rel;
  scope seen_by = scope::device;
};

namespace detail {

inline constexpr std::string_view order_words[] = {"relaxed", "acquire", "release", "acq_rel"};
inline constexpr std::string_view scope_words[] = {"block", "device", "system"};

enum class atomic_class { addition, comparison, bits, exchange };

template <atomic_class Class, class T>
constexpr void check_atomic() {
  constexpr int bits = element_info<std::remove_const_t<T>>.bits;
  static_assert(!std::is_const_v<T>,
                "imbrex: a pointer to const elements cannot be stored through");
  static_assert(number_element<std::remove_const_t<T>>,
                "imbrex: atomics work on integers of 32 and 64 bits and on floats");
  static_assert(float_element<T> || bits >= 32, "imbrex: atomics on integers need 32 or 64 bits");
  static_assert(Class != atomic_class::bits || integer_element<T>,
                "imbrex: atomic and, or, xor work on integers");
  static_assert(Class == atomic_class::addition || bits >= 32,
                "imbrex: of the atomics, f16 and bf16 have atomic_add alone");
}

template <atomic_class Class, class P, class X>
auto atomic_rmw(std::string_view kind, const P &p, const X &x, const value *mask,
                atomic_options options, location where) {
  using T = pointee_t<P>;
  check_atomic<Class, T>();
  check_stored<P, X>();
  using Shape = broadcast_t<shape_of<P>, shape_of<X>>;
  std::array<value, 3> operands{record_as<element_t<P>, Shape>(p, where),
                                record_as<T, Shape>(x, where)};
  if (mask) operands[2] = *mask;
  return tile_t<T, Shape>(record("atomic_rmw", {operands.data(), mask ? 3U : 2U}, type_of<T, Shape>,
                                 {{"kind", kind},
                                  {"order", order_words[static_cast<int>(options.ordered)]},
                                  {"scope", scope_words[static_cast<int>(options.seen_by)]}},
                                 where));
}

template <class P, class X, class M>
value record_mask(const M &mask, location where) {
  check_mask<M>();
  using Shape = broadcast_t<shape_of<P>, shape_of<X>>;
  static_assert(std::same_as<broadcast_t<Shape, shape_of<M>>, Shape>,
                "imbrex: the mask of an atomic has at most the shape of its pointers and values");
  return record_as<bool, Shape>(mask, where);
}

} // namespace detail

#define IMBREX_DETAIL_ATOMIC(name, kind, group)                                                    \
  IMBREX_DETAIL_NEEDS_POINTERS(name)                                                               \
  IMBREX_DETAIL_NEEDS_BRACES(name, order, scope, "{order::relaxed, scope::block}")                 \
  template <detail::pointers P, operand_or_literal X>                                              \
  auto name(const P &p, const X &x, atomic_options options = {},                                   \
            const detail::effect_site &at = detail::location::current()) {                         \
    return detail::atomic_rmw<detail::atomic_class::group>(kind, p, x, nullptr, options,           \
                                                           at.where);                              \
  }                                                                                                \
  template <detail::pointers P, operand_or_literal X, operand_or_literal M>                        \
  auto name(const P &p, const X &x, const M &mask, atomic_options options = {},                    \
            const detail::effect_site &at = detail::location::current()) {                         \
    const detail::value on = detail::record_mask<P, X>(mask, at.where);                            \
    return detail::atomic_rmw<detail::atomic_class::group>(kind, p, x, &on, options, at.where);    \
  }
/// `*p = *p + x`, or what the name says instead of +; gives the old values, in the shape to which p
/// and x broadcast.
IMBREX_DETAIL_ATOMIC(atomic_add, "add", addition)
/// Of floats: a NaN loses against a number.
IMBREX_DETAIL_ATOMIC(atomic_min, "min", comparison)
IMBREX_DETAIL_ATOMIC(atomic_max, "max", comparison)
IMBREX_DETAIL_ATOMIC(atomic_and, "and", bits)
IMBREX_DETAIL_ATOMIC(atomic_or, "or", bits)
IMBREX_DETAIL_ATOMIC(atomic_xor, "xor", bits)
IMBREX_DETAIL_ATOMIC(atomic_exchange, "exchange", exchange)
#undef IMBREX_DETAIL_ATOMIC

IMBREX_DETAIL_NEEDS_POINTERS(atomic_cas)
IMBREX_DETAIL_NEEDS_BRACES(atomic_cas, order, scope, "{order::relaxed, scope::block}")
#undef IMBREX_DETAIL_NEEDS_BRACES
#undef IMBREX_DETAIL_NEEDS_POINTERS
/// Write `desired` where memory holds the bits of `expected`; the old values.
template <detail::pointers P, operand_or_literal Expected, operand_or_literal Desired>
auto atomic_cas(const P &p, const Expected &expected, const Desired &desired,
                atomic_options options = {},
                const detail::effect_site &at = detail::location::current()) {
  using namespace detail;
  using T = pointee_t<P>;
  check_atomic<atomic_class::exchange, T>();
  check_stored<P, Expected>();
  check_stored<P, Desired>();
  using Shape = broadcast_t<shape_of<P>, shape_of<Expected>, shape_of<Desired>>;
  const std::array<value, 3> operands{record_as<element_t<P>, Shape>(p, at.where),
                                      record_as<T, Shape>(expected, at.where),
                                      record_as<T, Shape>(desired, at.where)};
  return tile_t<T, Shape>(record("atomic_cas", operands, type_of<T, Shape>,
                                 {{"order", order_words[static_cast<int>(options.ordered)]},
                                  {"scope", scope_words[static_cast<int>(options.seen_by)]}},
                                 at.where));
}

} // namespace imbrex

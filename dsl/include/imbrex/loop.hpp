#pragma once

#include <imbrex/create.hpp>
#include <imbrex/detail/body.hpp>

#include <iterator>

namespace imbrex {

namespace detail {

/// The range-for over a recorded loop: the body runs once, here.
template <class Index>
class loop_iterator : public body_scope {
public:
  loop_iterator(value index, location where) : body_scope("loop", where), index_(index) {}
  scalar<Index> operator*() const { return scalar<Index>(index_); }
  loop_iterator &operator++() {
    done_ = true;
    leave_body();
    return *this;
  }
  bool operator!=(std::default_sentinel_t) const { return !done_; }

private:
  value index_;
  bool done_ = false;
};

/// What somebody may take for a number of slots or repetitions.
template <class N>
concept no_count = std::floating_point<N> || !std::convertible_to<N, int>;

} // namespace detail

/// The indices low, low + step, … before high, as a loop in the kernel. The body is recorded once.
template <class Index>
class loop_range {
public:
  loop_range(std::array<detail::value, 3> bounds, detail::location where)
      : bounds_(bounds), where_(where) {}

  /// Let up to `slots` iterations overlap: what later ones load is fetched while earlier ones
  /// compute.
  loop_range pipelined(std::int64_t slots) const {
    loop_range copy = *this;
    copy.pipelined_ = detail::checked_slots(slots, where_);
    return copy;
  }
  template <detail::no_count N>
  loop_range pipelined(const N &) const {
    static_assert(detail::always_false<N>,
                  "imbrex: pipelined(slots) wants an integer of the host, such as 3; without one "
                  "as many slots are taken as pay");
    return *this;
  }
  /// The same, with as many slots as pay.
  loop_range pipelined() const {
    loop_range copy = *this;
    copy.pipelined_ = -1;
    return copy;
  }
  /// Repeat the body `times` times per trip of the machine's loop.
  loop_range unroll(int times) const {
    if (times < 1) detail::raise("UnrollTimes", where_, {std::to_string(times)});
    loop_range copy = *this;
    copy.unroll_ = times;
    return copy;
  }
  template <detail::no_count N>
  loop_range unroll(const N &) const {
    static_assert(detail::always_false<N>,
                  "imbrex: unroll(times) wants an integer of the host, such as 4");
    return *this;
  }

  /// Ask that the halves of a block's warps take turns in a pipelined loop that is one product, one
  /// reading while the other multiplies (*ping-pong*), or that they do not. It is done on GPUs
  /// whose warps have 64 lanes, of a block of eight, if the loop is made for it; unasked, if it
  /// pays.
  loop_range by_turns(bool are_wanted = true) const {
    loop_range copy = *this;
    copy.turns_ = are_wanted ? 2 : -1;
    return copy;
  }

  detail::loop_iterator<Index> begin() const {
    detail::begin_body("for", bounds_,
                       {{"pipelined", pipelined_}, {"unroll", unroll_}, {"turns", turns_}}, where_);
    return {detail::body_argument(detail::type_of<Index, detail::scalar_shape>), where_};
  }
  std::default_sentinel_t end() const { return {}; }

private:
  std::array<detail::value, 3> bounds_;
  detail::location where_;
  int pipelined_ = 0;
  int unroll_ = 1;
  int turns_ = 0; // parts of k; 0: not asked, -1: not wanted
};

namespace detail {

template <class A, class B>
constexpr auto index_meet() {
  if constexpr (literal_number<A> && literal_number<B>)
    return std::type_identity<meet<own_element_t<A>, own_element_t<B>>>{};
  else if constexpr (literal_number<A>)
    return std::type_identity<element_t<B>>{};
  else if constexpr (literal_number<B>)
    return std::type_identity<element_t<A>>{};
  else
    return std::type_identity<meet<element_t<A>, element_t<B>>>{};
}

template <class Low, class High, class Step>
auto make_range(const Low &low, const High &high, const Step &step, location where) {
  static_assert(integer_element<element_t<Low>> && integer_element<element_t<High>> &&
                    integer_element<element_t<Step>>,
                "imbrex: range(low, high, step) counts in integers");
  static_assert(shape_of<Low>::rank == 0 && shape_of<High>::rank == 0 && shape_of<Step>::rank == 0,
                "imbrex: range(low, high, step) needs scalars");
  using Bounds = typename decltype(index_meet<Low, High>())::type;
  constexpr bool step_decides = literal_number<Low> && literal_number<High> && operand<Step>;
  using Index = std::conditional_t<step_decides, element_t<Step>, Bounds>;
  const std::array<value, 3> bounds{record_as<Index, scalar_shape>(low, where),
                                    record_as<Index, scalar_shape>(high, where),
                                    record_as<Index, scalar_shape>(step, where)};
  return loop_range<Index>(bounds, where);
}

} // namespace detail

/// `for (auto k : range(low, high, step))`: numbers of the host or scalar tiles. A negative step
/// counts down; with step 0 the body never runs.
template <operand_or_literal Low, operand_or_literal High, operand_or_literal Step>
auto range(const Low &low, const High &high, const Step &step,
           detail::location where = detail::location::current()) {
  return detail::make_range(low, high, step, where);
}
template <operand_or_literal Low, operand_or_literal High>
auto range(const Low &low, const High &high, detail::location where = detail::location::current()) {
  return detail::make_range(low, high, 1, where);
}
template <operand_or_literal High>
auto range(const High &high, detail::location where = detail::location::current()) {
  return detail::make_range(0, high, 1, where);
}

} // namespace imbrex

#pragma once

#include <imbrex/loop.hpp>
#include <imbrex/var.hpp>

/// Conditions and endless loops of the kernel. C++'s own if and for act while the kernel is traced.
namespace imbrex {

namespace detail {

/// IMBREX_IF is a for loop of two trips around an if of C++, which records the one body in the
/// first and the other in the second, so that an else is whose C++ says. The destructor can tell a
/// body that ran to its end from one left by break, return or goto.
class if_scope : public body_scope {
public:
  template <class C>
  explicit if_scope(const C &condition, location where = location::current())
      : body_scope("if",
                   (begin_body("if", {record_condition(condition, where)}, {}, where), where)) {}
  bool enter() const { return left_ < 2; }
  bool holds() const { return left_ == 0; }
  void leave() {
    leave_body();
    if (++left_ == 2) return;
    begin_else(where());
    enter_body("else");
  }

private:
  int left_ = 0; // bodies
};

/// The body that has just begun is the else of this line. Never true: what it holds is behind
/// another else, which no third one can follow.
inline bool is_no_else(location where = location::current()) {
  place_body(where);
  return false;
}

} // namespace detail

#define IMBREX_DETAIL_JOIN2(a, b) a##b
#define IMBREX_DETAIL_JOIN(a, b) IMBREX_DETAIL_JOIN2(a, b)
#define IMBREX_DETAIL_IF(name, ...)                                                                \
  for (::imbrex::detail::if_scope name{__VA_ARGS__}; name.enter(); name.leave())                   \
    if (name.holds())

/// `IMBREX_IF (n > 0) { … } IMBREX_ELSE_IF (n < 0) { … } IMBREX_ELSE { … }`: control flow of the
/// kernel on a scalar bool. Each body is recorded once. A body may not be left by break, return or
/// goto; `continue` ends it like its closing brace.
#define IMBREX_IF(...) IMBREX_DETAIL_IF(IMBREX_DETAIL_JOIN(imbrex_if_, __LINE__), __VA_ARGS__)
#define IMBREX_ELSE                                                                                \
  else if (::imbrex::detail::is_no_else()) {                                                       \
  }                                                                                                \
  else
#define IMBREX_ELSE_IF(...) IMBREX_ELSE IMBREX_IF(__VA_ARGS__)

namespace detail {

/// Run a host function as a body.
template <class F>
void run_body(const char *construct, location where, const F &body) {
  struct scope : body_scope {
    using body_scope::body_scope;
    using body_scope::leave_body;
  } recorded(construct, where);
  body();
  recorded.leave_body();
}

template <class F>
void run_if(value condition, const F &then, location where) {
  begin_body("if", {condition}, {}, where);
  run_body("if", where, then);
}
template <class F>
void run_else(const F &otherwise, location where) {
  begin_else(where);
  run_body("else", where, otherwise);
}

} // namespace detail

/// The same as a function: `if_(n > 0, [&] { … }, [&] { … })`. Bodies that return a value each give
/// the value of the one that is taken.
template <operand C, class Then>
void if_(const C &condition, const Then &then,
         detail::location where = detail::location::current()) {
  static_assert(std::is_void_v<std::invoke_result_t<Then>>,
                "imbrex: an if_ that gives a value needs a second body");
  detail::run_if(detail::record_condition(condition, where), then, where);
}
template <operand C, class Then, class Else>
  requires std::invocable<const Else &>
auto if_(const C &condition, const Then &then, const Else &otherwise,
         detail::location where = detail::location::current()) {
  using Result = std::invoke_result_t<const Then &>;
  using Other = std::invoke_result_t<const Else &>;
  constexpr bool is_void = std::is_void_v<Result> && std::is_void_v<Other>;
  constexpr bool is_value = operand_or_literal<Result> && operand_or_literal<Other>;
  static_assert(std::is_void_v<Result> == std::is_void_v<Other>,
                "imbrex: either both bodies of if_ give a value or none does");
  static_assert(is_void || is_value || std::is_void_v<Result> || std::is_void_v<Other>,
                "imbrex: if_ gives one tile or scalar; for several, or for what is none, declare "
                "a var in front of it and assign to it in the bodies");
  const detail::value chosen = detail::record_condition(condition, where);
  if constexpr (is_void) {
    detail::run_if(chosen, then, where);
    detail::run_else(otherwise, where);
  } else if constexpr (!is_value) {
    return detail::refused{};
  } else {
    using T = detail::element_t<Result>;
    using Shape = detail::shape_of<Result>;
    static_assert(element<T>, "imbrex: if_ gives tiles of elements; for pointers use where");
    detail::tile_t<T, Shape> none(detail::record_constant(detail::type_of<T, Shape>, 0, where));
    var<detail::tile_t<T, Shape>> result(none, where);
    const auto give = [&](const auto &body) {
      return [&] { result = detail::located<detail::tile_t<T, Shape>>(body(), where); };
    };
    detail::run_if(chosen, give(then), where);
    detail::run_else(give(otherwise), where);
    return result.get();
  }
}

namespace detail {

/// The host's own conditions, too: `break_if(true)` at the end of an IMBREX_IF.
template <class C>
value record_end(const C &condition, location where) {
  if constexpr (std::same_as<C, bool>)
    return record_constant(type_of<bool, scalar_shape>, condition, where);
  else
    return record_condition(condition, where);
}

} // namespace detail

/// End this block of the grid if the scalar bool holds.
template <class C>
void exit_if(const C &condition, detail::location where = detail::location::current()) {
  detail::record_effect("exit_if", {detail::record_end(condition, where)}, {}, where);
}
/// Leave the innermost loop of the kernel if the scalar bool holds.
template <class C>
void break_if(const C &condition, detail::location where = detail::location::current()) {
  detail::record_effect("break_if", {detail::record_end(condition, where)}, {}, where);
}

/// `while_([&] { return x > 1; }, [&] { x = x / 2; });` Both functions are recorded once.
template <class Condition, class Body>
  requires std::invocable<const Condition &> && std::invocable<const Body &>
void while_(const Condition &condition, const Body &body,
            detail::location where = detail::location::current()) {
  using Holds = std::remove_cvref_t<std::invoke_result_t<const Condition &>>;
  static_assert(operand<Holds>, "imbrex: the first function of while_ returns a scalar bool of the "
                                "kernel; on a condition of the host use C++'s own while");
  if constexpr (operand<Holds>) {
    detail::check_condition<Holds>();
    detail::begin_body("while", {}, {}, where);
    detail::run_body("while", where, [&] {
      const auto holds = condition();
      break_if(!holds, where);
      body();
    });
  }
}

namespace detail {

/// The trip of an endless loop; there is nothing to know about it.
struct [[maybe_unused]] trip {};

class forever_iterator : public body_scope {
public:
  explicit forever_iterator(location where) : body_scope("loop", where) {}
  trip operator*() const { return {}; }
  forever_iterator &operator++() {
    done_ = true;
    leave_body();
    return *this;
  }
  bool operator!=(std::default_sentinel_t) const { return !done_; }

private:
  bool done_ = false;
};

class forever_range {
public:
  explicit forever_range(location where) : where_(where) {}
  forever_iterator begin() const {
    begin_body("while", {}, {}, where_);
    return forever_iterator(where_);
  }
  std::default_sentinel_t end() const { return {}; }

private:
  location where_;
};

} // namespace detail

/// `for (auto trip : forever()) { … break_if(done); }`: a loop that break_if leaves.
inline detail::forever_range forever(detail::location where = detail::location::current()) {
  return detail::forever_range(where);
}

} // namespace imbrex

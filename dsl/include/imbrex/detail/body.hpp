#pragma once

#include <imbrex/detail/operand.hpp>

#include <exception>

namespace imbrex::detail {

/// A body that is being recorded. Left by its end it calls `leave_body`; left otherwise, by break,
/// return, goto or an exception, its destructor tells.
class body_scope {
public:
  body_scope(std::string_view construct, location where) : construct_(construct), where_(where) {}
  body_scope(const body_scope &) = delete;
  body_scope &operator=(const body_scope &) = delete;
  ~body_scope() {
    if (open_) abandon_body(construct_, std::uncaught_exceptions() > exceptions_, where_);
  }

protected:
  void leave_body() {
    open_ = false;
    end_body({}, where_);
  }
  /// Another body, of the same scope.
  void enter_body(std::string_view construct) {
    construct_ = construct;
    open_ = true;
  }
  location where() const { return where_; }

private:
  std::string_view construct_;
  location where_;
  int exceptions_ = std::uncaught_exceptions();
  bool open_ = true;
};

template <class C>
constexpr void check_condition() {
  static_assert(operand<C>, "imbrex: this condition is known to the host; use C++'s own if");
  if constexpr (operand<C>)
    static_assert(
        std::same_as<element_t<C>, bool> && shape_of<C>::rank == 0,
        "imbrex: the condition must be a scalar bool; of a tile take any(...) or all(...)");
}

template <class C>
value record_condition(const C &condition, location where) {
  check_condition<C>();
  if constexpr (operand<C>)
    return record_value(condition, where);
  else
    return {};
}

} // namespace imbrex::detail

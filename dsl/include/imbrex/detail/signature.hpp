#pragma once

#include <imbrex/table.hpp>

#include <tuple>

/// Which parameters a kernel's call operator takes, and whether a kernel may take them.
namespace imbrex::detail {

template <class P>
inline constexpr bool taken_as_value =
    !std::is_reference_v<P> || std::convertible_to<const std::remove_reference_t<P> &, P>;

/// Of a kernel that was refused: nothing else is wrong with it.
struct refused_signature {
  using type = std::tuple<>;
  static constexpr bool is_const = true;
  static constexpr bool returns_nothing = true;
  static constexpr bool takes_values = true;
  static constexpr bool is_callable = false;
};

template <class F>
struct call_signature;
template <class R, class C, class... P>
struct call_signature<R (C::*)(P...)> : refused_signature {
  using type = std::tuple<std::remove_cvref_t<P>...>; // so that launches are checked against it
  static constexpr bool is_const = false;
};
template <class R, class C, class... P>
struct call_signature<R (C::*)(P...) noexcept> : call_signature<R (C::*)(P...)> {};
template <class R, class C, class... P>
struct call_signature<R (C::*)(P...) const> {
  using type = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr bool is_const = true;
  static constexpr bool returns_nothing = std::is_void_v<R>;
  static constexpr bool takes_values = (taken_as_value<P> && ...);
  static constexpr bool is_callable = takes_values;
};
template <class R, class C, class... P>
struct call_signature<R (C::*)(P...) const noexcept> : call_signature<R (C::*)(P...) const> {};
template <class R, class... P>
struct call_signature<R (*)(P...)> {
  using type = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr bool is_const = true;
  static constexpr bool returns_nothing = std::is_void_v<R>;
  static constexpr bool takes_values = (taken_as_value<P> && ...);
  static constexpr bool is_callable = takes_values;
};

template <class K>
concept has_one_call = requires { &K::operator(); };

template <class K>
constexpr auto signature_of() {
  if constexpr (std::is_pointer_v<K>) {
    return call_signature<K>{};
  } else {
    static_assert(
        has_one_call<K>,
        "imbrex: a kernel is a functor or lambda with one operator() whose parameters have "
        "types; `auto` parameters are not known until the launch");
    if constexpr (has_one_call<K>)
      return call_signature<decltype(&K::operator())>{};
    else
      return refused_signature{};
  }
}

/// How a kernel's parameter is described to the recorder.
template <class P>
struct parameter {
  static constexpr bool exists = false;
};
template <class T, int Rank>
struct parameter<view<T, Rank>> {
  static constexpr bool exists = true;
  static constexpr type description() {
    type t;
    t.element = element_info<std::remove_const_t<T>>.name;
    t.form = type_form::view;
    t.is_const = std::is_const_v<T>;
    t.rank = Rank;
    return t;
  }
};
template <class T>
struct parameter<table<T>> {
  static constexpr bool exists = true;
  static constexpr type description() {
    type t = type_of<pointer<T>, scalar_shape>;
    t.form = type_form::table;
    return t;
  }
};
template <class T>
struct parameter<tile<T>> {
  static constexpr bool exists = true;
  static constexpr type description() { return type_of<T, scalar_shape>; }
};

/// Of the parameter with this number, counted from 1, which compilers print where they refuse it.
template <class P, std::size_t Number>
constexpr auto check_parameter() {
  static_assert(
      parameter<P>::exists,
      "imbrex: a kernel's parameter is a ptr<T>, a view<T, Rank>, a table<T> or a scalar<T>; what "
      "is known when the kernel is traced goes into captures, members or template arguments");
  return parameter<P>::exists;
}
template <class Parameters>
inline constexpr bool are_parameters = false;
template <class... P>
inline constexpr bool are_parameters<std::tuple<P...>> =
    []<std::size_t... I>(std::index_sequence<I...>) {
      return decltype(std::bool_constant<(check_parameter<P, I + 1>() && ...)>())::value;
    }(std::index_sequence_for<P...>());

/// Whether a kernel of this signature can be called with parameters.
template <class Signature>
constexpr auto check_signature() {
  static_assert(Signature::is_const, "imbrex: a kernel's operator() is const");
  static_assert(Signature::returns_nothing,
                "imbrex: a kernel returns nothing; it stores its results");
  static_assert(Signature::takes_values,
                "imbrex: a kernel takes its parameters by value or by const reference");
  return std::bool_constant<Signature::is_callable && are_parameters<typename Signature::type>>();
}

} // namespace imbrex::detail

#pragma once

#include <imbrex/detail/given.hpp>
#include <imbrex/detail/storage.hpp>
#include <imbrex/trace.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

/// Whether what a launch is given goes with the kernel's parameters, by the types. The compiler
/// prints the condition that fails, and it says which argument is meant, and both types:
/// `argument<2, text<6>{"factor"}, takes<tile<float>>, given<std::string>>::is_number`.
namespace imbrex::detail {

/// A name that the compiler prints.
template <std::size_t Length>
struct text {
  char letters[Length + 1]{};
  constexpr explicit text(const char *from) {
    for (std::size_t i = 0; i < Length; ++i) letters[i] = from[i];
  }
};
/// Of a parameter that has no name where C++ sees it.
struct unnamed {};

template <class P>
struct takes;
template <class A>
struct given;

/// What is right about an argument, counted from 1.
template <std::size_t Number, auto Name, class Takes, class Given>
struct argument;

/// Of each kind of parameter only some things can be wrong; of one that is none, the trace has
/// told.
struct all_right {
  static constexpr bool has_extents = true, is_array = true, is_pointer = true, has_its_rank = true;
  static constexpr bool is_table = true;
  static constexpr bool has_its_elements = true, is_writable = true, is_packed = true;
  static constexpr bool is_integer = true, is_bool = true, is_number = true;
};

/// What is given for an array of T; T itself where only the launch knows, or it is no array.
template <class T, class A>
constexpr auto elements_given() {
  if constexpr (raw_pointer<A> || (array_argument<A> && !dlpack_array<A>))
    return std::type_identity<typename given_element<A>::type>();
  else
    return std::type_identity<T>();
}
template <class T, class A>
struct array_check : all_right {
  using elements = typename decltype(elements_given<T, A>())::type;
  static constexpr bool same = std::same_as<std::remove_const_t<elements>, std::remove_const_t<T>>;
  static constexpr bool writable = std::is_const_v<T> || !std::is_const_v<elements>;
  static constexpr bool packed =
      !imbrex::detail::is_packed<T> || raw_pointer<A> || own_array<A> || dlpack_array<A>;
};

template <int Rank, class A>
constexpr bool ranks_agree() {
  if constexpr (mdspan_like<A>)
    return std::remove_cvref_t<A>::rank() == Rank;
  else
    return true;
}

template <std::size_t Number, auto Name, class P, class A>
struct argument<Number, Name, takes<P>, given<A>> : all_right {};

template <std::size_t Number, auto Name, class T, int Rank, class A>
struct argument<Number, Name, takes<view<T, Rank>>, given<A>> : array_check<T, A> {
  using check = array_check<T, A>;
  static constexpr bool has_extents = !raw_pointer<A>;
  static constexpr bool is_array = raw_pointer<A> || array_argument<A>;
  static constexpr bool has_its_rank = ranks_agree<Rank, A>();
  static constexpr bool has_its_elements = check::same || !has_extents;
  static constexpr bool is_writable = check::writable;
  static constexpr bool is_packed = check::packed || !has_its_elements;
};

template <std::size_t Number, auto Name, class T, class A>
struct argument<Number, Name, takes<tile<pointer<T>>>, given<A>> : array_check<T, A> {
  using check = array_check<T, A>;
  static constexpr bool is_pointer = raw_pointer<A> || array_argument<A>;
  static constexpr bool has_its_elements = check::same;
  static constexpr bool is_writable = check::writable;
};

/// What the arrays are of; T itself where only the launch knows, or they are none.
template <class T, class A>
constexpr auto elements_listed() {
  if constexpr (!table_argument<A>)
    return std::type_identity<T>();
  else if constexpr (std::is_void_v<typename listed_element<A>::type>)
    return std::type_identity<T>();
  else
    return std::type_identity<typename listed_element<A>::type>();
}

template <std::size_t Number, auto Name, class T, class A>
struct argument<Number, Name, takes<table<T>>, given<A>> : all_right {
  using elements = typename decltype(elements_listed<T, A>())::type;
  static constexpr bool is_table = table_argument<A>;
  static constexpr bool has_its_elements =
      std::same_as<std::remove_const_t<elements>, std::remove_const_t<T>>;
  static constexpr bool is_writable = std::is_const_v<T> || !std::is_const_v<elements>;
};

template <std::size_t Number, auto Name, class T, class A>
struct argument<Number, Name, takes<tile<T>>, given<A>> : all_right {
  using plain = std::remove_const_t<A>;
  static constexpr bool same = std::same_as<plain, T>;
  static constexpr bool is_integer = same || !integer_element<T> || whole_number<plain>;
  static constexpr bool is_bool = same || !std::same_as<T, bool>;
  static constexpr bool is_number = same || integer_element<T> || std::same_as<T, bool> ||
                                    std::floating_point<plain> || whole_number<plain> ||
                                    float_element<plain> || std::same_as<plain, special_number>;
};

template <class Argument>
constexpr auto check_argument() {
  static_assert(Argument::has_extents, "imbrex: a view needs extents; pass tensor_ref(pointer, "
                                       "{rows, columns}) instead of a pointer");
  static_assert(Argument::is_array,
                "imbrex: the kernel's parameter is a view; pass a buffer, a tensor_ref, an mdspan, "
                "a span, a vector or a DLPack tensor");
  static_assert(Argument::is_pointer,
                "imbrex: the kernel's parameter is a pointer; pass a pointer, a buffer, a span or "
                "a vector");
  static_assert(
      Argument::is_table,
      "imbrex: the kernel's parameter is a table of pointers; pass a range of arrays, such "
      "as a vector of buffers, or table_of(a, b, c)");
  static_assert(Argument::has_its_rank,
                "imbrex: the argument and the kernel's view have different ranks");
  static_assert(Argument::has_its_elements,
                "imbrex: the argument's elements have another type than the kernel's parameter");
  static_assert(Argument::is_writable,
                "imbrex: the kernel may write through this parameter, but the argument is const; "
                "make the parameter view<const T, ...>, ptr<const T> or table<const T>");
  static_assert(Argument::is_packed,
                "imbrex: two f4e2m1 share a byte; pass a buffer<f4e2m1> or a tensor_ref<f4e2m1>");
  static_assert(Argument::is_integer,
                "imbrex: the kernel's parameter is an integer, the argument is not");
  static_assert(Argument::is_bool, "imbrex: the kernel's parameter is a bool, the argument is not");
  static_assert(Argument::is_number,
                "imbrex: the kernel's parameter is a number, the argument is not");
  return std::bool_constant<
      Argument::has_extents && Argument::is_array && Argument::is_pointer && Argument::is_table &&
      Argument::has_its_rank && Argument::has_its_elements && Argument::is_writable &&
      Argument::is_packed && Argument::is_integer && Argument::is_bool && Argument::is_number>();
}

/// The parameters' names as they stand in a kernel's functor; none, or one for each.
template <auto... Names>
struct name_list {
  template <std::size_t I>
  static constexpr auto at() {
    if constexpr (I < sizeof...(Names))
      return std::get<I>(std::tuple{Names...});
    else
      return unnamed();
  }
};
template <class K, std::size_t... I>
constexpr auto listed_names(std::index_sequence<I...>) {
  constexpr names all(K::parameters);
  return name_list<text<std::string_view(all[I]).size()>(all[I])...>();
}
template <class K>
concept names_parameters =
    requires { std::bool_constant<names(K::parameters).size() == kernel_traits<K>::arity>(); };
template <class K>
constexpr auto names_of() {
  if constexpr (names_parameters<K>) {
    if constexpr (names(K::parameters).size() == kernel_traits<K>::arity)
      return listed_names<K>(std::make_index_sequence<kernel_traits<K>::arity>());
    else
      return name_list<>();
  } else {
    return name_list<>();
  }
}

} // namespace imbrex::detail

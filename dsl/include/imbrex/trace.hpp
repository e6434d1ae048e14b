#pragma once

#include <imbrex/detail/signature.hpp>
#include <imbrex/error.hpp>

#include <memory>

namespace imbrex {

namespace ir {
class Kernel;
}

/// Whether `a * b + c` within one expression becomes one fused multiply-add, rounded once.
enum class fp_contract { on, off };

/// Names of a kernel's parameters, for the text of the IR and of errors:
/// `trace(kernel, {.parameters = {"a", "b", "c"}})`, or in a functor
/// `static constexpr imbrex::names parameters{"a", "b", "c"};`. Others are called p0, p1, …
class names {
public:
  static constexpr std::size_t most = 32;

  constexpr names() = default;
  template <std::convertible_to<const char *>... S>
    requires(sizeof...(S) > 0 && sizeof...(S) <= most)
  constexpr names(S... items) : items_{items...}, size_(sizeof...(S)) {}

  constexpr std::size_t size() const { return size_; }
  constexpr const char *operator[](std::size_t i) const { return items_[i]; }

private:
  std::array<const char *, most> items_{};
  std::size_t size_ = 0;
};

/// How many blocks of a grid form a cluster along x, y and z, which a GPU runs at once, on cores
/// near each other. Of one block: there are no clusters.
struct cluster_shape {
  int x = 1, y = 1, z = 1;
};

struct trace_options {
  /// Empty: the functor's name, or "kernel" for a lambda.
  std::string_view name = {};
  names parameters = {};
  fp_contract contract = fp_contract::on;
  /// Of a GPU's code: the warps of a block, a power of two, and the registers of a thread, at most.
  /// 0: what the functor says (`static constexpr int warps = 8;`), else the compiler chooses.
  int warps = 0;
  int registers = 0;
  /// Of launches on GPUs; results do not depend on it. Also members of a functor (`static constexpr
  /// cluster_shape cluster{2};`, `static constexpr bool cooperative = true;`).
  /// Clusters of at most 16 blocks, which divide the grid along each axis; a GPU has 8 or more.
  cluster_shape cluster = {};
  /// All blocks are on the device at once, or the driver refuses the launch.
  bool cooperative = false;
  /// A launch may start while the one in front of it in its stream ends; the kernel's code waits
  /// for that one's memory before it touches any (programmatic dependent launch).
  bool programmatic = false;
};

/// A kernel as it was recorded. Cheap to copy, immutable.
class traced_kernel {
public:
  /// The recorded program in the text form of the IR.
  std::string text() const;
  const std::string &name() const;
  std::size_t parameter_count() const;
  const std::string &parameter_name(std::size_t i) const;

  explicit traced_kernel(std::shared_ptr<const ir::Kernel> kernel) : kernel_(std::move(kernel)) {}
  const std::shared_ptr<const ir::Kernel> &shared() const { return kernel_; }

private:
  std::shared_ptr<const ir::Kernel> kernel_;
};

namespace detail {

inline constexpr int most_warps = 32, least_registers = 16, most_registers = 1024,
                     most_cluster_blocks = 16;
constexpr bool are_warps(int n) { return n > 0 && n <= most_warps && (n & (n - 1)) == 0; }
constexpr bool are_registers(int n) { return n >= least_registers && n <= most_registers; }
constexpr bool is_cluster(const cluster_shape &of) {
  for (const int extent : {of.x, of.y, of.z})
    if (extent < 1 || extent > most_cluster_blocks) return false;
  return of.x * of.y * of.z <= most_cluster_blocks;
}
constexpr bool is_one_block(const cluster_shape &of) { return of.x == 1 && of.y == 1 && of.z == 1; }

/// What holds of a kernel as a whole.
struct recording {
  bool contracts;
  int warps;
  int registers;
  cluster_shape cluster;
  bool cooperative;
  bool programmatic;
};

/// A trace in progress on this thread.
class trace_session {
public:
  trace_session(std::string_view name, const recording &how, location where);
  ~trace_session();
  trace_session(const trace_session &) = delete;
  trace_session &operator=(const trace_session &) = delete;

  value add_parameter(const std::string &name, const type &described);
  /// The recorded kernel; throws the first mistake that could not be thrown where it was made.
  traced_kernel finish();
};

/// A kernel that is to be traced, and how its body is called. The session lives in the library,
/// which leaves nothing behind when the body throws, even if this file has no exceptions.
struct traced_body {
  std::string_view name;
  const names &given;
  std::size_t arity;
  recording how;
  const void *kernel;
  void (*call)(const void *kernel, trace_session &session, const names &given);
};
/// Throws unless there are no names, or one of its own for each parameter, and what the body
/// throws.
traced_kernel trace_body(const traced_body &body, location where);
result<traced_kernel> try_trace_body(const traced_body &body, location where);

template <class Parameters>
const Parameters make_parameters(trace_session &session, const names &given) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto make = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      using P = std::tuple_element_t<N, Parameters>;
      std::string called = given.size() != 0 ? std::string(given[N]) : std::to_string(N);
      if (given.size() == 0) called.insert(called.begin(), 'p'); // g++ 12 warns of a sum
      return P(session.add_parameter(called, parameter<P>::description()));
    };
    // The braces keep the parameters in order.
    return Parameters{make(std::integral_constant<std::size_t, I>{})...};
  }(std::make_index_sequence<std::tuple_size_v<Parameters>>{});
}

std::string kernel_name(std::string_view function_signature);

template <class K>
std::string default_name() {
  if constexpr (requires { K::name; })
    return std::string(K::name);
  else
    return kernel_name(__PRETTY_FUNCTION__);
}

template <class K>
names parameter_names(const names &given) {
  if constexpr (requires { names(K::parameters); })
    return given.size() != 0 ? given : names(K::parameters);
  else
    return given;
}

/// What a functor asks for, 0 where it says nothing; a member that is not static says nothing.
template <class K>
constexpr int warps_of() {
  if constexpr (requires { requires std::is_pointer_v<decltype(&K::warps)>; }) {
    static_assert(are_warps(K::warps),
                  "imbrex: a kernel's `warps` are those of a block: a power of two from 1 to 32");
    return K::warps;
  } else {
    return 0;
  }
}
template <class K>
constexpr int registers_of() {
  if constexpr (requires { requires std::is_pointer_v<decltype(&K::registers)>; }) {
    static_assert(are_registers(K::registers),
                  "imbrex: a kernel's `registers` are those of a thread: from 16 to 1024");
    return K::registers;
  } else {
    return 0;
  }
}

template <class K>
constexpr cluster_shape cluster_of() {
  if constexpr (requires { requires std::is_pointer_v<decltype(&K::cluster)>; }) {
    static_assert(is_cluster(K::cluster),
                  "imbrex: a kernel's `cluster` is a cluster_shape of extents "
                  "from 1 on, and of at most 16 blocks");
    return K::cluster;
  } else {
    return {};
  }
}
template <class K>
constexpr bool is_cooperative() {
  if constexpr (requires { requires std::is_pointer_v<decltype(&K::cooperative)>; })
    return K::cooperative;
  else
    return false;
}
template <class K>
constexpr bool is_programmatic() {
  if constexpr (requires { requires std::is_pointer_v<decltype(&K::programmatic)>; })
    return K::programmatic;
  else
    return false;
}

} // namespace detail

/// The parameters of a kernel as a std::tuple: `ptr<T>`, `view<T, Rank>`, `scalar<T>`.
template <class K>
struct kernel_traits {
  using parameters = typename decltype(detail::signature_of<K>())::type;
  static constexpr std::size_t arity = std::tuple_size_v<parameters>;
};

namespace detail {

template <class K>
void call_kernel(const void *kernel, trace_session &session, const names &given) {
  using signature = decltype(signature_of<K>());
  if constexpr (decltype(check_signature<signature>())::value)
    std::apply(*static_cast<const K *>(kernel),
               make_parameters<typename kernel_traits<K>::parameters>(session, given));
}

/// What the options ask for, else the functor.
template <class K>
constexpr recording recording_of(const trace_options &options) {
  return {.contracts = options.contract == fp_contract::on,
          .warps = options.warps != 0 ? options.warps : warps_of<K>(),
          .registers = options.registers != 0 ? options.registers : registers_of<K>(),
          .cluster = is_one_block(options.cluster) ? cluster_of<K>() : options.cluster,
          .cooperative = options.cooperative || is_cooperative<K>(),
          .programmatic = options.programmatic || is_programmatic<K>()};
}

/// Give `run` what is to be traced.
template <class K, class Run>
auto with_body(const K &kernel, const trace_options &options, const Run &run) {
  const std::string name = options.name.empty() ? default_name<K>() : std::string(options.name);
  const names given = parameter_names<K>(options.parameters);
  return run(traced_body{.name = name,
                         .given = given,
                         .arity = kernel_traits<K>::arity,
                         .how = recording_of<K>(options),
                         .kernel = static_cast<const void *>(std::addressof(kernel)),
                         .call = &call_kernel<K>});
}

} // namespace detail

/// Run the kernel's body once and record what it does. Throws imbrex::error for a mistake in it; an
/// exception of the body passes through and leaves no state behind.
template <class K>
traced_kernel trace(const K &kernel, const trace_options &options = {},
                    detail::location where = detail::location::current()) {
  detail::check_signature<decltype(detail::signature_of<K>())>(); // here, for the caller's line
  return detail::with_body(kernel, options, [&](const detail::traced_body &body) {
    return detail::trace_body(body, where);
  });
}

/// The same, with the error as a value.
template <class K>
result<traced_kernel> try_trace(const K &kernel, const trace_options &options = {},
                                detail::location where = detail::location::current()) {
  detail::check_signature<decltype(detail::signature_of<K>())>();
  return detail::with_body(kernel, options, [&](const detail::traced_body &body) {
    return detail::try_trace_body(body, where);
  });
}

} // namespace imbrex

#pragma once

#include <imbrex/blocks.hpp>
#include <imbrex/buffer.hpp>
#include <imbrex/detail/argument.hpp>
#include <imbrex/grid.hpp>
#include <imbrex/stream.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace imbrex {

struct jit_options {
  /// Where a launch runs that names no stream; the device current at the launch if none is given.
  std::optional<device> on = {};
  /// How the kernel is recorded: its name, its parameters' names, fused multiply-add.
  trace_options trace = {};
  /// The warps of a block and the registers of a thread on a GPU, as in `trace_options`; 0: as
  /// `trace` says.
  int warps = 0;
  int registers = 0;
  /// What launches on a GPU ask for, as in `trace_options`: a cluster goes before that of `trace`,
  /// and either may say the rest.
  cluster_shape cluster = {};
  bool cooperative = false;
  bool programmatic = false;
};

namespace detail {

struct launch_state;

/// A traced kernel and what has been compiled of it. Cheap to copy; copies share what is compiled.
class launchable {
public:
  /// `blocks` computes the grid of a launch that brings none.
  launchable(traced_kernel kernel, std::optional<device> on,
             std::optional<traced_kernel> blocks = {});

  const traced_kernel &kernel() const;
  /// Compile for a device now instead of at the first launch there.
  result<void> prepare(device on) const;
  /// Without a grid only where the kernel computes it. With the words of the arguments, where they
  /// have some.
  result<void> launch(const stream_ref *stream, const grid *blocks, list<launch_argument> arguments,
                      const std::uint64_t *words) const;
  /// Make the launch, if it is the one that followed this thread's latest the last time. 0, or why
  /// it isn't made.
  int launch_again(const stream_ref *stream, const grid *blocks, const std::uint64_t *words) const;
  /// It is another one, and nothing was done. What else there is is the driver's error.
  static constexpr int not_recent = -1;
  static result<void> refused(int error);

private:
  int launch_again_in_current(const grid *blocks, const std::uint64_t *words) const;

  std::shared_ptr<launch_state> state_;
};

/// In the message of the compiler, which prints these numbers.
template <std::size_t Given, std::size_t Wanted>
struct argument_count {
  static constexpr bool is_right = Given == Wanted;
};

/// What a call of a kernel begins with: a grid, or a stream and a grid.
template <class... A>
inline constexpr bool begins_with_grid = false;
template <class A, class... Rest>
inline constexpr bool begins_with_grid<A, Rest...> = std::convertible_to<A, const grid &>;
template <class A, class B, class... Rest>
inline constexpr bool begins_with_grid<A, B, Rest...> =
    std::convertible_to<A, const grid &> ||
    (std::convertible_to<A, const stream_ref &> && std::convertible_to<B, const grid &>);

/// What a call of a kernel that computes its grid begins with.
template <class... A>
inline constexpr bool begins_with_stream = false;
template <class A, class... Rest>
inline constexpr bool begins_with_stream<A, Rest...> = std::convertible_to<A, const stream_ref &>;

} // namespace detail

/// A kernel that can be called: `k(grid(64), a, b, c)`, without the grid where it computes that
/// itself. Made by `jit`.
template <class Parameters, class Names, bool HasBlocks = false>
class launcher;

template <class... P, class Names, bool HasBlocks>
class launcher<std::tuple<P...>, Names, HasBlocks> {
public:
  explicit launcher(detail::launchable kernel) : kernel_(std::move(kernel)) {}

  /// Run the kernel's blocks; throws imbrex::error where that can't be.
  ///
  /// Always inlined, so that a launch costs the same wherever, and however often, it is written.
  template <class... A>
  [[gnu::always_inline]] void operator()(const grid &blocks, A &&...arguments) const {
    go(nullptr, &blocks, arguments...).value();
  }
  template <class... A>
  [[gnu::always_inline]] void operator()(const stream_ref &stream, const grid &blocks,
                                         A &&...arguments) const {
    go(&stream, &blocks, arguments...).value();
  }

  template <class... A>
    requires(!detail::begins_with_grid<A...>)
  void operator()(A &&...arguments) const {
    go_without_grid(arguments...).value();
  }

  /// The same, with the error as a value.
  template <class... A>
  result<void> try_launch(const grid &blocks, A &&...arguments) const {
    return go(nullptr, &blocks, arguments...);
  }
  template <class... A>
  result<void> try_launch(const stream_ref &stream, const grid &blocks, A &&...arguments) const {
    return go(&stream, &blocks, arguments...);
  }

  template <class... A>
    requires(!detail::begins_with_grid<A...>)
  result<void> try_launch(A &&...arguments) const {
    return go_without_grid(arguments...);
  }

  /// Compile for a device now, so that the first launch there need not.
  void prepare(device on = device::current()) const { kernel_.prepare(on).value(); }
  /// The same, with the error as a value.
  result<void> try_prepare(device on = device::current()) const { return kernel_.prepare(on); }

  const traced_kernel &kernel() const { return kernel_.kernel(); }

private:
  template <class... A>
  result<void> go_without_grid(A &...given) const {
    static_assert(HasBlocks || detail::begins_with_grid<A...>,
                  "imbrex: a launch begins with the grid, or with a stream and the grid: "
                  "kernel(grid(blocks), arguments...)");
    if constexpr (HasBlocks && detail::begins_with_stream<A...>)
      return go_in_stream(given...);
    else if constexpr (HasBlocks)
      return go(nullptr, nullptr, given...);
    else
      return {};
  }
  template <class... A>
  result<void> go_in_stream(const stream_ref &stream, A &...given) const {
    return go(&stream, nullptr, given...);
  }
  template <class... A, std::size_t... I>
  static constexpr auto check(std::index_sequence<I...>) {
    using namespace detail;
    return std::bool_constant<(
        check_argument<argument<I + 1, Names::template at<I>(), takes<P>, given<A>>>() && ...)>();
  }
  template <class... A>
  static constexpr auto check() {
    using count = detail::argument_count<sizeof...(A), sizeof...(P)>;
    static_assert(count::is_right, "imbrex: a launch passes one argument for each parameter of the "
                                   "kernel, after the grid");
    if constexpr (count::is_right)
      return check<A...>(std::index_sequence_for<A...>());
    else
      return std::false_type();
  }
  template <class... A>
  [[gnu::always_inline]] result<void> go(const stream_ref *stream, const grid *blocks,
                                         A &...given) const {
    if constexpr (!decltype(check<A...>())::value) {
      return {};
    } else if constexpr ((detail::has_word<P, A> && ...)) {
      std::array<std::uint64_t, detail::padded_words(sizeof...(P))> words;
      std::fill(words.begin() + sizeof...(P), words.end(), 0);
      [[maybe_unused]] std::uint64_t *next = words.data();
      if (!(detail::argument_for<P>::take_word(given, *next++) && ...))
        return launch(stream, blocks, nullptr, given...);
      const int came = kernel_.launch_again(stream, blocks, words.data());
      if (came == 0) return {};
      if (came != detail::launchable::not_recent) return kernel_.refused(came);
      return launch(stream, blocks, words.data(), given...);
    } else {
      return launch(stream, blocks, nullptr, given...);
    }
  }
  template <class... A>
  [[gnu::noinline]] result<void> launch(const stream_ref *stream, const grid *blocks,
                                        const std::uint64_t *words, A &...given) const {
    const std::array<detail::launch_argument, sizeof...(P)> arguments{
        detail::argument_for<P>::make(given)...};
    return kernel_.launch(stream, blocks, {arguments.data(), arguments.size()}, words);
  }

  detail::launchable kernel_;
};

namespace detail {

/// Of a kernel whose parameters are not known, which was refused: nothing else is wrong with it.
struct refused_launcher {
  explicit refused_launcher(const launchable &) {}
  template <class... A>
  void operator()(A &&...) const {}
  template <class... A>
  result<void> try_launch(A &&...) const {
    return {};
  }
};

template <class K>
constexpr auto launcher_type() {
  if constexpr (std::is_pointer_v<K> || has_one_call<K>)
    return std::type_identity<launcher<typename kernel_traits<K>::parameters,
                                       decltype(names_of<K>()), has_blocks<K>()>>();
  else
    return std::type_identity<refused_launcher>();
}
template <class K>
using launcher_of = typename decltype(launcher_type<K>())::type;

inline trace_options trace_options_of(const jit_options &options) {
  trace_options how = options.trace;
  if (options.warps != 0) how.warps = options.warps;
  if (options.registers != 0) how.registers = options.registers;
  if (!is_one_block(options.cluster)) how.cluster = options.cluster;
  how.cooperative |= options.cooperative;
  how.programmatic |= options.programmatic;
  return how;
}

} // namespace detail

/// Record a kernel now; it is compiled for a device at its first launch there, once for all
/// launchers of the same kernel. A launcher may be called by many threads at once.
template <class K>
auto jit(const K &kernel, const jit_options &options = {},
         std::source_location where = std::source_location::current()) {
  detail::check_signature<decltype(detail::signature_of<K>())>(); // here, for the caller's line
  return detail::launcher_of<K>(
      detail::launchable(trace(kernel, detail::trace_options_of(options), where), options.on,
                         detail::trace_blocks(kernel, where)));
}

/// The same, with the error as a value.
template <class K>
auto try_jit(const K &kernel, const jit_options &options = {},
             std::source_location where = std::source_location::current()) {
  detail::check_signature<decltype(detail::signature_of<K>())>();
  using made = result<detail::launcher_of<K>>;
  const result<traced_kernel> traced = try_trace(kernel, detail::trace_options_of(options), where);
  if (!traced) return made(traced.error());
  const result<std::optional<traced_kernel>> blocks = detail::try_trace_blocks(kernel, where);
  if (!blocks) return made(blocks.error());
  return made(detail::launcher_of<K>(detail::launchable(*traced, options.on, *blocks)));
}

} // namespace imbrex

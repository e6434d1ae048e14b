#pragma once

#include <imbrex/imbrex.hpp>
#include <imbrex/kernels/select_topk.hpp>

#include <optional>

/// The k best scores of each row, as indices: the blocks of keys that a sparse attention looks at,
/// the experts of a mixture, the next words of a beam. docs/kernels.md says what it costs.
namespace imbrex::kernels {

/// A stream, or a device for its default one.
class launch_place {
public:
  launch_place(const stream_ref &stream) : stream_(stream) {}
  launch_place(device on) : stream_(on) {}
  const stream_ref &stream() const { return stream_; }

private:
  stream_ref stream_;
};

/// How the k best are found. The result does not depend on it.
enum class topk_method { by_size, rounds, sifting };

struct topk_options {
  /// The largest scores, or else the smallest.
  bool largest = true;
  /// How many scores of each row count, from its first on, an element per row; all if not given.
  std::optional<tensor_ref<const i32>> counts = {};
  topk_method method = topk_method::by_size;
};

/// The most that can be asked for.
inline constexpr int most_topk = 2048;

namespace detail {

/// How wide a block works: a processor goes through a row in small steps, a GPU's block in ones
/// that give all of its threads something to do.
struct topk_widths {
  int look;  // at once, to see whether anything passes
  int slice; // of that, what is put down at once
};
template <bool Narrow>
constexpr topk_widths widths_of(int most) {
  if (Narrow) return {std::max(128, 2 * most), 32};
  return {std::max(1024, 2 * most), most <= 128 ? 256 : 1024};
}

inline bool is_narrow(device on) { return on == device::host() || on == device::interpreter(); }

/// Traced at the first use, for the program's life.
template <class Kernel>
const auto &launcher_of_selection(selection how) {
  static const auto trace = [](bool largest, bool counted) {
    return jit(Kernel{{.largest = largest, .counted = counted}});
  };
  if (how.counted) {
    static const std::array made{trace(false, true), trace(true, true)};
    return made[how.largest];
  }
  static const std::array made{trace(false, false), trace(true, false)};
  return made[how.largest];
}

/// A launch, with the choice between kernels made as it goes.
template <class T, class Index, class Score, class Scores, class Indices>
struct topk_launch {
  const stream_ref &stream;
  Scores &scores;
  tensor_ref<const i32> counts;
  std::int64_t k;
  Indices &indices;
  selection how;
  std::source_location where;

  grid blocks() const { return grid(scores.extent(0), where); }

  template <bool Narrow>
  void by_rounds() const {
    constexpr int width = widths_of<Narrow>(0).look;
    const auto &launch = launcher_of_selection<topk_by_rounds<T, Index, width, Score>>(how);
    launch(stream, blocks(), scores, counts, k, indices);
  }

  template <bool Narrow, int Most>
  void by_sifting() const {
    constexpr topk_widths widths = widths_of<Narrow>(Most);
    using kernel = topk_by_sifting<T, Index, Most, widths.look, widths.slice, Score>;
    buffer<i32> workspace(scores.extent(0), kernel::capacity, where);
    const auto &launch = launcher_of_selection<kernel>(how);
    launch(stream, blocks(), scores, counts, k, indices, workspace);
  }

  template <bool Narrow>
  void run(topk_method method) const {
    // A round is one look through the row, sifting some two and a half.
    const bool few = k <= (Narrow ? 2 : 8);
    if (method == topk_method::rounds || (method == topk_method::by_size && few))
      by_rounds<Narrow>();
    else if (k <= 16)
      by_sifting<Narrow, 16>();
    else if (k <= 128)
      by_sifting<Narrow, 128>();
    else
      by_sifting<Narrow, most_topk>();
  }
};

} // namespace detail

/// indices(row, 0 … k - 1) = the places of the k best scores of each row, best first, of equal ones
/// the first in the row first, and -1 where there are no more. NaN is never selected, nor is what
/// is worse than all others: -inf, or the lowest integer, of the largest; +inf, or the highest, of
/// the smallest.
///
/// `scores` are rows × n, `indices` rows × k, of i32 or i64. Give one row as `x.view({1, n})`.
/// `Score` says what a score counts as.
template <class Score = as_it_is, class Scores, class Indices>
void block_select_topk(const launch_place &on, Scores &&scores, std::int64_t k, Indices &&indices,
                       const topk_options &options = {},
                       std::source_location where = std::source_location::current()) {
  using T = std::remove_const_t<typename std::remove_cvref_t<Scores>::element_type>;
  using Index = typename std::remove_cvref_t<Indices>::element_type;
  const tensor_ref<const i32> none(nullptr, {0});
  const detail::topk_launch<T, Index, Score, std::remove_reference_t<Scores>,
                            std::remove_reference_t<Indices>>
      launch{
          on.stream(), scores,  options.counts.value_or(none),
          k,           indices, {.largest = options.largest, .counted = options.counts.has_value()},
          where};
  if (detail::is_narrow(on.stream().on()))
    launch.template run<true>(options.method);
  else
    launch.template run<false>(options.method);
}

} // namespace imbrex::kernels

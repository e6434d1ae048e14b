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

namespace launching {

/// As many blocks as keep a device busy; each takes its share of the rows.
template <bool Narrow>
inline constexpr std::int64_t most_blocks = Narrow ? 64 : 2048;

/// How wide a block works: a processor goes through a row in small steps, a GPU's block in ones
/// that give all of its threads something to do.
struct topk_widths {
  int look;  // at once, to see whether anything passes
  int slice; // of that, what is put down at once
};
template <bool Narrow>
constexpr topk_widths widths_of(int most) {
  if (Narrow) return {std::max(128, 2 * most), most <= 8 ? 16 : 32};
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

  template <bool Narrow>
  void by_rounds() const {
    constexpr int width = widths_of<Narrow>(0).look;
    const auto &launch = launcher_of_selection<topk_by_rounds<T, Index, width, Score>>(how);
    launch(stream, grid(scores.extent(0), where), scores, counts, k, indices);
  }

  template <bool Narrow, int Most>
  void by_sifting() const {
    constexpr topk_widths widths = widths_of<Narrow>(Most);
    using kernel = topk_by_sifting<T, Index, Most, widths.look, widths.slice, Score>;
    const std::int64_t blocks = std::min<std::int64_t>(scores.extent(0), most_blocks<Narrow>);
    buffer<i32> workspace(blocks, kernel::capacity, where);
    const auto &launch = launcher_of_selection<kernel>(how);
    launch(stream, grid(blocks, where), scores, counts, k, indices, workspace);
  }

  template <bool Narrow>
  void run(topk_method method) const {
    // A round is one look through the row. Sifting is two, and to put things in order, which on a
    // GPU takes as long as several looks of a block.
    constexpr std::int64_t width = widths_of<Narrow>(0).look;
    const std::int64_t looks = k * cdiv(scores.extent(1), width);
    const bool few = Narrow ? k <= 2 : k <= 8 || looks <= 32;
    if (method == topk_method::rounds || (method == topk_method::by_size && few))
      by_rounds<Narrow>();
    else if (k <= 8)
      by_sifting<Narrow, 8>();
    else if (k <= 64)
      by_sifting<Narrow, 64>();
    else if (k <= 512)
      by_sifting<Narrow, 512>();
    else
      by_sifting<Narrow, most_topk>();
  }
};

} // namespace launching

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
  const launching::topk_launch<T, Index, Score, std::remove_reference_t<Scores>,
                               std::remove_reference_t<Indices>>
      launch{
          on.stream(), scores,  options.counts.value_or(none),
          k,           indices, {.largest = options.largest, .counted = options.counts.has_value()},
          where};
  if (launching::is_narrow(on.stream().on()))
    launch.template run<true>(options.method);
  else
    launch.template run<false>(options.method);
}

} // namespace imbrex::kernels

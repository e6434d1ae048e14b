#pragma once

#include <imbrex/kernels/rank_key.hpp>

#include <concepts>

/// What selections have in common: what they are given, and how a row becomes ranks.
namespace imbrex::kernels {

/// What a score counts as: itself. A functor of your own in its place selects by something else,
/// such as the absolute value: `return abs(scores);`. It has no members, and may only compute.
struct as_it_is {
  template <class Tile>
  Tile operator()(const Tile &scores) const {
    return scores;
  }
};

/// What is known when a kernel is traced.
struct selection {
  bool largest = true;
  /// Whether only the first of each row count, as many as `counts` says.
  bool counted = false;
};

/// What a selection of rows asks of its arguments.
template <class T, class Index>
void require_topk(const view<const T, 2> &scores, const view<const i32, 1> &counts,
                  const scalar<i32> &k, const view<Index, 2> &indices) {
  static_assert(std::same_as<Index, i32> || std::same_as<Index, i64>,
                "imbrex: indices of a selection are i32 or i64");
  require(k >= 0, "k is a count");
  require(indices.extent(0) == scores.extent(0), "each row of scores has one of indices");
  require(indices.extent(1) == k, "a row has k indices");
  require(scores.extent(1) <= 1 << 30, "a row has at most 2^30 scores");
  require(counts.extent(0) == 0 || counts.extent(0) == scores.extent(0),
          "each row of scores has a count, or none has");
}

/// A row, as ranks.
template <class T, class Score>
class ranked_row {
  static_assert(std::is_empty_v<Score>, "imbrex: what a score counts as depends on it alone");

public:
  ranked_row(const view<const T, 2> &scores, const view<const i32, 1> &counts,
             const scalar<i64> &row, selection how)
      : scores_(scores), row_(row), how_(how), size_(size_of(scores, counts, row, how)) {}

  /// The scores of the row.
  const scalar<i32> &size() const { return size_; }

  /// The places from `first` on.
  template <int N>
  tile<i32, N> places(const scalar<i32> &first) const {
    return first + arange<0, N>();
  }

  /// Their ranks; behind the end of the row is nothing to select.
  template <int N>
  tile<rank_key_of<T>, N> keys(const scalar<i32> &first) const {
    const tile<T, N> scores =
        squeeze<0>(read(box_at<1, N>(row_, first).pad(worst_score<T>(how_.largest))));
    // What is read behind the end is never selected, unless it counts as something else.
    if constexpr (std::same_as<Score, as_it_is>) return rank_key(scores, how_.largest);
    return keys_of(scores, tile<bool, N>(places<N>(first) < size_));
  }

  /// The ranks at some places, where the mask is on.
  template <int N>
  tile<rank_key_of<T>, N> keys_at(const tile<i32, N> &places, const tile<bool, N> &mask) const {
    const auto row = scores_.data() + row_ * scores_.stride(0);
    return keys_of(tile<T, N>(load(row + cast<i64>(places) * scores_.stride(1), mask)), mask);
  }

private:
  static scalar<i32> size_of(const view<const T, 2> &scores, const view<const i32, 1> &counts,
                             const scalar<i64> &row, selection how) {
    scalar<i32> extent = cast<i32>(scores.extent(1));
    if (!how.counted) return extent;
    scalar<i32> count = load(counts.data() + row);
    device_assert(count >= 0, "a row has at least 0 scores");
    return min(count, extent);
  }

  template <class Box>
  auto read(const Box &here) const {
    using Scores = tile<T, 1, Box::shape::extents[1]>;
    if (!how_.counted) return Scores(scores_[here]);
    return Scores(scores_[here.within(row_ + 1, size_)]);
  }

  template <int N>
  tile<rank_key_of<T>, N> keys_of(const tile<T, N> &scores, const tile<bool, N> &mask) const {
    const tile<T, N> counting = Score{}(scores);
    return where(mask, rank_key(counting, how_.largest), unselectable<T>);
  }

  view<const T, 2> scores_;
  scalar<i64> row_;
  selection how_;
  scalar<i32> size_;
};

} // namespace imbrex::kernels

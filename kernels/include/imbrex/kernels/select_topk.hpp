#pragma once

#include <imbrex/kernels/ranked_row.hpp>

#include <algorithm>

/// Two kernels that give the same, to the last bit: the k best of each row, as indices in the order
/// of their ranks, of equal scores the smaller index first, and -1 where a row has no more that can
/// be selected. Which one is faster depends on the sizes; block_select_topk.hpp chooses.
///
/// Rows are only read, and nothing beside them is.
namespace imbrex::kernels {

/// A block has a row. The best one, k times: each round looks through the row for the best of what
/// comes after the last one found, in the order of ranks and indices. Its cost grows with k; it
/// needs no memory.
template <class T, class Index, int Width, class Score = as_it_is>
struct topk_by_rounds {
  static constexpr const char *name = "topk_by_rounds";
  static constexpr names parameters{"scores", "counts", "k", "indices"};

  selection how;

  void operator()(view<const T, 2> scores, view<const i32, 1> counts, scalar<i32> k,
                  view<Index, 2> indices) const {
    require_topk(scores, counts, k, indices);
    const scalar<i64> here = cast<i64>(program_id(0));
    const ranked_row<T, Score> row(scores, counts, here, how);
    using Key = rank_key_of<T>;
    var last_key = scalar<Key>(std::numeric_limits<Key>::max());
    var last_place = scalar<i32>(-1);
    for (auto round : range(k)) {
      var best = full<Key, Width>(unselectable<T>);
      var best_place = zeros<i32, Width>();
      for (auto first : range(0, row.size(), Width)) {
        auto keys = row.template keys<Width>(first);
        auto places = row.template places<Width>(first);
        auto is_left = keys < last_key || (keys == last_key && places > last_place);
        tile<bool, Width> is_better = is_left && keys > best;
        best = where(is_better, keys, best);
        best_place = where(is_better, places, best_place);
      }
      last_key = max(best);
      last_place = min(where(best == last_key, best_place, std::numeric_limits<i32>::max()));
      scalar<i32> found = where(last_key > unselectable<T>, last_place, -1);
      indices[box<1, 1>(here, round)] = full<Index, 1, 1>(cast<Index>(found));
    }
  }
};

/// All that can be among the k best, at once. First a bound that k scores reach for sure: the row
/// is folded to few lanes, each the best of a part of the row, and of these the k-th largest is
/// taken. Then a look through the row for what reaches the bound, in which every hit is put down;
/// not many more than k do, unless a row is made so. Where they are more than the workspace has
/// room for, the k best of them are kept, and the last of these is the new bound. At the end the k
/// best of what was put down are the result. Its cost hardly grows with k.
///
/// A block has a row of the workspace, and for each its share of the rows of scores.
template <class T, class Index, int Most, int Width, int Slice, class Score = as_it_is>
struct topk_by_sifting {
  static_assert(Width % Slice == 0 && Width % (2 * Most) == 0);
  static constexpr const char *name = "topk_by_sifting";
  static constexpr names parameters{"scores", "counts", "k", "indices", "workspace"};

  /// The places that a row's workspace has room for.
  static constexpr int capacity = 2 * std::max(Most, Slice);

  /// What a row is folded to for the bound. With twice as many as k, 1.4 k scores of a random row
  /// reach it, with four times as many 1.15 k.
  static constexpr int lanes = std::min(Width, 4 * Most);

  selection how;

  void operator()(view<const T, 2> scores, view<const i32, 1> counts, scalar<i32> k,
                  view<Index, 2> indices, view<i32, 2> workspace) const {
    require_topk(scores, counts, k, indices);
    require(k <= Most, "k is at most what the kernel is made for");
    require(workspace.extent(1) == capacity, "a row of the workspace has room for all places");
    const auto block = cast<i64>(program_id(0)), rows = scores.extent(0);
    scalar<i64> share = cdiv(rows, workspace.extent(0));
    for (auto here : range(block * share, min(rows, (block + 1) * share))) {
      const Row row(scores, counts, here, how);
      sieve found{row, k, workspace.data() + block * capacity};
      IMBREX_IF(row.size() > capacity) { found.bound = bound_reached_by(row, k); }
      for (auto first : range(0, row.size(), Width)) found.template sift<Width>(first);
      found.keep_best();
      auto rank = arange<0, Most>();
      auto places = load(found.places + rank, rank < found.count, -1);
      indices[box<1, Most>(here, 0)] = expand<0>(cast<Index>(places));
    }
  }

private:
  using Key = rank_key_of<T>;
  using Row = ranked_row<T, Score>;

  /// A number that k ranks of the row are above, or all that can be selected.
  static scalar<Key> bound_reached_by(const Row &row, const scalar<i32> &k) {
    var best = full<Key, Width>(unselectable<T>);
    for (auto first : range(0, row.size(), Width))
      best = max(best, row.template keys<Width>(first));
    auto folded = max<0>(reshape<Width / lanes, lanes>(best));
    return max(kth_largest(folded, k), unselectable<T> + 1) - 1;
  }

  /// The largest number that k of the keys reach.
  template <int N>
  static scalar<Key> kth_largest(const tile<Key, N> &keys, const scalar<i32> &k) {
    constexpr int few = 64;
    if constexpr (N <= few) { // each key against each
      auto reaching = sum<0>(cast<i32>(expand<1>(keys) >= expand<0>(keys)));
      return max(where(reaching >= k, keys, unselectable<T>));
    }
    var reached = scalar<Key>(unselectable<T>);
    for (auto bit : range(8 * static_cast<int>(sizeof(Key)) - 1, -1, -1)) { // from the highest on
      scalar<Key> higher = reached + (lit<1> << cast<Key>(bit));
      reached = where(sum<0>(cast<i32>(keys >= higher)) >= k, higher, reached);
    }
    return reached.get();
  }

  /// The places put down so far. Those of equal rank stand in the order of the row.
  struct sieve {
    const Row &row;
    const scalar<i32> &k;
    ptr<i32> places;
    var<scalar<Key>> bound = unselectable<T>;
    var<scalar<i32>> count = 0;

    /// Look closer where something passes.
    template <int Extent>
    void sift(const scalar<i32> &first) {
      tile<Key, Extent> keys = row.template keys<Extent>(first);
      IMBREX_IF(max(keys) > bound) {
        if constexpr (Extent > Slice) {
          for (auto part : range(Extent / Slice)) sift<Slice>(first + part * Slice);
        } else {
          put_down(row.template places<Extent>(first), keys > bound);
        }
      }
    }

    void put_down(const tile<i32, Slice> &new_places, const tile<bool, Slice> &passes) {
      auto ordinal = cumsum<0>(passes);
      store(places + (count - 1 + ordinal), new_places, passes);
      count += max(ordinal);
      IMBREX_IF(count > capacity - Slice) { keep_best(); }
    }

    /// Sort the places by rank and keep the k first; what comes later must be better than the last.
    void keep_best() {
      auto slot = arange<0, capacity>();
      tile<bool, capacity> is_used = slot < count;
      tile<i32, capacity> used = load(places + slot, is_used);
      auto [keys, best] = sort_by_key(row.keys_at(used, is_used), used, sorted::descending);
      store(places + slot, best, slot < k);
      IMBREX_IF(count >= k) {
        count = k;
        bound = max(where(slot == k - 1, keys, unselectable<T>));
      }
    }
  };
};

} // namespace imbrex::kernels

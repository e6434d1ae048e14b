#pragma once

#include "tests/kernels/topk_reference.h"
#include <imbrex/kernels/block_select_topk.hpp>

#include <functional>

/// Launches of the two kernels, the same for all of their forms.
namespace imbrex::testing {

/// Rows of scores, each of `columns`.
template <class T>
struct Rows {
  std::vector<T> scores;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int32_t> counts = {}; ///< One for each row, or none.

  std::span<const T> row(std::int64_t i) const {
    const auto size = counts.empty()
                          ? columns
                          : std::min<std::int64_t>(columns, counts[static_cast<std::size_t>(i)]);
    return std::span(scores).subspan(static_cast<std::size_t>(i * columns),
                                     static_cast<std::size_t>(size));
  }
};

template <class T>
Rows<T> oneRow(std::vector<T> scores) {
  const auto columns = std::ssize(scores);
  return {.scores = std::move(scores), .rows = 1, .columns = columns};
}

/// What every row's answer is.
template <class T>
std::vector<Places> referenceOf(const Rows<T> &rows, std::int64_t k, bool largest) {
  std::vector<Places> answers;
  for (std::int64_t i = 0; i < rows.rows; ++i)
    answers.push_back(referenceTopk(rows.row(i), k, largest));
  return answers;
}

/// Run `launch` on memory that has a canary on either side of the scores, and indices that are
/// none: -2. Neither the scores nor the canaries may change.
template <class T, class Index, class Launch>
std::vector<Places> answersOf(const Rows<T> &rows, std::int64_t k, const Launch &launch) {
  constexpr std::int64_t kCanaries = 16;
  const auto canary = T(101);
  const std::int64_t size = rows.rows * rows.columns;
  buffer<T> memory(size + 2 * kCanaries);
  memory.fill(canary);
  std::ranges::copy(rows.scores, memory.begin() + kCanaries);
  const std::vector<T> before(memory.begin(), memory.end());
  buffer<Index> indices(rows.rows, k);
  indices.fill(Index(-2));
  buffer<i32> counts(std::ssize(rows.counts));
  std::ranges::copy(rows.counts, counts.begin());

  const tensor_ref<const T> scores(memory.data() + kCanaries, {rows.rows, rows.columns},
                                   size * std::int64_t{sizeof(T)});
  launch(scores, counts, indices);

  const auto bytes = [](const auto &range) { return std::as_bytes(std::span(range)); };
  if (!std::ranges::equal(bytes(before), bytes(memory.span()))) return {};
  std::vector<Places> answers;
  for (std::int64_t i = 0; i < rows.rows; ++i)
    answers.emplace_back(indices.begin() + i * k, indices.begin() + (i + 1) * k);
  return answers;
}

/// A kernel by rounds or by sifting, for any rows: its answers on a device.
template <class T, class Index = i32>
using Selection = std::function<std::vector<Places>(device, const Rows<T> &, std::int64_t, bool)>;

template <class T, class Index, int Width, class Score = kernels::as_it_is>
Selection<T, Index> byRounds(int warps = 0) {
  return [=](device on, const Rows<T> &rows, std::int64_t k, bool largest) {
    using Kernel = kernels::topk_by_rounds<T, Index, Width, Score>;
    const auto kernel =
        jit(Kernel{{.largest = largest, .counted = !rows.counts.empty()}}, {.warps = warps});
    return answersOf<T, Index>(rows, k, [&](auto &scores, auto &counts, auto &indices) {
      kernel(stream_ref(on), grid(rows.rows), scores, counts, k, indices);
    });
  };
}

template <class T, class Index, int Most, int Width, int Slice, class Score = kernels::as_it_is>
Selection<T, Index> bySifting(int warps = 0) {
  return [=](device on, const Rows<T> &rows, std::int64_t k, bool largest) {
    using Kernel = kernels::topk_by_sifting<T, Index, Most, Width, Slice, Score>;
    const auto kernel =
        jit(Kernel{{.largest = largest, .counted = !rows.counts.empty()}}, {.warps = warps});
    return answersOf<T, Index>(rows, k, [&](auto &scores, auto &counts, auto &indices) {
      const std::int64_t blocks = std::min<std::int64_t>(rows.rows, 2);
      buffer<i32> workspace(blocks, Kernel::capacity);
      kernel(stream_ref(on), grid(rows.rows), scores, counts, k, indices, workspace);
    });
  };
}

} // namespace imbrex::testing

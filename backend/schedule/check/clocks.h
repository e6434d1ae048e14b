#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace imbrex::schedule::check {

/// The vector clocks of a run. A row is shared until somebody writes it: a fork copies no numbers,
/// and what a barrier's phase has gathered is handed on as it is.
class Clocks {
public:
  Clocks(std::size_t rows, std::size_t width)
      : zeros_(std::make_shared<Row>(width)), rows_(rows, zeros_) {}

  const std::int32_t *at(std::int32_t row) const { return place(row)->data(); }
  std::int32_t *own(std::int32_t row) {
    std::shared_ptr<Row> &here = rows_[static_cast<std::size_t>(row)];
    if (here.use_count() > 1) here = std::make_shared<Row>(*here);
    return here->data();
  }
  /// Whether nothing was gathered here since it was cleared.
  bool isZero(std::int32_t row) const { return place(row) == zeros_; }
  bool areShared(std::int32_t a, std::int32_t b) const { return place(a) == place(b); }
  void copy(std::int32_t into, std::int32_t from) {
    rows_[static_cast<std::size_t>(into)] = place(from);
  }
  void clear(std::int32_t row) { rows_[static_cast<std::size_t>(row)] = zeros_; }

private:
  using Row = std::vector<std::int32_t>;
  const std::shared_ptr<Row> &place(std::int32_t row) const {
    return rows_[static_cast<std::size_t>(row)];
  }

  std::shared_ptr<Row> zeros_;
  std::vector<std::shared_ptr<Row>> rows_;
};

} // namespace imbrex::schedule::check

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace imbrex::schedule::check {

/// The vector clocks of a run. A row is shared until somebody writes it: a fork copies no numbers,
/// and what a barrier's phase has gathered is handed on as it is.
class Clocks {
public:
  Clocks(std::size_t rows, std::size_t width)
      : alive_(std::make_shared<std::int64_t>(0)), zeros_(std::make_shared<Row>(width, alive_)),
        rows_(rows, zeros_) {}

  const std::int32_t *at(std::int32_t row) const { return place(row)->numbers.data(); }
  std::int32_t *own(std::int32_t row) {
    std::shared_ptr<Row> &here = rows_[static_cast<std::size_t>(row)];
    if (here.use_count() > 1) here = std::make_shared<Row>(*here);
    return here->numbers.data();
  }
  /// Whether nothing was gathered here since it was cleared.
  bool isZero(std::int32_t row) const { return place(row) == zeros_; }
  bool areShared(std::int32_t a, std::int32_t b) const { return place(a) == place(b); }
  void copy(std::int32_t into, std::int32_t from) {
    rows_[static_cast<std::size_t>(into)] = place(from);
  }
  void clear(std::int32_t row) { rows_[static_cast<std::size_t>(row)] = zeros_; }

  /// Of all rows that this run and those that it has forked into have.
  std::int64_t bytes() const { return *alive_; }

private:
  struct Row {
    Row(std::size_t width, std::shared_ptr<std::int64_t> all)
        : numbers(width), alive(std::move(all)) {
      *alive += size();
    }
    Row(const Row &other) : numbers(other.numbers), alive(other.alive) { *alive += size(); }
    Row &operator=(const Row &) = delete;
    ~Row() { *alive -= size(); }
    std::int64_t size() const { return std::ssize(numbers) * std::int64_t{sizeof(numbers[0])}; }

    std::vector<std::int32_t> numbers;
    std::shared_ptr<std::int64_t> alive; // bytes
  };
  const std::shared_ptr<Row> &place(std::int32_t row) const {
    return rows_[static_cast<std::size_t>(row)];
  }

  std::shared_ptr<std::int64_t> alive_;
  std::shared_ptr<Row> zeros_;
  std::vector<std::shared_ptr<Row>> rows_;
};

} // namespace imbrex::schedule::check

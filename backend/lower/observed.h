#pragma once

#include "backend/lower/kernel_interface.h"
#include "backend/lower/observations.h"
#include "backend/support/diagnostics.h"

#include <functional>
#include <memory>
#include <string_view>

namespace imbrex::lower {

/// The record of prints and failed asserts of one launch: made before it, read after it.
class Observed {
public:
  /// Room for the record of a print of so many elements, in words. Nothing is touched that is not
  /// needed.
  static constexpr std::uint64_t kDefaultRoom = std::uint64_t{1} << 24;

  explicit Observed(std::uint64_t room = kDefaultRoom);

  std::uint64_t *words() { return words_.get(); }
  std::uint64_t wordCount() const { return room_ + observations::kHeaderWords; }

  /// Takes the lines of all prints, each with its line end, in the grid's order of blocks; reports
  /// the assert that failed, if one has, and prints that found no room.
  void tell(const KernelInterface &interface, const std::function<void(std::string_view)> &print,
            Diagnostics &diagnostics) const;

private:
  struct Printed;
  std::vector<Printed> printed(const KernelInterface &interface) const;

  std::uint64_t room_;
  std::unique_ptr<std::uint64_t[]> words_;
};

} // namespace imbrex::lower

#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"

#include <array>

/// The arguments of a launch, as words that are compared with an earlier one's, and as pointers.
namespace imbrex::aot {

/// The words of arguments that are pointed to.
class GivenWords {
public:
  /// False where one is missing.
  bool take(const KernelRow &kernel, const void *const *arguments);
  /// Good as long as this.
  const std::uint64_t *list() const { return words_.data(); }

private:
  alignas(kWordsAlignment) std::array<std::uint64_t, kMostGivenWords> words_;
};

/// Pointers to the arguments that are given by their words.
class GivenArguments {
public:
  GivenArguments(const KernelRow &kernel, const std::uint64_t *words);
  /// Good as long as this and the words.
  const void *const *list() const { return list_.data(); }

private:
  union Room {
    imbrex_array array;
    imbrex_memory memory;
    imbrex_table table;
  };
  std::array<Room, kMostParameters> rooms_;
  std::array<const void *, kMostParameters> list_;
};

} // namespace imbrex::aot

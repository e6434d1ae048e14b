#include "backend/launching/array_span.h"
#include "imbrex/detail/array_memory.hpp"
#include "runtime/layout.h"
#include "runtime/throw.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace imbrex::detail {
namespace {

constexpr std::size_t kLineBytes = 64;             // a cache line, and the widest vector register
constexpr std::size_t kHugePageBytes = 2ULL << 20; // of x86-64, and of AArch64 with 4 KiB pages

/// Null where there is not so much. Linux would promise more than there is, and end the process
/// when it is used.
std::byte *allocate(std::size_t bytes) {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  if (bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) >= pages) return nullptr;
  // Whole huge pages: a large buffer then costs the processor a few entries of its address cache
  // instead of thousands. No more than half of it is added for that.
  const auto roundedTo = [&](std::size_t unit) { return (bytes + unit - 1) / unit * unit; };
  const bool huge = bytes >= kHugePageBytes && roundedTo(kHugePageBytes) - bytes <= bytes / 2;
  const std::size_t unit = huge ? kHugePageBytes : kLineBytes;
  const std::size_t rounded = roundedTo(unit);
  void *memory = std::aligned_alloc(unit, rounded);
  if (memory != nullptr && huge) madvise(memory, rounded, MADV_HUGEPAGE); // a wish: may fail
  return static_cast<std::byte *>(memory);
}

void throwIf(const std::optional<Diagnostic> &problem) {
  if (problem) runtime::throwError(*problem);
}

void takeExtents(layout &made, std::initializer_list<quantity> extents, Location where) {
  if (extents.size() > static_cast<std::size_t>(max_rank))
    runtime::throwError(
        diagnostic(Diag::TooManyAxes, where, runtime::Subject{}, extents.size(), max_rank));
  made.rank = static_cast<std::int32_t>(extents.size());
  std::ranges::copy(extents, made.extents.begin());
}

} // namespace

layout row_major(std::initializer_list<quantity> extents, std::source_location where) {
  layout made;
  takeExtents(made, extents, locate(where));
  throwIf(runtime::checkLayout(made, runtime::Subject{}, locate(where)));
  launching::setPackedStrides(std::span(made.extents).first(extents.size()), made.strides);
  return made;
}

layout strided(std::initializer_list<quantity> extents, std::initializer_list<quantity> strides,
               std::source_location where) {
  layout made;
  takeExtents(made, extents, locate(where));
  if (extents.size() != strides.size())
    runtime::throwError(
        diagnostic(Diag::StridesAndExtents, locate(where), extents.size(), strides.size()));
  std::ranges::copy(strides, made.strides.begin());
  throwIf(runtime::checkLayout(made, runtime::Subject{}, locate(where)));
  return made;
}

void check_fits(const layout &wanted, std::int64_t bitsOfOne, std::int64_t bytes,
                std::source_location where) {
  throwIf(runtime::checkReach(wanted, bitsOfOne, bytes, runtime::Subject{}, locate(where)));
}

void throw_size_mismatch(std::int64_t elements, const char *direction, std::int64_t count,
                         std::source_location where) {
  runtime::throwError(diagnostic(Diag::CopySize, locate(where), elements, direction, count));
}

void throw_out_of_range(std::int64_t element, double value, const char *type,
                        std::source_location where) {
  const std::string holder = type == nullptr ? "what it is copied to" : type;
  runtime::throwError(diagnostic(Diag::CopyRange, locate(where), element, value, holder));
}

memory_block::memory_block(std::int64_t bytes, std::source_location where) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = allocate(static_cast<std::size_t>(bytes));
  if (data_ == nullptr)
    runtime::throwError(diagnostic(Diag::OutOfMemory, locate(where), runtime::Subject{}, bytes));
}

memory_block::~memory_block() { std::free(data_); }

std::uint8_t *memory_block::unwritten() {
  // Launches from several threads may ask at once.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (touched_.load(std::memory_order_relaxed)) return nullptr;
  if (!flags_) {
    const auto count = static_cast<std::size_t>(bytes_);
    flags_ = std::make_unique_for_overwrite<std::uint8_t[]>(count);
    std::fill_n(flags_.get(), count, std::uint8_t{1});
  }
  return flags_.get();
}

} // namespace imbrex::detail

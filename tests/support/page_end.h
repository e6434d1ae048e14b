#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/// Arrays behind whose last element no memory may be touched: code that is compiled while a test
/// runs, which no sanitizer sees, breaks down there.
namespace imbrex::testing {

template <class T>
struct PageEndAllocator {
  using value_type = T;

  T *allocate(std::size_t count) {
    void *pages = mmap(nullptr, bytesOf(count) + page(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    auto *end = static_cast<std::byte *>(pages) + bytesOf(count);
    mprotect(end, page(), PROT_NONE);
    return reinterpret_cast<T *>(end - count * sizeof(T));
  }

  void deallocate(T *data, std::size_t count) {
    auto *end = reinterpret_cast<std::byte *>(data + count);
    munmap(end - bytesOf(count), bytesOf(count) + page());
  }

  bool operator==(const PageEndAllocator &) const = default;

private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  /// In whole pages.
  static std::size_t bytesOf(std::size_t count) {
    return (count * sizeof(T) + page() - 1) / page() * page();
  }
};

template <class T>
using PageEndVector = std::vector<T, PageEndAllocator<T>>;

} // namespace imbrex::testing

#include "runtime/aot/perform.h"

#include <cstring>
#include <mutex>
#include <new>
#include <set>

namespace imbrex::aot {
namespace {

/// The host's memory is placed as a GPU's is.
constexpr std::align_val_t kAlignment{driver::kMemoryAlignment};

/// A function of its own: clang 22 takes a lambda that does this and returns true, and is a
/// condition, for the constant true, and leaves the call out.
void releaseOnHost(void *memory) { ::operator delete(memory, kAlignment); }

/// What lies in a driver's pool, and is given back to it.
class Pooled {
public:
  void add(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    addresses_.insert(address);
  }
  bool take(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    return addresses_.erase(address) > 0;
  }

private:
  std::mutex mutex_;
  std::set<std::uint64_t> addresses_;
};

/// Never destroyed: buffers may outlive whatever is.
Pooled &pooled() {
  static auto *const only = new Pooled;
  return *only;
}

int allocateOn(const driver::Gpu &gpu, void *stream, std::int64_t bytes, void *&memory) {
  std::uint64_t address = 0;
  bool isPooled = false;
  // What is taken from a pool while a stream is captured is there when the graph runs alone.
  if (stream != nullptr && gpu.isCapturing(stream)) stream = nullptr;
  const int error = gpu.allocateIn(stream, bytes, address, isPooled);
  if (error != 0) return error;
  try {
    if (isPooled) pooled().add(address);
  } catch (const std::bad_alloc &) {
    return gpu.releaseIn(stream, address, isPooled), driver::kOutOfMemory;
  }
  memory = reinterpret_cast<void *>(address);
  return 0;
}

/// `onGpu` has the driver copy.
template <class OnGpu>
int copy(const imbrex_stream *stream, const char *what, void *to, const void *from,
         std::int64_t bytes, OnGpu onGpu) {
  if (bytes < 0)
    return fail(IMBREX_BAD_ARGUMENT, "%lld bytes can't be copied", static_cast<long long>(bytes));
  if (bytes == 0) return check(stream);
  if (to == nullptr || from == nullptr)
    return fail(IMBREX_BAD_ARGUMENT, "a copy from or to a null pointer");
  return perform(stream, what, onGpu, [&] {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return true;
  });
}

/// Memory for the processor, placed as a GPU's is.
bool allocateOnHost(std::int64_t bytes, void *&memory) {
  memory = ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
  return memory != nullptr;
}

/// So many bytes, more than none, by what `allocate` does.
template <class Allocate>
int allocate(const imbrex_stream *stream, std::int64_t bytes, void **memory, Allocate allocate) {
  *memory = nullptr;
  if (bytes < 0)
    return fail(IMBREX_BAD_ARGUMENT, "%lld bytes can't be allocated",
                static_cast<long long>(bytes));
  return bytes == 0 ? check(stream) : allocate();
}

} // namespace
} // namespace imbrex::aot

using namespace imbrex::aot;

int imbrex_allocate(const imbrex_stream *stream, int64_t bytes, void **memory) {
  return allocate(stream, bytes, memory, [&] {
    return perform(
        stream, "allocate memory",
        [&](const imbrex::driver::Gpu &gpu) {
          return allocateOn(gpu, stream->handle, bytes, *memory);
        },
        [&] { return allocateOnHost(bytes, *memory); });
  });
}

int imbrex_release(const imbrex_stream *stream, void *memory) {
  if (memory == nullptr) return check(stream);
  return perform(
      stream, "release memory",
      [&](const imbrex::driver::Gpu &gpu) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        gpu.releaseIn(stream->handle, address, pooled().take(address));
        return 0;
      },
      [&] { return releaseOnHost(memory), true; });
}

int imbrex_copy_in(const imbrex_stream *stream, void *to, const void *from, int64_t bytes) {
  return copy(stream, "take bytes", to, from, bytes, [&](const imbrex::driver::Gpu &gpu) {
    return gpu.copyIn(reinterpret_cast<std::uintptr_t>(to), from, bytes, stream->handle);
  });
}

int imbrex_copy_out(const imbrex_stream *stream, void *to, const void *from, int64_t bytes) {
  return copy(stream, "give bytes back", to, from, bytes, [&](const imbrex::driver::Gpu &gpu) {
    return gpu.copyOut(to, reinterpret_cast<std::uintptr_t>(from), bytes, stream->handle);
  });
}

int imbrex_start_copy_in(const imbrex_stream *stream, void *to, const void *from, int64_t bytes) {
  return copy(stream, "take bytes", to, from, bytes, [&](const imbrex::driver::Gpu &gpu) {
    return gpu.startCopyIn(reinterpret_cast<std::uintptr_t>(to), from, bytes, stream->handle);
  });
}

int imbrex_start_copy_out(const imbrex_stream *stream, void *to, const void *from, int64_t bytes) {
  return copy(stream, "give bytes back", to, from, bytes, [&](const imbrex::driver::Gpu &gpu) {
    return gpu.startCopyOut(to, reinterpret_cast<std::uintptr_t>(from), bytes, stream->handle);
  });
}

int imbrex_allocate_pinned(const imbrex_stream *stream, int64_t bytes, void **memory) {
  return allocate(stream, bytes, memory, [&] {
    return perform(
        stream, "allocate pinned memory",
        [&](const imbrex::driver::Gpu &gpu) { return gpu.allocatePinned(bytes, *memory); },
        [&] { return allocateOnHost(bytes, *memory); });
  });
}

int imbrex_release_pinned(const imbrex_stream *stream, void *memory) {
  if (memory == nullptr) return check(stream);
  return perform(
      stream, "release pinned memory",
      [&](const imbrex::driver::Gpu &gpu) { return gpu.releasePinned(memory); },
      [&] { return releaseOnHost(memory), true; });
}

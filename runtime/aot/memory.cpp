#include "runtime/aot/perform.h"

#include <cstring>
#include <new>

namespace imbrex::aot {
namespace {

/// The host's memory is placed as a GPU's is.
constexpr std::align_val_t kAlignment{driver::kMemoryAlignment};

/// A function of its own: clang 22 takes a lambda that does this and returns true, and is a
/// condition, for the constant true, and leaves the call out.
void releaseOnHost(void *memory) { ::operator delete(memory, kAlignment); }

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
          std::uint64_t address = 0;
          bool isPooled = false; // and so it is released: whoever releases need not know
          const int error = gpu.allocateIn(nullptr, bytes, address, isPooled);
          *memory = reinterpret_cast<void *>(address);
          return error;
        },
        [&] { return allocateOnHost(bytes, *memory); });
  });
}

int imbrex_release(const imbrex_stream *stream, void *memory) {
  if (memory == nullptr) return check(stream);
  return perform(
      stream, "release memory",
      [&](const imbrex::driver::Gpu &gpu) {
        gpu.releaseIn(stream->handle, reinterpret_cast<std::uintptr_t>(memory), false);
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

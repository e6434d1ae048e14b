#include "runtime/aot/devices.h"
#include "runtime/aot/error.h"

#include <cstring>
#include <new>

namespace imbrex::aot {
namespace {

/// The host's memory is placed as a GPU's is.
constexpr std::align_val_t kAlignment{driver::kMemoryAlignment};

/// Of a stream that is checked: on a GPU what `onGpu` does with it, else what `onHost` does. Both
/// say whether they could, the first by the driver's error.
template <class OnGpu, class OnHost>
int perform(const imbrex_stream *stream, const char *what, OnGpu onGpu, OnHost onHost) {
  if (const int status = check(stream); status != IMBREX_OK) return status;
  if (stream->device == IMBREX_HOST)
    return onHost() ? IMBREX_OK : fail(IMBREX_NO_MEMORY, "the host can't %s", what);
  const driver::Gpu *gpu = gpuOf(*stream);
  if (gpu == nullptr) return IMBREX_NO_DEVICE;
  const int error = onGpu(*gpu);
  if (error == 0) return IMBREX_OK;
  return fail(IMBREX_REFUSED, "%s can't %s: %s", gpu->description().c_str(), what,
              gpu->textOf(error).c_str());
}

bool isDone() { return true; }

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

} // namespace
} // namespace imbrex::aot

using namespace imbrex::aot;

int imbrex_stream_make(const imbrex_stream *on, imbrex_stream *made) {
  *made = imbrex_stream{};
  void *handle = nullptr;
  const int status = perform(
      on, "make a stream", [&](const imbrex::driver::Gpu &gpu) { return gpu.makeStream(handle); },
      isDone);
  if (status == IMBREX_OK) *made = {.device = on->device, .number = on->number, .handle = handle};
  return status;
}

int imbrex_stream_destroy(const imbrex_stream *stream) {
  return perform(
      stream, "destroy a stream",
      [&](const imbrex::driver::Gpu &gpu) { return gpu.destroyStream(stream->handle), 0; }, isDone);
}

int imbrex_stream_synchronise(const imbrex_stream *stream) {
  return perform(
      stream, "finish what is in a stream",
      [&](const imbrex::driver::Gpu &gpu) { return gpu.await(stream->handle); }, isDone);
}

int imbrex_allocate(const imbrex_stream *stream, int64_t bytes, void **memory) {
  *memory = nullptr;
  if (bytes < 0)
    return fail(IMBREX_BAD_ARGUMENT, "%lld bytes can't be allocated",
                static_cast<long long>(bytes));
  if (bytes == 0) return check(stream);
  return perform(
      stream, "allocate memory",
      [&](const imbrex::driver::Gpu &gpu) {
        std::uint64_t address = 0;
        bool isPooled = false; // and so it is released: whoever releases need not know
        const int error = gpu.allocateIn(nullptr, bytes, address, isPooled);
        *memory = reinterpret_cast<void *>(address);
        return error;
      },
      [&] {
        *memory = ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
        return *memory != nullptr;
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

#include "imbrex/device_buffer.hpp"
#include "imbrex/pinned_buffer.hpp"
#include "runtime/gpus.h"
#include "runtime/throw.h"

#include <atomic>
#include <cstring>

namespace imbrex::detail {
namespace {

/// As an error of the line where the memory was asked for.
[[noreturn]] void throwAt(std::source_location where, Diagnostic problem) {
  problem.where = locate(where);
  runtime::throwError(problem);
}

/// An error where the stream is captured: to wait would end that.
const gpu::SupportedGpu &gpuToCopy(const stream_ref &in, std::string_view direction,
                                   std::source_location where) {
  const gpu::SupportedGpu &gpu = *runtime::valueOrThrow(runtime::gpuOf(in));
  if (in.native() != nullptr && gpu.isCapturing(in.native()))
    runtime::throwError(
        diagnostic(Diag::CapturedCopy, locate(where), gpu.description(), direction));
  return gpu;
}

} // namespace

memory_number memory_number::next() {
  static constinit std::atomic<std::uint64_t> last = std::uint64_t{1} << 63;
  memory_number made;
  made.value_ = ++last;
  return made;
}

device_block::device_block(const stream_ref &in, std::int64_t bytes, std::source_location where)
    : in_(in), bytes_(bytes) {
  const gpu::SupportedGpu *gpu = runtime::valueOrThrow(runtime::gpuOf(in, locate(where)));
  if (gpu == nullptr) {
    host_ = std::make_unique<memory_block>(bytes, where);
    data_ = host_->data();
    return;
  }
  if (bytes == 0) return;
  const auto address = gpu->allocateIn(in.native(), bytes, is_pooled_);
  if (!address) throwAt(where, address.error());
  data_ = reinterpret_cast<std::byte *>(*address);
}

device_block::~device_block() {
  if (host_ || data_ == nullptr) return;
  (*runtime::gpuOf(in_))
      ->releaseIn(in_.native(), reinterpret_cast<std::uintptr_t>(data_), is_pooled_);
}

// On devices that run on the processor a copy has ended when it is started.

void device_block::start_copy_from(const void *source, std::source_location where) {
  if (bytes_ == 0) return;
  if (host_) {
    host_->touch();
    std::memcpy(data_, source, static_cast<std::size_t>(bytes_));
    return;
  }
  const auto started =
      (*runtime::gpuOf(in_))
          ->startCopyIn(reinterpret_cast<std::uintptr_t>(data_), source, bytes_, in_.native());
  if (!started) throwAt(where, started.error());
}

void device_block::start_copy_to(void *target, std::source_location where) const {
  if (bytes_ == 0) return;
  if (host_) {
    std::memcpy(target, data_, static_cast<std::size_t>(bytes_));
    return;
  }
  const auto started =
      (*runtime::gpuOf(in_))
          ->startCopyOut(target, reinterpret_cast<std::uintptr_t>(data_), bytes_, in_.native());
  if (!started) throwAt(where, started.error());
}

void device_block::copy_from(const void *source, std::source_location where) {
  if (bytes_ == 0 || host_) return start_copy_from(source, where);
  const gpu::SupportedGpu &gpu = gpuToCopy(in_, "from", where);
  const auto copied =
      gpu.copyIn(reinterpret_cast<std::uintptr_t>(data_), source, bytes_, in_.native());
  if (!copied) throwAt(where, copied.error());
}

void device_block::copy_to(void *target, std::source_location where) const {
  if (bytes_ == 0 || host_) return start_copy_to(target, where);
  const gpu::SupportedGpu &gpu = gpuToCopy(in_, "to", where);
  const auto copied =
      gpu.copyOut(target, reinterpret_cast<std::uintptr_t>(data_), bytes_, in_.native());
  if (!copied) throwAt(where, copied.error());
}

pinned_block::pinned_block(device on, std::int64_t bytes, std::source_location where) : on_(on) {
  const gpu::SupportedGpu *gpu =
      runtime::valueOrThrow(runtime::gpuOf(stream_ref(on), locate(where)));
  if (gpu == nullptr) {
    host_ = std::make_unique<memory_block>(bytes, where);
    data_ = host_->data();
    return;
  }
  if (bytes == 0) return;
  const auto memory = gpu->allocatePinned(bytes);
  if (!memory) throwAt(where, memory.error());
  data_ = static_cast<std::byte *>(*memory);
}

pinned_block::~pinned_block() {
  if (!host_ && data_ != nullptr) (*runtime::gpuOf(stream_ref(on_)))->releasePinned(data_);
}

void check_count(std::int64_t wanted, const char *direction, std::int64_t count,
                 std::source_location where) {
  if (wanted != count) throw_size_mismatch(wanted, direction, count, where);
}

} // namespace imbrex::detail

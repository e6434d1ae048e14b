#pragma once

#include <imbrex/detail/aot_arguments.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

/// What programs need that launch kernels which were compiled ahead of time: neither a compiler nor
/// a driver is linked. A library of kernels brings a header with a function for each.
namespace imbrex::aot {

/// What came of a call.
class [[nodiscard]] status {
public:
  constexpr status() = default;
  explicit constexpr status(int code) : code_(code) {}

  constexpr bool ok() const { return code_ == IMBREX_OK; }
  explicit constexpr operator bool() const { return ok(); }
  constexpr imbrex_status code() const { return static_cast<imbrex_status>(code_); }
  /// Of what went wrong last on this thread; good until something else does.
  const char *message() const { return ok() ? "" : imbrex_error_text(); }

private:
  int code_ = IMBREX_OK;
};

/// The blocks of a launch along x, y, z.
class grid : public imbrex_grid {
public:
  constexpr grid(std::int64_t columns, std::int64_t rows = 1, std::int64_t layers = 1)
      : imbrex_grid{.x = columns, .y = rows, .z = layers} {}
};

/// Another library's array, as DLPack has it. Never what braces stand for: those are arrays.
class dltensor : public imbrex_dltensor {
public:
  explicit dltensor(const imbrex_dltensor &of) : imbrex_dltensor(of) {}
};

/// A DLTensor of dlpack.h's declaration, or any other.
template <class Theirs>
dltensor as_dltensor(const Theirs &theirs) {
  static_assert(sizeof(Theirs) == sizeof(imbrex_dltensor) &&
                    alignof(Theirs) == alignof(imbrex_dltensor),
                "imbrex: this is no DLTensor of DLPack's version 1");
  imbrex_dltensor same;
  std::memcpy(&same, &theirs, sizeof same);
  return dltensor(same);
}

class event;

/// A queue of a device, which somebody else keeps: a handle of the driver's, or a `stream`. On the
/// host a launch has ended when it returns.
class stream_ref : public imbrex_stream {
public:
  constexpr explicit stream_ref(const imbrex_stream &of) : imbrex_stream(of) {}

  static constexpr stream_ref host() { return make(IMBREX_HOST, 0, nullptr); }
  /// A CUstream or cudaStream_t; without one, the default stream.
  static constexpr stream_ref cuda(int number = 0, void *handle = nullptr) {
    return make(IMBREX_CUDA, number, handle);
  }
  /// A hipStream_t.
  static constexpr stream_ref hip(int number = 0, void *handle = nullptr) {
    return make(IMBREX_HIP, number, handle);
  }
  /// The default stream of the device that IMBREX_DEVICE names, else of the first GPU, else the
  /// host.
  static stream_ref best() { return stream_ref(imbrex_best_stream()); }

  /// Wait for all that is in it. What broke down there comes out here.
  status synchronise() const noexcept { return status(imbrex_stream_synchronise(this)); }
  /// What is put into it from now on waits for the event; no thread does, unless it is the host's.
  status wait(const event &happened) const noexcept;

private:
  static constexpr stream_ref make(std::int32_t device, int number, void *handle) {
    return stream_ref(imbrex_stream{.device = device, .number = number, .handle = handle});
  }
};

/// A stream of one's own.
class stream {
public:
  stream() = default;
  stream(stream &&other) noexcept : stream_(std::exchange(other.stream_, stream_ref::host())) {}
  stream &operator=(stream &&other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~stream() {
    if (stream_.handle != nullptr) imbrex_stream_destroy(&stream_);
  }

  /// On the device of another, instead of the one that it was.
  status make(const stream_ref &on) noexcept {
    imbrex_stream made{};
    const status came(imbrex_stream_make(&on, &made));
    if (came.ok()) *this = stream(made);
    return came;
  }
  operator const stream_ref &() const { return stream_; }
  status synchronise() const noexcept { return stream_.synchronise(); }
  status wait(const event &happened) const noexcept { return stream_.wait(happened); }

private:
  explicit stream(const imbrex_stream &made) : stream_(made) {}

  stream_ref stream_ = stream_ref::host();
};

/// A place in a stream: what others wait for, and when it was reached.
class event {
public:
  event() = default;
  event(event &&other) noexcept : event_(std::exchange(other.event_, {})) {}
  event &operator=(event &&other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~event() {
    if (event_.handle != nullptr) imbrex_event_destroy(&event_);
  }

  /// From now on it is behind all that is in the stream. Made on its device the first time.
  status record(const stream_ref &in) noexcept {
    const int made = event_.handle != nullptr ? IMBREX_OK : imbrex_event_make(&in, &event_);
    return status(made != IMBREX_OK ? made : imbrex_event_record(&event_, &in));
  }
  /// Wait until it is reached.
  status synchronise() const noexcept { return status(imbrex_event_synchronise(&event_)); }
  /// How long after an earlier one, of the same device, it was reached. Waits for both.
  status milliseconds_since(const event &earlier, double &milliseconds) const noexcept {
    return status(imbrex_event_milliseconds(&earlier.event_, &event_, &milliseconds));
  }
  /// None where it was never recorded.
  const imbrex_event &native() const { return event_; }

private:
  imbrex_event event_{};
};

inline status stream_ref::wait(const event &happened) const noexcept {
  return status(imbrex_stream_wait(this, &happened.native()));
}

/// Elements in the process's memory that GPUs copy from and to while they and the processor do
/// other work: what device_buffer's copies are started from and to.
template <class T>
class pinned_buffer {
public:
  pinned_buffer() = default;
  pinned_buffer(pinned_buffer &&other) noexcept { swap(other); }
  pinned_buffer &operator=(pinned_buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~pinned_buffer() {
    if (data_ != nullptr) imbrex_release_pinned(&device_, data_);
  }

  /// So many elements, whose values nobody has set, for the GPUs of the stream's vendor.
  status make(const stream_ref &on, std::int64_t size) noexcept {
    pinned_buffer made;
    made.device_ = stream_ref(imbrex_stream{on.device, on.number, nullptr});
    made.size_ = size;
    void *memory = nullptr;
    const std::int64_t bytes = size < 0 ? size : detail::bytes_of<T>(size);
    const status came(imbrex_allocate_pinned(&made.device_, bytes, &memory));
    made.data_ = static_cast<T *>(memory);
    if (came.ok()) swap(made);
    return came;
  }

  T *data() const { return data_; }
  std::int64_t size() const { return size_; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size_; }
  T &operator[](std::int64_t i) const { return data_[i]; }

private:
  void swap(pinned_buffer &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  stream_ref device_ = stream_ref::host();
  T *data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Elements in a device's memory, given back with this, when all that is in the stream has ended.
template <class T>
class device_buffer {
public:
  device_buffer() = default;
  device_buffer(device_buffer &&other) noexcept { swap(other); }
  device_buffer &operator=(device_buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~device_buffer() {
    if (data_ != nullptr) imbrex_release(&stream_, data_);
  }

  /// So many elements, whose values nobody has set, on the stream's device, instead of what it was.
  status make(const stream_ref &on, std::int64_t size) noexcept {
    device_buffer made;
    made.stream_ = on;
    made.size_ = size;
    void *memory = nullptr;
    const status came(imbrex_allocate(&on, size < 0 ? size : detail::bytes_of<T>(size), &memory));
    made.data_ = static_cast<T *>(memory);
    if (came.ok()) swap(made);
    return came;
  }
  /// The same, and its values.
  status make(const stream_ref &on, std::span<const T> values) noexcept {
    const status came = make(on, static_cast<std::int64_t>(values.size()));
    return came.ok() ? copy_from(values) : came;
  }
  /// Set its first elements, behind all that is in its stream; as many as there is room for.
  status copy_from(std::span<const T> values) noexcept {
    return status(imbrex_copy_in(&stream_, data_, values.data(), bytes_of(values)));
  }
  /// What is in it, as much as there is room for, behind all that is in its stream.
  status copy_to(std::span<T> values) const noexcept {
    return status(imbrex_copy_out(&stream_, values.data(), data_, bytes_of(values)));
  }
  /// The same, put into the stream and not waited for: the values have to stay as they are until it
  /// has come so far. From and to a pinned_buffer they are copied beside other work.
  status start_copy_from(std::span<const T> values) noexcept {
    return status(imbrex_start_copy_in(&stream_, data_, values.data(), bytes_of(values)));
  }
  status start_copy_to(std::span<T> values) const noexcept {
    return status(imbrex_start_copy_out(&stream_, values.data(), data_, bytes_of(values)));
  }

  T *data() const { return data_; }
  std::int64_t size() const { return size_; }

private:
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }
  /// Of what is on both sides of a copy.
  std::int64_t bytes_of(std::span<const T> values) const {
    const auto given = static_cast<std::int64_t>(values.size_bytes());
    return given < bytes() ? given : bytes();
  }
  void swap(device_buffer &other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  stream_ref stream_ = stream_ref::host();
  T *data_ = nullptr;
  std::int64_t size_ = 0;
};

} // namespace imbrex::aot

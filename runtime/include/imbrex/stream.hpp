#pragma once

#include <imbrex/device.hpp>

#include <memory>

namespace imbrex {

class event;

/// The queue that a launch goes into: launches in one stream run one after the other. It refers to
/// a queue that somebody else owns.
///
/// On a GPU a launch is put into its stream and not waited for; what goes wrong while it runs is an
/// error of whoever waits. On other devices it has ended when it returns.
class stream_ref {
public:
  /// The default queue of a device.
  explicit stream_ref(device on) : device_(on) {}
  /// A queue of the GPU's vendor: a CUstream, a cudaStream_t, a hipStream_t, made by whomever. All
  /// arrays of a launch in it are in the GPU's memory.
  stream_ref(device on, void *native) : device_(on), native_(native) {}

  device on() const { return device_; }
  /// The vendor's queue; null for a default one.
  void *native() const { return native_; }

  /// Wait until every launch in this stream has ended; throws imbrex::error where one broke down.
  void synchronize() const;
  result<void> try_synchronize() const;
  /// What is put into this stream from now on waits for the event, if it was recorded. No thread
  /// waits.
  void wait(const event &happened) const;

  friend bool operator==(const stream_ref &, const stream_ref &) = default;

private:
  device device_;
  void *native_ = nullptr;
};

/// A queue of one's own, on a GPU; on other devices the default one. What the default queue of a
/// GPU holds and what this holds run in the order in which they were put there.
class stream {
public:
  /// Throws imbrex::error where the driver makes none.
  explicit stream(device on = device::current());
  ~stream();
  stream(stream &&other) noexcept;
  stream &operator=(stream &&other) noexcept;

  operator const stream_ref &() const { return ref_; }
  device on() const { return ref_.on(); }
  void *native() const { return ref_.native(); }
  void synchronize() const { ref_.synchronize(); }
  result<void> try_synchronize() const { return ref_.try_synchronize(); }
  void wait(const event &happened) const { ref_.wait(happened); }

private:
  stream_ref ref_;
};

/// A place in a stream: what others wait for, and when it was reached.
class event {
public:
  explicit event(device on = device::current());
  /// Recorded in the stream.
  explicit event(const stream_ref &in);
  ~event();
  event(event &&) noexcept;
  event &operator=(event &&) noexcept;

  device on() const { return device_; }
  /// The vendor's event: a CUevent, a hipEvent_t; null on other devices.
  void *native() const;

  /// From now on this is behind all that is in the stream, of the same device.
  void record(const stream_ref &in);
  /// Wait until it is reached.
  void synchronize() const;
  /// How long after an earlier event, of the same device, this was reached, by the device's clock.
  /// It waits for both.
  double milliseconds_since(const event &earlier) const;

private:
  struct state;
  device device_;
  std::unique_ptr<state> state_;
};

} // namespace imbrex

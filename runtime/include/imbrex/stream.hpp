#pragma once

#include <imbrex/device.hpp>

namespace imbrex {

/// The queue that a launch goes into: launches in one stream run one after the other. It refers to
/// a queue that somebody else owns. All streams are synchronous: a launch has ended when it
/// returns.
class stream_ref {
public:
  /// The default queue of a device.
  explicit stream_ref(device on) : device_(on) {}

  device on() const { return device_; }
  /// Wait until every launch in this stream has ended.
  void synchronize() const {}

  friend bool operator==(const stream_ref &, const stream_ref &) = default;

private:
  device device_;
};

} // namespace imbrex

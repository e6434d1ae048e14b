#pragma once

#include <imbrex/stream.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace imbrex {

enum class launch_moment : std::uint8_t {
  begins,
  done,  ///< It is in its stream or, on devices without, has ended.
  failed ///< Whoever launched gets the error.
};

/// A launch as a hook sees it, twice: when it begins, and when it is done or has failed.
struct seen_launch {
  std::string_view kernel; ///< Good during the call.
  stream_ref in;
  launch_moment moment;
};

/// Called around every launch by the thread that makes it, by several at once. It may not launch
/// anything, nor throw.
using launch_hook = std::function<void(const seen_launch &launch)>;

/// Have launches from now on seen by this hook, and by no other; an empty one ends that. One that
/// was set before may still be called by a thread that has just begun a launch, and stays for good.
void set_launch_hook(launch_hook hook);

} // namespace imbrex

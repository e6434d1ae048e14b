#pragma once

#include "backend/support/result.h"
#include "imbrex/device.hpp"

#include <array>
#include <string>

namespace imbrex {

enum class DeviceKind : std::uint8_t {
#define IMBREX_DEVICE(Kind, ...) Kind,
#include "runtime/devices.def"
};

struct DeviceInfo {
  std::string_view name;
  std::string_view meaning;
};

inline constexpr auto kDevices = std::to_array<DeviceInfo>({
#define IMBREX_DEVICE(Kind, name, meaning) {name, meaning},
#include "runtime/devices.def"
});

/// The way from a row of the table to the public value and back.
struct device_access {
  static device of(DeviceKind kind) { return device(static_cast<std::uint8_t>(kind)); }
  static DeviceKind kind(device chosen) { return static_cast<DeviceKind>(chosen.index()); }
};

namespace runtime {

/// The device that a text means; the error suggests the nearest and lists all.
Result<device> findDevice(std::string_view name, Location where);
/// The device of a launch that names none, unless IMBREX_DEVICE is wrong.
Result<device> currentDevice();

} // namespace runtime
} // namespace imbrex

#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "imbrex/device.hpp"
#include "runtime/gpu/make.h"

#include <array>
#include <string>
#include <vector>

namespace imbrex {

enum class DeviceKind : std::uint8_t {
#define IMBREX_DEVICE(Kind, ...) Kind,
#include "runtime/devices.def"
};

/// A row of devices.def.
struct DeviceKindInfo {
  std::string_view name;
  const gpu::Make &(*make)(); ///< Null: it is behind no driver.
  bool watchesMemory;
  std::string_view meaning;
};

inline constexpr auto kDeviceKinds = std::to_array<DeviceKindInfo>({
#define IMBREX_DEVICE(Kind, name, make, watches, meaning) {name, make, watches, meaning},
#include "runtime/devices.def"
});

constexpr const DeviceKindInfo &info(DeviceKind kind) {
  return kDeviceKinds[static_cast<std::size_t>(kind)];
}

struct DeviceInfo {
  DeviceKind kind;
  std::string name;
  const machine::Machine *machine; ///< That is emulated, else the processor.
  std::int32_t number = 0;         ///< Of a Cuda or Hip: the driver's.
};

/// The way from the list of devices to the public value and back.
struct device_access {
  static device of(std::size_t index) { return device(static_cast<std::uint8_t>(index)); }
};

namespace runtime {

/// Every device that there may be, by its index: the list is made once, and no driver is asked.
const std::vector<DeviceInfo> &allDevices();
const DeviceInfo &infoOf(device chosen);

/// The device that a text means; the error suggests the nearest and lists all kinds, or says why
/// there is no such GPU.
Result<device> findDevice(std::string_view name, Location where);
/// The first GPU that is there, else the host.
device bestDevice();
/// The device of a launch that names none, unless IMBREX_DEVICE is wrong.
Result<device> currentDevice();

} // namespace runtime
} // namespace imbrex

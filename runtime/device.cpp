#include "backend/support/environment.h"
#include "runtime/devices.h"
#include "runtime/throw.h"

#include <atomic>

namespace imbrex {
namespace {

constexpr std::uint8_t kNotChosen = 0xff;
constinit std::atomic<std::uint8_t> chosenIndex = kNotChosen;

Result<device> deviceOfEnvironment() {
  const std::string &name = environment().device;
  if (name.empty()) return device::host();
  return runtime::findDevice(name, {.file = "IMBREX_DEVICE"});
}

} // namespace

namespace runtime {

Result<device> findDevice(std::string_view name, Location where) {
  std::array<std::string_view, kDevices.size()> names;
  std::string list;
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    if (kDevices[i].name == name) return device_access::of(static_cast<DeviceKind>(i));
    names[i] = kDevices[i].name;
    list += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  if (const std::string_view meant = nearest(name, names); !meant.empty())
    return fail(Diag::MisspeltDevice, where, name, meant, list);
  return fail(Diag::UnknownDevice, where, name, list);
}

Result<device> currentDevice() {
  const std::uint8_t index = chosenIndex.load(std::memory_order_relaxed);
  if (index != kNotChosen) return device_access::of(static_cast<DeviceKind>(index));
  static const Result<device> fromEnvironment = deviceOfEnvironment();
  return fromEnvironment;
}

} // namespace runtime

device device::host() { return device_access::of(DeviceKind::Host); }
device device::interpreter() { return device_access::of(DeviceKind::Interpreter); }

device device::by_name(std::string_view name, std::source_location where) {
  return runtime::valueOrThrow(runtime::findDevice(name, locate(where)));
}

device device::current() { return runtime::valueOrThrow(runtime::currentDevice()); }

void device::set_current(device chosen) {
  chosenIndex.store(chosen.index(), std::memory_order_relaxed);
}

std::string_view device::name() const { return kDevices[index_].name; }
std::uint8_t device::count() { return static_cast<std::uint8_t>(kDevices.size()); }

} // namespace imbrex

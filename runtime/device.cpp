#include "backend/support/environment.h"
#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "runtime/throw.h"

#include <atomic>

namespace imbrex {
namespace {

constexpr std::uint8_t kNotChosen = 0xff;
constinit std::atomic<std::uint8_t> chosenIndex = kNotChosen;

// Where allDevices has them.
constexpr std::size_t kHostIndex = 0, kInterpreterIndex = 1;

std::string nameOf(DeviceKind kind) {
  return std::string(kDeviceKinds[static_cast<std::size_t>(kind)].name);
}

/// `emulated:gfx942`
std::string emulatedName(const machine::Machine &machine) {
  const std::string pattern = nameOf(DeviceKind::Emulated);
  return pattern.substr(0, pattern.find(':') + 1) + std::string(machine.name);
}

Result<device> deviceOfEnvironment() {
  const std::string &name = environment().device;
  if (name.empty()) return device::host();
  return runtime::findDevice(name, {.file = "IMBREX_DEVICE"});
}

} // namespace

namespace runtime {

const std::vector<DeviceInfo> &allDevices() {
  static const std::vector<DeviceInfo> all = [] {
    std::vector<DeviceInfo> devices;
    const machine::Machine &processor = machine::hostMachine();
    devices.push_back({DeviceKind::Host, nameOf(DeviceKind::Host), &processor});
    devices.push_back({DeviceKind::Interpreter, nameOf(DeviceKind::Interpreter), &processor});
    for (const machine::Machine &machine : machine::allMachines())
      if (target::findGpuTarget(machine) != nullptr)
        devices.push_back({DeviceKind::Emulated, emulatedName(machine), &machine});
    return devices;
  }();
  return all;
}

const DeviceInfo &infoOf(device chosen) { return allDevices()[chosen.index()]; }

Result<device> findDevice(std::string_view name, Location where) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < allDevices().size(); ++i) {
    if (allDevices()[i].name == name) return device_access::of(i);
    names.emplace_back(allDevices()[i].name);
  }
  std::string list;
  for (const DeviceKindInfo &kind : kDeviceKinds)
    list += (list.empty() ? "" : ", ") + std::string(kind.name);
  if (const std::string_view meant = nearest(name, names); !meant.empty())
    return fail(Diag::MisspeltDevice, where, name, meant, list);
  return fail(Diag::UnknownDevice, where, name, list);
}

Result<device> currentDevice() {
  const std::uint8_t index = chosenIndex.load(std::memory_order_relaxed);
  if (index != kNotChosen) return device_access::of(index);
  static const Result<device> fromEnvironment = deviceOfEnvironment();
  return fromEnvironment;
}

} // namespace runtime

device device::host() { return device_access::of(kHostIndex); }
device device::interpreter() { return device_access::of(kInterpreterIndex); }

device device::by_name(std::string_view name, std::source_location where) {
  return runtime::valueOrThrow(runtime::findDevice(name, locate(where)));
}

device device::current() { return runtime::valueOrThrow(runtime::currentDevice()); }

void device::set_current(device chosen) {
  chosenIndex.store(chosen.index(), std::memory_order_relaxed);
}

std::string_view device::name() const { return runtime::infoOf(*this).name; }
std::uint8_t device::count() { return static_cast<std::uint8_t>(runtime::allDevices().size()); }

} // namespace imbrex

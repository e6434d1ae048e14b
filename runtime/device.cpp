#include "backend/package/choice/tables.h"
#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/devices.h"
#include "runtime/gpus.h"
#include "runtime/throw.h"

#include <atomic>

namespace imbrex {
namespace {

constexpr std::uint8_t kNotChosen = 0xff;
constinit std::atomic<std::uint8_t> chosenIndex = kNotChosen;

/// In place of a name: the best that is there.
constexpr std::string_view kAuto = "auto";

// Where allDevices has them.
constexpr std::size_t kHostIndex = 0, kInterpreterIndex = 1;

std::string nameOf(DeviceKind kind) { return std::string(info(kind).name); }

/// `emulated:gfx942`, `cuda:0`
std::string nameOf(DeviceKind kind, std::string_view which) {
  const std::string pattern = nameOf(kind);
  return pattern.substr(0, pattern.find(':') + 1) + std::string(which);
}

/// `cuda` is `cuda:0`.
bool means(std::string_view name, const DeviceInfo &device) {
  if (name == device.name) return true;
  return runtime::isGpu(device.kind) && device.number == 0 &&
         std::string(name) + ":0" == device.name;
}

/// The device of an index; an error where it is a GPU that is not there.
Result<device> foundDevice(std::size_t index, Location where) {
  const DeviceInfo &info = runtime::allDevices()[index];
  if (runtime::isGpu(info.kind))
    if (const auto gpu = runtime::gpuOf(info); !gpu) {
      Diagnostic problem = gpu.error();
      problem.where = where;
      return Failure{problem};
    }
  return device_access::of(index);
}

Result<device> deviceOfEnvironment() {
  const std::string &name = environment().device;
  if (name.empty()) return device::host();
  return runtime::findDevice(name, {.file = "IMBREX_DEVICE"});
}

} // namespace

namespace runtime {

const std::vector<DeviceInfo> &allDevices() {
  static const auto &all = permanent([] {
    std::vector<DeviceInfo> devices;
    const machine::Machine &processor = machine::hostMachine();
    devices.push_back({DeviceKind::Host, nameOf(DeviceKind::Host), &processor});
    devices.push_back({DeviceKind::Interpreter, nameOf(DeviceKind::Interpreter), &processor});
    for (const machine::Machine &machine : machine::allMachines())
      if (target::findGpuTarget(machine) != nullptr)
        devices.push_back(
            {DeviceKind::Emulated, nameOf(DeviceKind::Emulated, machine.name), &machine});
    for (const DeviceKind kind : {DeviceKind::Cuda, DeviceKind::Hip})
      for (std::int32_t number = 0; number < static_cast<std::int32_t>(aot::kMostGpus); ++number)
        devices.push_back({kind, nameOf(kind, std::to_string(number)), &processor, number});
    return devices;
  }());
  return all;
}

const DeviceInfo &infoOf(device chosen) { return allDevices()[chosen.index()]; }

device bestDevice() {
  for (std::size_t i = 0; i < allDevices().size(); ++i) {
    const DeviceInfo &info = allDevices()[i];
    if (isGpu(info.kind) && info.number == 0 && gpuOf(info)) return device_access::of(i);
  }
  return device::host();
}

Result<device> findDevice(std::string_view name, Location where) {
  if (name == kAuto) return bestDevice();
  std::vector<std::string_view> names{kAuto};
  for (std::size_t i = 0; i < allDevices().size(); ++i) {
    const DeviceInfo &info = allDevices()[i];
    if (means(name, info)) return foundDevice(i, where);
    names.emplace_back(info.name);
  }
  std::string list(kAuto);
  for (const DeviceKindInfo &kind : kDeviceKinds) list += ", " + std::string(kind.name);
  const std::string emulated = "emulated:" + std::string(name);
  const std::string_view meant =
      llvm::is_contained(names, emulated) ? emulated : nearest(name, names);
  if (!meant.empty()) return fail(Diag::MisspeltDevice, where, name, meant, list);
  return fail(Diag::UnknownDevice, where, name, list);
}

Result<device> currentDevice() {
  const std::uint8_t index = chosenIndex.load(std::memory_order_relaxed);
  if (index != kNotChosen) return device_access::of(index);
  static const auto &fromEnvironment = permanent(deviceOfEnvironment());
  return fromEnvironment;
}

} // namespace runtime

device device::host() { return device_access::of(kHostIndex); }
device device::best() { return runtime::bestDevice(); }
device device::interpreter() { return device_access::of(kInterpreterIndex); }

device device::by_name(std::string_view name, std::source_location where) {
  return runtime::valueOrThrow(runtime::findDevice(name, locate(where)));
}

result<device> device::try_by_name(std::string_view name, std::source_location where) {
  const auto found = runtime::findDevice(name, locate(where));
  if (!found) return runtime::toError(found.error());
  return *found;
}

device device::current() { return runtime::valueOrThrow(runtime::currentDevice()); }

void device::set_current(device chosen) {
  chosenIndex.store(chosen.index(), std::memory_order_relaxed);
}

std::string_view device::name() const { return runtime::infoOf(*this).name; }
std::uint8_t device::count() { return static_cast<std::uint8_t>(runtime::allDevices().size()); }

} // namespace imbrex

#include "runtime/aot/dlpack.h"

#include "backend/launching/array_span.h"
#include "runtime/aot/bind.h"
#include "runtime/aot/devices.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

namespace imbrex::aot {
namespace {

/// dlpack.h of version 1.1, DLDeviceType.
enum DlpackDevice : std::int32_t {
  kDlpackCpu = 1,
  kDlpackCuda = 2,
  kDlpackCudaHost = 3,
  kDlpackRocm = 10,
  kDlpackRocmHost = 11
};

/// A parameter and the tensor that is given for it.
struct TensorPair {
  const KernelRow &kernel;
  const ParameterRow &parameter;
  const imbrex_dltensor &given;
};

bool isInReach(const imbrex_dltensor &tensor, const imbrex_stream &on) {
  switch (on.device) {
  case IMBREX_CUDA: return tensor.device_type == kDlpackCuda && tensor.device_id == on.number;
  case IMBREX_HIP: return tensor.device_type == kDlpackRocm && tensor.device_id == on.number;
  default:
    return tensor.device_type == kDlpackCpu || tensor.device_type == kDlpackCudaHost ||
           tensor.device_type == kDlpackRocmHost;
  }
}

std::string nameOf(const imbrex_stream &on) {
  return on.device == IMBREX_HOST ? "the host" : driver::nameOf(vendorOf(on), on.number);
}

std::string ownerOf(const imbrex_dltensor &tensor) {
  switch (tensor.device_type) {
  case kDlpackCpu:
  case kDlpackCudaHost:
  case kDlpackRocmHost: return "the host";
  case kDlpackCuda: return driver::nameOf(driver::cuda(), tensor.device_id);
  case kDlpackRocm: return driver::nameOf(driver::hip(), tensor.device_id);
  default: return "a device of DLPack's type " + std::to_string(tensor.device_type);
  }
}

int checkTensor(const TensorPair &pair, const imbrex_stream &on) {
  const imbrex_dltensor &tensor = pair.given;
  if (!isInReach(tensor, on))
    return wrongArgument(pair.kernel, pair.parameter, "is in memory of %s, not of %s",
                         ownerOf(tensor).c_str(), nameOf(on).c_str());
  if (tensor.code != pair.parameter.dlpackCode || tensor.bits != pair.parameter.storageBits ||
      tensor.lanes != 1)
    return wrongArgument(
        pair.kernel, pair.parameter,
        "has elements of DLPack's code %d with %d bits and %d lanes, not %d, %d, 1",
        int{tensor.code}, int{tensor.bits}, int{tensor.lanes}, int{pair.parameter.dlpackCode},
        int{pair.parameter.storageBits});
  const std::int32_t rank = pair.parameter.rank;
  if (pair.parameter.form == Form::View && tensor.ndim != rank)
    return wrongArgument(pair.kernel, pair.parameter, "has %d axes, not %d", tensor.ndim, rank);
  constexpr auto kMost = static_cast<std::int32_t>(kMostAxes);
  if (tensor.ndim < 0 || tensor.ndim > kMost)
    return wrongArgument(pair.kernel, pair.parameter, "has %d axes, of which there may be %d",
                         tensor.ndim, kMost);
  if (tensor.ndim > 0 && tensor.shape == nullptr)
    return wrongArgument(pair.kernel, pair.parameter, "has no extents");
  return IMBREX_OK;
}

imbrex_array arrayOf(const imbrex_dltensor &tensor) {
  imbrex_array made{};
  if (tensor.data != nullptr) // a null address stays null, so that it is found
    made.data = static_cast<std::byte *>(tensor.data) + tensor.byte_offset;
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  std::copy_n(tensor.shape, rank, made.extents);
  if (tensor.strides != nullptr)
    std::copy_n(tensor.strides, rank, made.strides);
  else
    launching::setPackedStrides(std::span(made.extents).first(rank), made.strides);
  return made;
}

} // namespace

int TensorArguments::take(const KernelRow &kernel, const imbrex_stream &on,
                          const void *const *arguments) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    const ParameterRow &parameter = kernel.parameters[i];
    list_[i] = arguments[i];
    if (!hasMemory(parameter) || parameter.form == Form::Table) continue;
    if (arguments[i] == nullptr) return wrongArgument(kernel, parameter, "is missing");
    imbrex_dltensor given; // who declares it otherwise has written it as something else
    std::memcpy(&given, arguments[i], sizeof given);
    const TensorPair pair{kernel, parameter, given};
    if (const int status = checkTensor(pair, on); status != IMBREX_OK) return status;
    const imbrex_array array = arrayOf(pair.given);
    if (parameter.form == Form::View) {
      rooms_[i].array = array;
    } else {
      const auto rank = static_cast<std::size_t>(pair.given.ndim);
      std::int64_t bytes = 0;
      if (const int status = checkSpan(kernel, parameter, std::span(array.extents, rank),
                                       std::span(array.strides, rank), bytes);
          status != IMBREX_OK)
        return status;
      rooms_[i].memory = {.data = array.data, .bytes = bytes};
    }
    list_[i] = &rooms_[i];
  }
  return IMBREX_OK;
}

} // namespace imbrex::aot

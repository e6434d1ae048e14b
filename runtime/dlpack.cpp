#include "runtime/dlpack.h"

#include "backend/launching/array_span.h"
#include "runtime/devices.h"
#include "runtime/layout.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

namespace imbrex::runtime {
namespace {

using ir::ElementKind;

bool hasElement(const dlpack::data_type &type, ElementKind kind) {
  return static_cast<std::uint8_t>(type.code) == ir::info(kind).dlpackCode &&
         type.bits == ir::storageBits(kind) && type.lanes == 1;
}

/// `f64`, or the three numbers of a type that no element has.
std::string nameOf(const dlpack::data_type &type) {
  for (const ElementKind kind : ir::allElementKinds())
    if (hasElement(type, kind)) return std::string(ir::info(kind).name);
  return "DLPack's code " + std::to_string(static_cast<int>(type.code)) + ", bits " +
         std::to_string(type.bits) + ", lanes " + std::to_string(type.lanes);
}

/// The vendor's devices whose memory a tensor's is; none where every device reaches it.
std::optional<DeviceKind> ownerOf(dlpack::device_type type) {
  if (type == dlpack::device_type::cuda) return DeviceKind::Cuda;
  if (type == dlpack::device_type::rocm) return DeviceKind::Hip;
  return std::nullopt;
}

bool isInReach(const dlpack::device &of, device on) {
  using enum dlpack::device_type;
  if (of.type == cpu || of.type == cuda_host || of.type == rocm_host) return true;
  const DeviceInfo &info = infoOf(on);
  return ownerOf(of.type) == info.kind && of.id == info.number;
}

/// `cuda:1`, or the number of a device that no kernel runs on.
std::string nameOf(const dlpack::device &of) {
  const auto owner = ownerOf(of.type);
  if (!owner) return "a device of DLPack's type " + std::to_string(static_cast<int>(of.type));
  return (*owner == DeviceKind::Cuda ? "cuda:" : "hip:") + std::to_string(of.id);
}

/// The layout that shape and strides describe; null strides are row-major.
detail::layout layoutOf(const dlpack::tensor &tensor) {
  detail::layout layout;
  layout.rank = tensor.ndim;
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  std::copy_n(tensor.shape, rank, layout.extents.begin());
  if (tensor.strides != nullptr)
    std::copy_n(tensor.strides, rank, layout.strides.begin());
  else
    launching::setPackedStrides(std::span(layout.extents).first(rank), layout.strides);
  return layout;
}

} // namespace

Result<detail::launch_argument> fromDlpack(const dlpack::managed_tensor_versioned &tensor,
                                           const Parameter &parameter, device on, Location where) {
  // Of another version nothing else is known to be where it is.
  if (tensor.version.major != dlpack::abi_version)
    return fail(Diag::DlpackVersion, where, parameter.name, tensor.version.major,
                tensor.version.minor);
  const bool isReadOnly = (tensor.flags & dlpack::flag_read_only) != 0;
  if (isReadOnly && !parameter.type.isConst())
    return fail(Diag::ReadOnlyDlpack, where, parameter.name);
  return fromDlpack(tensor.dl_tensor, parameter, on, where);
}

Result<detail::launch_argument> fromDlpack(const dlpack::tensor &tensor, const Parameter &parameter,
                                           device on, Location where) {
  const ElementKind wanted = parameter.type.element();
  if (!isInReach(tensor.device, on))
    return fail(Diag::WrongDeviceMemory, where, parameter.name, nameOf(tensor.device), on.name());
  if (!hasElement(tensor.dtype, wanted))
    return fail(Diag::WrongDlpackElement, where, parameter.name, ir::info(wanted).name,
                nameOf(tensor.dtype));
  if (tensor.ndim < 0 || tensor.ndim > detail::max_rank)
    return fail(Diag::TooManyAxes, where, Subject{parameter.name}, tensor.ndim, detail::max_rank);
  detail::launch_argument made{.kind = detail::launch_argument::form::array};
  made.layout = layoutOf(tensor);
  // A null address stays null, so that it is found.
  if (tensor.data != nullptr)
    made.data = static_cast<const std::byte *>(tensor.data) + tensor.byte_offset;
  if (auto wrong = checkLayout(made.layout, {parameter.name}, where))
    return Failure<Diagnostic>{*wrong};
  return made;
}

} // namespace imbrex::runtime

#include "runtime/gpu/make.h"

namespace imbrex::gpu {

const Make &cuda() {
  static const Make make{
      .vendor = driver::cuda(), .family = machine::Family::Nvptx, .path = &Environment::cudaDriver};
  return make;
}

const Make &hip() {
  static const Make make{
      .vendor = driver::hip(), .family = machine::Family::Amdgpu, .path = &Environment::hipDriver};
  return make;
}

std::vector<std::string> driverPaths(const Make &make) {
  if (const std::string &path = environment().*make.path; !path.empty()) return {path};
  return {make.vendor.libraries.begin(), make.vendor.libraries.end()};
}

} // namespace imbrex::gpu

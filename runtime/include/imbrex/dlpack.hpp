#pragma once

#include <imbrex/detail/compiler.hpp>

#include <cstdint>

/// The array that Python's libraries hand to each other (dmlc/dlpack, ABI version 1), in our own
/// declaration. A `const dlpack::tensor &` can be given to a launch; one of another library's
/// header has the same layout: `imbrex::as_dlpack(&theirs)`.
namespace imbrex::dlpack {

inline constexpr std::uint32_t abi_version = 1;

enum class device_type : std::int32_t {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,
  rocm = 10,
  rocm_host = 11
};

struct device {
  device_type type;
  std::int32_t id;
};

enum class type_code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  opaque = 3,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  f8e4m3fn = 10,
  f8e4m3fnuz = 11,
  f8e5m2 = 12,
  f8e5m2fnuz = 13,
  e8m0 = 14,
  f4e2m1 = 17,
};

struct data_type {
  type_code code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct tensor {
  void *data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t *shape;
  std::int64_t *strides; ///< In elements; null is row-major.
  std::uint64_t byte_offset;
};

struct managed_tensor {
  tensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(managed_tensor *self);
};

struct version {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t flag_read_only = 1;

struct managed_tensor_versioned {
  dlpack::version version;
  void *manager_ctx;
  void (*deleter)(managed_tensor_versioned *self);
  std::uint64_t flags;
  tensor dl_tensor;
};

} // namespace imbrex::dlpack

namespace imbrex {

/// Another library's DLTensor by our declaration.
template <class Theirs>
const dlpack::tensor &as_dlpack(const Theirs *theirs) {
  static_assert(sizeof(Theirs) == sizeof(dlpack::tensor) &&
                    alignof(Theirs) == alignof(dlpack::tensor),
                "imbrex: not a DLTensor of the ABI that imbrex/dlpack.hpp declares");
  return *reinterpret_cast<const dlpack::tensor *>(theirs);
}

} // namespace imbrex

#include "runtime/devices.h"
#include "runtime/dlpack.h"
#include "tests/support/parsed_kernel.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

using namespace imbrex;

namespace {

struct copy_matrix {
  static constexpr names parameters{"from", "to"};
  void operator()(view<const f32, 2> from, view<f32, 2> to) const {
    to[box<4, 4>(0, 0)] = from[box<4, 4>(0, 0)];
  }
};

/// A tensor over memory that stays the test's.
struct given {
  std::array<std::int64_t, 6> shape{2, 3, 1, 1, 1, 1};
  std::array<std::int64_t, 6> strides{1, 2, 1, 1, 1, 1};
  std::vector<float> values{0, 1, 2, 3, 4, 5};
  dlpack::tensor tensor{.data = values.data(),
                        .device = {dlpack::device_type::cpu, 0},
                        .ndim = 2,
                        .dtype = {dlpack::type_code::floating, 32, 1},
                        .shape = shape.data(),
                        .strides = nullptr,
                        .byte_offset = 0};
};

std::string codeOf(const dlpack::tensor &tensor) {
  buffer<f32> to(2, 3);
  to.fill(0);
  const auto outcome =
      jit(copy_matrix{}, {.on = device::interpreter()}).try_launch(grid(1), tensor, to);
  return outcome ? "ran" : std::string(outcome.error().code());
}

} // namespace

TEST_CASE("a DLPack tensor is an argument, row-major or with strides") {
  given rows;
  buffer<f32> to(2, 3);
  const auto kernel = jit(copy_matrix{}, {.on = device::interpreter()});
  kernel(grid(1), rows.tensor, to);
  CHECK(to(1, 0) == 3);
  rows.tensor.strides = rows.strides.data();
  kernel(grid(1), rows.tensor, to);
  CHECK(to(1, 0) == 1);
  CHECK(to(0, 2) == 4);
  rows.tensor.strides = nullptr;
  rows.tensor.byte_offset = 8;
  rows.shape = {2, 2};
  kernel(grid(1), rows.tensor, to);
  CHECK(to(0, 0) == 2);

  struct theirs {
    void *data;
    std::array<std::int32_t, 2> device;
    std::int32_t ndim, dtype;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
  } other{};
  CHECK(&as_dlpack(&other).byte_offset == &other.byte_offset);
}

TEST_CASE("a DLPack tensor in another device's memory is refused, with both devices") {
  given elsewhere;
  elsewhere.tensor.device = {dlpack::device_type::cuda, 1};
  const auto outcome = jit(copy_matrix{}, {.on = device::host()})
                           .try_launch(grid(1), elsewhere.tensor, elsewhere.tensor);
  CHECK(std::string(outcome.error().what())
            .find("the argument 'from' is in the memory of cuda:1, and the kernel runs on host") !=
        std::string::npos);
}

TEST_CASE("a DLPack tensor in a GPU's memory is for launches on that GPU") {
  const auto parameters = runtime::parametersOf(
      testing::parsedKernel("kernel @k(%x: view<f32, 2>) stage tiles {\n}\n"));
  given there;
  const auto isTaken = [&](dlpack::device of, std::string_view name) {
    there.tensor.device = of;
    const auto &all = runtime::allDevices();
    const auto on = std::ranges::find(all, name, &DeviceInfo::name) - all.begin();
    return runtime::fromDlpack(there.tensor, parameters[0],
                               device_access::of(static_cast<std::size_t>(on)), {})
        .ok();
  };
  using enum dlpack::device_type;
  CHECK(isTaken({cuda, 0}, "cuda:0"));
  CHECK(isTaken({rocm, 3}, "hip:3"));
  CHECK(isTaken({cpu, 0}, "cuda:0")); // and copied there
  CHECK_FALSE(isTaken({cuda, 1}, "cuda:0"));
  CHECK_FALSE(isTaken({rocm, 0}, "cuda:0"));
  CHECK_FALSE(isTaken({cuda, 0}, "emulated:sm_80"));
  CHECK_FALSE(isTaken({static_cast<dlpack::device_type>(8), 0}, "cuda:0")); // Metal's
}

TEST_CASE("a versioned DLPack tensor is an argument, if it may be written where the kernel does") {
  given from, to;
  from.tensor.shape = from.shape.data();
  to.tensor.shape = to.shape.data();
  const auto versioned = [](const given &of, std::uint32_t major, std::uint64_t flags) {
    return dlpack::managed_tensor_versioned{.version = {major, 1},
                                            .manager_ctx = nullptr,
                                            .deleter = nullptr,
                                            .flags = flags,
                                            .dl_tensor = of.tensor};
  };
  const auto kernel = jit(copy_matrix{}, {.on = device::host()});
  const auto readOnly = versioned(from, 1, dlpack::flag_read_only);
  CHECK(kernel.try_launch(grid(1), readOnly, versioned(to, 1, 0)).ok());
  CHECK(kernel.try_launch(grid(1), from.tensor, readOnly).error().code() == "ReadOnlyDlpack");
  CHECK(kernel.try_launch(grid(1), versioned(from, 2, 0), to.tensor).error().code() ==
        "DlpackVersion");
}

TEST_CASE("a DLPack tensor that the kernel can't take is refused") {
  given wrong;
  CHECK(codeOf(wrong.tensor) == "ran");
  const auto with = [&](auto change) {
    given changed;
    change(changed);
    changed.tensor.shape = changed.shape.data();
    return codeOf(changed.tensor);
  };
  CHECK(with([](given &g) { g.tensor.device.type = dlpack::device_type::cuda; }) ==
        "WrongDeviceMemory");
  CHECK(with([](given &g) { g.tensor.device.type = dlpack::device_type::cuda_host; }) == "ran");
  CHECK(with([](given &g) { g.tensor.dtype.bits = 64; }) == "WrongDlpackElement");
  CHECK(with([](given &g) { g.tensor.dtype.lanes = 4; }) == "WrongDlpackElement");
  CHECK(with([](given &g) { g.tensor.dtype.code = dlpack::type_code::bfloat; }) ==
        "WrongDlpackElement");
  const auto textWith = [&](auto change) {
    given changed;
    change(changed);
    const auto outcome = jit(copy_matrix{}, {.on = device::interpreter()})
                             .try_launch(grid(1), changed.tensor, changed.tensor);
    const std::string text = outcome.error().what();
    return text.substr(text.find("error: "));
  };
  CHECK(textWith([](given &g) { g.tensor.dtype.bits = 64; }) ==
        "error: the argument 'from' wants elements of type f32, not f64\n"
        "  hint: convert the tensor before, or let the kernel's parameter have its type");
  CHECK(textWith([](given &g) { g.tensor.ndim = 6; }) ==
        "error: the argument 'from' has rank 6; a rank is 0 to 5\n"
        "  hint: reshape it so that neighbouring axes become one");
  CHECK(textWith([](given &g) { g.tensor.dtype.lanes = 4; })
            .starts_with(
                "error: the argument 'from' wants elements of type f32, not DLPack's code 2, "
                "bits 32, lanes 4\n"));
  CHECK(with([](given &g) { g.tensor.ndim = 3; }) == "WrongViewRank");
  CHECK(with([](given &g) { g.tensor.ndim = 6; }) == "TooManyAxes");
  CHECK(with([](given &g) { g.tensor.ndim = -1; }) == "TooManyAxes");
  CHECK(with([](given &g) { g.tensor.data = nullptr; }) == "NullPointer");
  CHECK(with([](given &g) { g.tensor.byte_offset = 1; }) == "MisalignedArgument");
  CHECK(with([](given &g) { g.shape[0] = -1; }) == "NegativeExtent");
  CHECK(with([](given &g) { g.shape = {1LL << 40, 1LL << 40}; }) == "TooManyElements");
}

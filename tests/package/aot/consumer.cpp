// A program without exceptions and without a compiler behind it.
#include "consumer.h"

#include "app.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace imbrex::aot;

int failures = 0;

void expect(bool isRight, const char *what) {
  if (!isRight) std::fprintf(stderr, "not so: %s (%s)\n", what, imbrex_error_text());
  failures += isRight ? 0 : 1;
}

void expectRefused(const status &came, imbrex_status code, std::string_view text) {
  const bool isRight = came.code() == code && came.message() == text;
  if (!isRight) std::fprintf(stderr, "%d: %s\n", came.code(), came.message());
  failures += isRight ? 0 : 1;
}

/// What can be passed for arrays.
void passArrays() {
  std::vector<float> a(64, 1.0f);
  const std::array<float, 64> b{};
  std::array<float, 64> c{};
  const std::span<const float> part(a);
  expect(app::add(stream_ref::host(), 1, a, b, c).ok(), "a vector and arrays");
  expect(app::add(stream_ref::host(), grid(1, 1), part, a, std::span(c)).ok(), "spans");
  expect(c[63] == 2, "the sum");
  array<float, 1> writable(c.data(), {64});
  expect(app::add(stream_ref::host(), 1, writable, writable, writable).ok(), "what may be written");
  expect(c[0] == 4, "the sum with itself");
  expect(app::add(stream_ref::host(), grid(0), a, b, c).ok(), "no blocks");
}

/// Elements of which two share a byte.
void passNibbles() {
  const std::vector<unsigned char> halves(32, 0x22); // 1, 1
  std::vector<float> y(64);
  const array<const imbrex::f4e2m1, 1> all(halves);
  expect(all.extents[0] == 64, "two elements in a byte");
  const array<const imbrex::f4e2m1, 2> row(halves.data(), {1, halves.size() * 2});
  expect(app::halve(stream_ref::host(), 1, row, array<float, 2>(y.data(), {1, y.size()})).ok() &&
             y[63] == 0.5f,
         "half of the last");
}

/// dlpack.h's own declaration.
struct Tensor {
  void *data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};

void passTensors() {
  const stream_ref host = stream_ref::host();
  std::vector<float> x(64, 1.0f), y(64);
  std::int64_t extents[2] = {32, 1}, strides[2] = {2, 1};
  const Tensor some{x.data(), {1, 0}, 1, {2, 32, 1}, extents, nullptr, 32 * sizeof(float)};
  Tensor every = some, made = some;
  every.strides = strides;
  every.byte_offset = 0;
  made.data = y.data();
  x[0] = 5;
  x[31] = 3;
  x[63] = 7;
  expect(app::add(host, 1, as_dltensor(some), as_dltensor(every), as_dltensor(made)).ok(),
         "tensors");
  expect(y[31] == 0 && y[32] == 6 && y[33] == 2 && y[63] == 8, "their sum");
  // For pointers their axes are all one.
  made.ndim = 2;
  expect(app::scale(host, 1, as_dltensor(some), as_dltensor(made), 32, 2.0f, imbrex::f16(0.5),
                    false, 0)
                 .ok() &&
             y[32] == 2.5f && y[63] == 14.5f,
         "tensors for pointers");
  // Rows lie one behind the other.
  std::vector<float> rows(3 * 128), ratios(3 * 128);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i < 128 ? 1.0f : -1000.0f;
  rows[200] = 0.0f;
  std::int64_t shape[2] = {3, 128};
  const Tensor logits{rows.data(), {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  const Tensor made_ratios{ratios.data(), {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  expect(app::softmax(host, 1, as_dltensor(logits), as_dltensor(made_ratios)).ok(), "two axes");
  expect(ratios[5] == 1.0f / 128 && ratios[200] == 1.0f && ratios[201] == 0.0f, "its rows");
  const auto refused = [&](Tensor wrong, const char *what) {
    const std::string text = std::string("the argument 'c' of 'add', view<f32, 1>, ") + what;
    expectRefused(app::add(host, 1, as_dltensor(some), as_dltensor(every), as_dltensor(wrong)),
                  IMBREX_BAD_ARGUMENT, text);
  };
  refused(made, "has 2 axes, not 1");
  made.ndim = 1;
  Tensor wrong = made;
  wrong.dtype.code = 4;
  refused(wrong, "has elements of DLPack's code 4 with 32 bits and 1 lanes, not 2, 32, 1");
  wrong = made;
  wrong.dtype.lanes = 4;
  refused(wrong, "has elements of DLPack's code 2 with 32 bits and 4 lanes, not 2, 32, 1");
  wrong = made;
  wrong.device = {2, 1};
  refused(wrong, "is in memory of cuda:1, not of the host");
  wrong.device = {8, 0};
  refused(wrong, "is in memory of a device of DLPack's type 8, not of the host");
  wrong = made;
  wrong.shape = nullptr;
  refused(wrong, "has no extents");
  wrong = made;
  wrong.data = nullptr;
  refused(wrong, "is a null pointer");
  wrong = made;
  std::int64_t huge[1] = {std::int64_t{1} << 60}, none[1] = {0}, less[1] = {-1};
  wrong.shape = huge;
  refused(wrong, "has too many elements");
  wrong.shape = less;
  refused(wrong, "has the extent -1 along axis 0");
  wrong.shape = none;
  wrong.data = nullptr;
  expect(app::add(host, 1, as_dltensor(some), as_dltensor(every), as_dltensor(wrong)).ok(),
         "an empty tensor");
  // Braces stand for an array.
  expect(app::add(host, 1, {x.data(), {64}}, {x.data(), {64}}, {y.data(), {64}}).ok(), "braces");
  std::int64_t negative[2] = {4, -1};
  Tensor fewer = made_ratios;
  fewer.shape = negative;
  expectRefused(app::softmax(host, 1, as_dltensor(logits), as_dltensor(fewer)), IMBREX_BAD_ARGUMENT,
                "the argument 'y' of 'softmax', view<f32, 2>, has the extent -1 along axis 1");
}

void passWrongOnes() {
  std::vector<float> a(64);
  const stream_ref host = stream_ref::host();
  expectRefused(app::add(host, -1, a, a, a), IMBREX_BAD_ARGUMENT,
                "the grid of 'add' has -1 blocks along x; it may have 0 to 2147483647");
  expectRefused(app::add(host, {1 << 30, 1 << 30, 1 << 30}, a, a, a), IMBREX_BAD_ARGUMENT,
                "the grid of 'add' has more than 2^63 blocks");
  expectRefused(app::add(host, 1, array<float, 1>(a.data(), {-5}), a, a), IMBREX_BAD_ARGUMENT,
                "the argument 'a' of 'add', view<const f32, 1>, has the extent -5 along axis 0");
  expectRefused(app::add(host, 1, array<float, 1>(a.data(), {5}, {-1}), a, a), IMBREX_BAD_ARGUMENT,
                "the argument 'a' of 'add', view<const f32, 1>, has the stride -1 along axis 0");
  expectRefused(app::add(host, 1, array<float, 1>(a.data(), {std::int64_t{1} << 60}), a, a),
                IMBREX_BAD_ARGUMENT,
                "the argument 'a' of 'add', view<const f32, 1>, has too many elements");
  const auto odd = reinterpret_cast<float *>(reinterpret_cast<char *>(a.data()) + 2);
  expectRefused(app::add(host, 1, array<float, 1>(odd, {5}), a, a), IMBREX_BAD_ARGUMENT,
                "the argument 'a' of 'add', view<const f32, 1>, has an address that is no multiple "
                "of its element's 4 bytes");
  expectRefused(app::add(stream_ref(imbrex_stream{7, 0, nullptr}), 1, a, a, a), IMBREX_BAD_ARGUMENT,
                "a stream of device 7, which there is not");
  expectRefused(app::add(stream_ref::cuda(99), 1, a, a, a), IMBREX_BAD_ARGUMENT,
                "a stream of cuda:99; devices are numbered from 0 to 31");
  expectRefused(app::add(stream_ref(imbrex_stream{IMBREX_HOST, 0, a.data()}), 1, a, a, a),
                IMBREX_BAD_ARGUMENT, "the host has no streams, but a handle of one is given");
  expectRefused(app::add(stream_ref::hip(), 1, a, a, a), IMBREX_NO_DEVICE,
                "there is no hip:0, since AMD's HIP is not found (/nowhere); IMBREX_HIP_DRIVER may "
                "say where");
  expectRefused(app::add(host, 1, array<float, 1>(nullptr, {std::int64_t{1} << 57}), a, a),
                IMBREX_BAD_ARGUMENT,
                "the argument 'a' of 'add', view<const f32, 1>, has too many elements");
  // An array without elements may be anywhere.
  expect(app::add(host, 1, array<float, 1>(nullptr, {0}), a, a).ok(), "an empty array");
}

void keepMemory() {
  const stream_ref host = stream_ref::host();
  device_buffer<float> a, moved;
  expect(a.make(host, std::vector<float>(100, 2.0f)).ok(), "memory with values");
  expect(reinterpret_cast<std::uintptr_t>(a.data()) % 256 == 0, "its place");
  moved = std::move(a);
  std::vector<float> back(100);
  expect(moved.copy_to(back).ok() && back[99] == 2, "what was in it");
  expect(moved.make(host, std::int64_t{0}).ok() && moved.data() == nullptr, "no memory");
  expectRefused(moved.make(host, std::int64_t{-1}), IMBREX_BAD_ARGUMENT,
                "-1 bytes can't be allocated");
  expectRefused(moved.make(host, std::int64_t{1} << 50), IMBREX_NO_MEMORY,
                "the host can't allocate memory");
  expectRefused(moved.make(host, (std::int64_t{1} << 61) + 1), IMBREX_NO_MEMORY,
                "the host can't allocate memory");
  expect(imbrex_copy_in(&host, back.data(), back.data(), -1) == IMBREX_BAD_ARGUMENT, "-1 bytes");
  expect(imbrex_copy_out(&host, nullptr, back.data(), 4) == IMBREX_BAD_ARGUMENT, "a null pointer");
  imbrex_stream none{IMBREX_CUDA, 3, back.data()};
  expect(imbrex_stream_make(nullptr, &none) == IMBREX_BAD_ARGUMENT && none.handle == nullptr,
         "a stream of nothing");
  stream own;
  expect(own.make(host).ok() && own.synchronise().ok(), "a stream of the host's");
  expect(stream_ref::best().device == IMBREX_HOST, "the best device where there is no driver");
}

} // namespace

/// With `log` behind its name it launches once, and says what the log has to say; with `told` it
/// launches what prints.
int main(int count, char **words) {
  if (count > 1 && std::string_view(words[1]) == "told") return tell_from_c();
  if (count > 1) {
    passArrays();
    return failures;
  }
  imbrex_set_log_receiver(
      [](std::int32_t, const char *, const char *text, void *) {
        expect(std::string_view(text).find(" device=host ") != std::string_view::npos, text);
      },
      nullptr); // as IMBREX_LOG asks for what is loaded
  expect(stream_ref::best().device == IMBREX_HOST && imbrex_error_text()[0] == '\0',
         "no GPU, which is no error");
  passArrays();
  passNibbles();
  passTensors();
  passWrongOnes();
  keepMemory();
  expect(launch_from_c() == 0, "launches from C");
  expect(launch_later() == 0, "launches of two libraries");
  return failures == 0 ? 0 : 1;
}

#include "runtime/aot/given.h"

#include "runtime/aot/driver/read_as.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace imbrex::aot {
namespace {

// As compiled functions of kernels read them (tables.h).
static_assert(sizeof(void *) == kWordBytes);
static_assert(offsetof(imbrex_memory, data) == 0);
static_assert(offsetof(imbrex_memory, bytes) == kMemoryBytesPlace);
static_assert(sizeof(imbrex_memory::bytes) == kWordBytes);
static_assert(offsetof(imbrex_table, pointers) == 0);
static_assert(offsetof(imbrex_table, count) == kTableCountPlace);
static_assert(sizeof(imbrex_table::count) == kWordBytes);
static_assert(offsetof(imbrex_table, promises) == kTablePromisesPlace);
static_assert(sizeof(imbrex_table::promises) == sizeof(std::int32_t));
static_assert(offsetof(imbrex_array, data) == 0);
static_assert(offsetof(imbrex_array, extents) == kArrayExtentsPlace);
static_assert(offsetof(imbrex_array, strides) == kArrayStridesPlace);
static_assert(sizeof(imbrex_array::extents) == kMostAxes * kWordBytes);
static_assert(sizeof(imbrex_array::strides) == kMostAxes * kWordBytes);

/// The bits of a number, as they are passed.
std::uint64_t bitsOf(const void *given, const ParameterRow &parameter) {
  std::uint64_t bits = 0; // the least come first on processors that there is code for
  std::memcpy(&bits, given, storageBytes(parameter));
  return parameter.form == Form::Truth && bits != 0 ? 1 : bits;
}

std::uint64_t addressBits(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Behind what was written before.
std::uint64_t *write(const ParameterRow &parameter, const void *given, std::uint64_t *to) {
  switch (parameter.form) {
  case Form::Scalar:
  case Form::Truth: *to++ = bitsOf(given, parameter); break;
  case Form::Pointer: {
    const auto memory = driver::readAs<imbrex_memory>(given);
    *to++ = addressBits(memory.data);
    *to++ = static_cast<std::uint64_t>(memory.bytes);
    break;
  }
  case Form::Table: {
    const auto table = driver::readAs<imbrex_table>(given);
    *to++ = addressBits(table.pointers);
    *to++ = static_cast<std::uint64_t>(table.count);
    *to++ = static_cast<std::uint32_t>(table.promises);
    break;
  }
  case Form::View: {
    const auto &view = *static_cast<const imbrex_array *>(given);
    *to++ = addressBits(view.data);
    to = std::copy_n(view.extents, parameter.rank, to);
    to = std::copy_n(view.strides, parameter.rank, to);
    break;
  }
  }
  return to;
}

} // namespace

bool GivenWords::take(const KernelRow &kernel, const void *const *arguments) {
  std::uint64_t *to = words_.data();
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    if (arguments[i] == nullptr) return false;
    to = write(kernel.parameters[i], arguments[i], to);
  }
  const auto count = static_cast<std::size_t>(to - words_.data());
  std::fill_n(to, paddedWords(count) - count, 0);
  return true;
}

GivenArguments::GivenArguments(const KernelRow &kernel, const std::uint64_t *words) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(kernel.parameterCount); ++i) {
    const ParameterRow &parameter = kernel.parameters[i];
    Room &room = rooms_[i];
    list_[i] = &room;
    void *const address = reinterpret_cast<void *>(static_cast<std::uintptr_t>(words[0]));
    switch (parameter.form) {
    case Form::Scalar:
    case Form::Truth: list_[i] = words; break;
    case Form::Pointer:
      room.memory = {.data = address, .bytes = static_cast<std::int64_t>(words[1])};
      break;
    case Form::Table:
      room.table = {.pointers = address,
                    .count = static_cast<std::int64_t>(words[1]),
                    .promises = static_cast<std::int32_t>(words[2])};
      break;
    case Form::View:
      room.array.data = address;
      std::copy_n(words + 1, parameter.rank, room.array.extents);
      std::copy_n(words + 1 + parameter.rank, parameter.rank, room.array.strides);
      break;
    }
    words += givenWords(parameter);
  }
}

} // namespace imbrex::aot

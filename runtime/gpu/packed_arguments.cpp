#include "runtime/gpu/packed_arguments.h"

#include "runtime/gpu/launch_attributes.h"

#include <algorithm>
#include <cstring>

namespace imbrex::gpu {
namespace {

using lower::WordKind;

bool isMadeForLaunch(const lower::Word &word) {
  return word.kind == WordKind::BoxMap || word.kind == WordKind::Observations;
}

std::size_t offsetOf(const lower::Word &word) {
  const ir::Argument any;
  const auto within = static_cast<const std::byte *>(lower::sourceOf(word, any)) -
                      reinterpret_cast<const std::byte *>(&any);
  return static_cast<std::size_t>(word.parameter) * sizeof any + static_cast<std::size_t>(within);
}

} // namespace

ArgumentPacker::ArgumentPacker(const ir::Kernel &kernel, const lower::KernelInterface &interface) {
  const std::vector<std::int64_t> places = lower::placesOf(interface.words);
  bytes_ = static_cast<std::size_t>(places.back());
  const bool tellsEach = !interface.maps.empty() || launchAttributesOf(interface.asked).areAny();
  for (const auto &[word, place] : llvm::zip_first(interface.words, places)) {
    const auto to = static_cast<std::size_t>(place);
    if (isMadeForLaunch(word))
      hidden_.push_back({word, to});
    else
      copied_.push_back({offsetOf(word), to, static_cast<std::size_t>(word.bytes)});
    if (tellsEach) places_.push_back(to);
    if (word.kind != WordKind::Scalar) continue;
    const auto parameter = static_cast<std::size_t>(word.parameter);
    numbers_.resize(std::max(numbers_.size(), parameter + 1));
    numbers_[parameter] = {.place = to,
                           .bytes = static_cast<std::size_t>(word.bytes),
                           .isInteger = ir::isInteger(kernel.parameterType(parameter).element())};
  }
}

void ArgumentPacker::pack(llvm::ArrayRef<ir::Argument> arguments, const HiddenArguments &made,
                          PackedArguments &packed) const {
  packed.bytes.resize(bytes_);
  const auto *from = reinterpret_cast<const std::byte *>(arguments.data());
  for (const Copied &word : copied_) // the low bytes: both ends have the least first
    std::memcpy(&packed.bytes[word.to], from + word.from, word.bytes);
  for (const auto &[word, to] : hidden_) {
    const void *content = &made.observations;
    if (word.kind == WordKind::BoxMap)
      content = made.maps[static_cast<std::size_t>(word.axis)].data();
    std::memcpy(&packed.bytes[to], content, static_cast<std::size_t>(word.bytes));
  }
  for (const std::size_t place : places_) packed.each.push_back(&packed.bytes[place]);
}

} // namespace imbrex::gpu

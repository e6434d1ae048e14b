#include "backend/passes/expand/expand_conversions.h"

#include "backend/math/small_float.h"
#include "backend/passes/expand/expansion.h"
#include "backend/passes/expand/recorded.h"

namespace imbrex::passes::expand {
namespace {

using namespace ir;
using Bits = Recorded<std::uint32_t>;

// ---- Codes: the bits of a narrow float in a u32.

/// The tile as one row of an even number of elements: an odd one is followed by itself.
ValueId evenRow(Builder &build, ValueId tile) {
  const Type type = build.kernel().type(tile);
  const std::int64_t elements = type.shape().elements();
  const ValueId row = build.reshape(tile, Shape{elements});
  if (elements % 2 == 0) return row;
  const Type twice = type.withShape(Shape{2 * elements});
  return build.create(OpKind::Concat, {row, row}, twice).result();
}

/// The first elements of a row as a tile of this shape.
ValueId firstOf(Builder &build, ValueId row, const Shape &shape) {
  const Type type = build.kernel().type(row).withShape(Shape{shape.elements()});
  SliceAttrs first;
  first.offsets = {0};
  first.strides = {1};
  return build.reshape(build.create(OpKind::Slice, row, type, first).result(), shape);
}

/// Two f4e2m1 share a byte: the codes are its nibbles, the low one first.
ValueId nibblesOf(Builder &build, ValueId tile) {
  const ValueId row = evenRow(build, tile);
  const std::int64_t pairs = build.kernel().type(row).shape()[0] / 2;
  const Type bytes = Type::tile(ElementKind::U8, Shape{pairs});
  const ValueId both = build.create(OpKind::Bitcast, row, bytes).result();
  const ValueId low = build.elementwise(OpKind::And, {both, build.integer(bytes, 0xf)});
  const ValueId high = build.elementwise(OpKind::Shr, {both, build.integer(bytes, 4)});
  const Type joined = bytes.withShape(Shape{pairs, 2});
  const ValueId codes = build.create(OpKind::Join, {low, high}, joined).result();
  return firstOf(build, build.reshape(codes, Shape{2 * pairs}), build.kernel().type(tile).shape());
}

ValueId fromNibbles(Builder &build, ValueId codes) {
  const Shape shape = build.kernel().type(codes).shape();
  const ValueId row = evenRow(build, codes);
  const std::int64_t pairs = build.kernel().type(row).shape()[0] / 2;
  const Type bytes = Type::tile(ElementKind::U8, Shape{pairs});
  const Op &halves =
      build.create(OpKind::Split, build.reshape(row, Shape{pairs, 2}), {bytes, bytes});
  const ValueId low = halves.result(0), high = halves.result(1);
  const ValueId shifted = build.elementwise(OpKind::Shl, {high, build.integer(bytes, 4)});
  const ValueId both = build.elementwise(OpKind::Or, {low, shifted});
  const Type narrow = Type::tile(ElementKind::F4E2M1, Shape{2 * pairs});
  return firstOf(build, build.create(OpKind::Bitcast, both, narrow).result(), shape);
}

Bits codesOf(ExpansionRecorder &recorder, ValueId tile) {
  Builder build = recorder.builder();
  const bool isNibble = recorder.kernel().type(tile).element() == ElementKind::F4E2M1;
  const ValueId bytes = isNibble ? nibblesOf(build, tile) : build.bitcast(tile, ElementKind::U8);
  return {recorder, build.cast(bytes, ElementKind::U32)};
}

ValueId fromCodes(ExpansionRecorder &recorder, const Bits &codes, ElementKind to) {
  Builder build = recorder.builder();
  const ValueId bytes = build.cast(codes.in(recorder), ElementKind::U8);
  return to == ElementKind::F4E2M1 ? fromNibbles(build, bytes) : build.bitcast(bytes, to);
}

// ---- Formats: one row each.

struct FloatCodec {
  ElementKind kind;
  Bits (*decode)(Bits code);
  Bits (*encode)(Bits bits);
  Bits (*truncate)(Bits bits);
};

#define IMBREX_FORMAT(Kind, format)                                                                \
  {ElementKind::Kind, [](Bits code) { return math::decode<math::format>(code); },                  \
   [](Bits bits) { return math::encode<math::format>(bits); },                                     \
   [](Bits bits) { return math::encode<math::format, math::Rounding::TowardZero>(bits); }}
constexpr auto kFormats = std::to_array<FloatCodec>({
    IMBREX_FORMAT(F8E4M3FN, kF8E4M3FN),
    IMBREX_FORMAT(F8E5M2, kF8E5M2),
    IMBREX_FORMAT(F8E4M3FNUZ, kF8E4M3FNUZ),
    IMBREX_FORMAT(F8E5M2FNUZ, kF8E5M2FNUZ),
    IMBREX_FORMAT(F4E2M1, kF4E2M1),
    IMBREX_FORMAT(E8M0, kE8M0),
});
#undef IMBREX_FORMAT

const FloatCodec &formatOf(ElementKind kind) {
  const auto *found = llvm::find_if(kFormats, [&](const FloatCodec &f) { return f.kind == kind; });
  IMBREX_CHECK(found != kFormats.end(), "{0} has no row of its own", info(kind).name);
  return *found;
}

// ---- Sources: any number as an f32 that rounds to a narrow float as the number itself does.

/// An f64 holds no more than 53 bits: of an integer beyond 2^53 the low ones become one that says
/// whether they were 0, far below all that counts.
ValueId withoutLowBits(ExpansionRecorder &recorder, ValueId integer) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53, kLow = 0x7ff;
  const ElementKind kind = recorder.kernel().type(integer).element();
  using Wide = Recorded<std::uint64_t>;
  const Wide x(recorder, recorder.builder().bitcast(integer, ElementKind::U64));
  const Wide sticky = select((x & Wide(kLow)) == Wide(0), Wide(0), Wide(kLow + 1));
  const auto isExact = isSigned(kind) ? x + Wide(kExact) <= Wide(2 * kExact) : x <= Wide(kExact);
  const Wide kept = select(isExact, x, (x & Wide(~kLow)) | sticky);
  return recorder.builder().bitcast(kept.in(recorder), kind);
}

Recorded<float> asSingle(ExpansionRecorder &recorder, ValueId number) {
  const ElementKind from = recorder.kernel().type(number).element();
  const bool fits = info(from).bits <= 16 || from == ElementKind::F32;
  if (fits) return {recorder, recorder.builder().cast(number, ElementKind::F32)};
  if (isInteger(from) && info(from).bits == 64) number = withoutLowBits(recorder, number);
  const ValueId wide = recorder.builder().cast(number, ElementKind::F64);
  return math::roundedToOdd(Recorded<double>(recorder, wide));
}

/// The bf16 of an f32 that has no more bits than a bf16 has, as all have that narrow floats are
/// decoded to: nothing is rounded. (But 2^-127 of e8m0 is subnormal.)
ValueId upperHalf(ExpansionRecorder &recorder, const Bits &single) {
  Builder build = recorder.builder();
  const ValueId half = build.cast((single >> Bits(16u)).in(recorder), ElementKind::U16);
  return build.bitcast(half, ElementKind::BF16);
}

llvm::SmallVector<ValueId, 4> conversion(ExpansionRecorder &recorder, const Op &op) {
  if (op.kind != OpKind::Cast) return {};
  const ElementKind from = recorder.kernel().type(op.operand(0)).element();
  const ElementKind to = recorder.kernel().type(op.result()).element();
  const bool hasNibbles = from == ElementKind::F4E2M1 || to == ElementKind::F4E2M1;
  if ((!isNarrowFloat(from) && !isNarrowFloat(to)) || from == to) return {};
  if (hasNibbles && !recorder.mayBranch()) return {};

  const Rounding rounding = op.attrs<CastAttrs>().rounding;
  if (to == ElementKind::BF16 && from != ElementKind::E8M0)
    return {upperHalf(recorder, formatOf(from).decode(codesOf(recorder, op.operand(0))))};
  const Recorded<float> number =
      isNarrowFloat(from) ? floatOf(formatOf(from).decode(codesOf(recorder, op.operand(0))))
                          : asSingle(recorder, op.operand(0));
  if (!isNarrowFloat(to))
    return {recorder.builder().cast(number.in(recorder), to,
                                    isFloat(to) ? rounding : Rounding::NearestEven)};
  const FloatCodec &format = formatOf(to);
  const bool isNearest = rounding == Rounding::NearestEven;
  const Bits bits = bitsOf(number);
  return {fromCodes(recorder, isNearest ? format.encode(bits) : format.truncate(bits), to)};
}

} // namespace
} // namespace imbrex::passes::expand

namespace imbrex::passes {

void expandConversions(ir::Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, expand::conversion).expandIn(kernel.body());
}

} // namespace imbrex::passes

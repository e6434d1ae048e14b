#include "runtime/layout.h"

#include "backend/launching/array_span.h"
#include "backend/support/check.h"

#include <span>

namespace imbrex::runtime {
namespace {

launching::ArraySpan spanOf(const detail::layout &layout) {
  const auto rank = static_cast<std::size_t>(layout.rank);
  return launching::spanOf(std::span(layout.extents).first(rank),
                           std::span(layout.strides).first(rank));
}

} // namespace

std::string toText(Subject subject) {
  if (subject.argument.empty()) return "the array";
  return "the argument '" + std::string(subject.argument) + "'";
}

std::int64_t elementsSpanned(const detail::layout &layout) { return spanOf(layout).elements; }

std::int64_t bytesSpanned(const detail::layout &layout, std::int64_t bitsOfOne) {
  return spanOf(layout).bytes(bitsOfOne);
}

std::optional<Diagnostic> checkLayout(const detail::layout &layout, Subject what, Location where) {
  const launching::ArraySpan span = spanOf(layout);
  switch (span.problem) {
  case launching::SpanProblem::None: return std::nullopt;
  case launching::SpanProblem::NegativeExtent:
    return diagnostic(Diag::NegativeExtent, where, what, span.axis, layout.extents[span.axis]);
  case launching::SpanProblem::NegativeStride:
    return diagnostic(Diag::NegativeStride, where, what, span.axis, layout.strides[span.axis]);
  case launching::SpanProblem::TooManyElements:
    return diagnostic(Diag::TooManyElements, where, what);
  }
  IMBREX_UNREACHABLE("a problem of an array");
}

std::optional<Diagnostic> checkReach(const detail::layout &layout, std::int64_t bitsOfOne,
                                     std::int64_t bytes, Subject what, Location where) {
  const std::int64_t wanted = bytesSpanned(layout, bitsOfOne);
  if (wanted <= bytes) return std::nullopt;
  return diagnostic(Diag::BeyondMemory, where, what, wanted, bytes);
}

} // namespace imbrex::runtime

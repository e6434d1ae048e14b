#include "backend/ir/op.h"

#include <algorithm>
#include <array>

namespace imbrex::ir {
namespace {

constexpr auto kOps = std::to_array<OpInfo>({
#define IMBREX_OP(Kind, mnemonic, fewest, most, results, regions, effect, domain, rule, attrs,     \
                  meaning)                                                                         \
  {#Kind,          mnemonic,       fewest,         most,   results, regions,                       \
   Effect::effect, Domain::domain, TypeRule::rule, #attrs, meaning},
#include "backend/ir/ops.def"
});

constexpr auto kOpKinds = std::to_array<OpKind>({
#define IMBREX_OP(Kind, ...) OpKind::Kind,
#include "backend/ir/ops.def"
});

} // namespace

const OpInfo &info(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }

std::optional<OpKind> opNamed(std::string_view mnemonic) {
  const auto found = std::ranges::find(kOps, mnemonic, &OpInfo::mnemonic);
  if (found == kOps.end()) return std::nullopt;
  return kOpKinds[static_cast<size_t>(found - kOps.begin())];
}

llvm::ArrayRef<OpKind> allOpKinds() { return kOpKinds; }

bool isElementwise(OpKind kind) {
  bool is = false;
#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(Kind, ...) is |= kind == OpKind::Kind;
#include "backend/ir/ops.def"
  return is;
}

Stage firstStage(OpKind kind) {
  switch (kind) {
#define IMBREX_OP(Kind, ...)                                                                       \
  case OpKind::Kind: return Stage::Traced;
#define IMBREX_LAID(Kind, ...)                                                                     \
  case OpKind::Kind: return Stage::Laid;
#define IMBREX_SCHEDULED(Kind, ...)                                                                \
  case OpKind::Kind: return Stage::Scheduled;
#include "backend/ir/ops.def"
  }
  return Stage::Traced;
}

Attributes defaultAttributes(OpKind kind) {
  switch (kind) {
#define IMBREX_OP(Kind, mnemonic, fewest, most, results, regions, effect, domain, rule, attrs,     \
                  meaning)                                                                         \
  case OpKind::Kind: return attrs##Attrs{};
#include "backend/ir/ops.def"
  }
  return NoneAttrs{};
}

} // namespace imbrex::ir

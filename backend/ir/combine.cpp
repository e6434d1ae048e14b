#include "backend/ir/combine.h"

#include "backend/support/check.h"

namespace imbrex::ir {

OpKind opOf(Combine combine) {
  switch (combine) {
  case Combine::Sum: return OpKind::Add;
  case Combine::Prod: return OpKind::Mul;
  case Combine::Min:
  case Combine::ArgMin: return OpKind::Min;
  case Combine::Max:
  case Combine::ArgMax: return OpKind::Max;
  case Combine::MinNan: return OpKind::MinNan;
  case Combine::MaxNan: return OpKind::MaxNan;
  case Combine::And: return OpKind::And;
  case Combine::Or: return OpKind::Or;
  case Combine::Xor: return OpKind::Xor;
  case Combine::Region: break;
  }
  IMBREX_UNREACHABLE("a region is not one op");
}

bool isArg(Combine combine) { return combine == Combine::ArgMin || combine == Combine::ArgMax; }

} // namespace imbrex::ir

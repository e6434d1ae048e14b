#include "tests/support/random_generator.h"

#include <limits>
#include <utility>

namespace imbrex::testing {

using namespace ir;

namespace {

constexpr std::int32_t kDeepest = 3;   // bodies within bodies
constexpr std::int64_t kMostTrips = 4; // of each loop, so that three deep are still quick

} // namespace

void Generator::inside(Block &block, const std::function<void()> &write) {
  Block *const outer = std::exchange(block_, &block);
  const std::size_t values = pool_.size(), variables = variables_.size();
  ++depth_;
  write();
  --depth_;
  pool_.resize(values);
  variables_.resize(variables);
  block_ = outer;
}

void Generator::fillBody() {
  for (std::int64_t i = number(1, 2 + options_.size / 8); i > 0; --i) emitRandom();
  if (const auto value = find([](const Type &type) { return type.isTile(); }); value && chance(30))
    emitStore(*value);
}

std::vector<Type> Generator::carriedTypes() {
  std::vector<Type> types;
  if (options_.stage == Stage::Traced) return types;
  for (std::int64_t i = number(0, 3); i > 0; --i) types.push_back(type(tile(Domain::Any)));
  return types;
}

/// The end of a body: `first`, then a value of each type.
void Generator::yield(llvm::ArrayRef<Type> types, llvm::ArrayRef<ValueId> first) {
  std::vector<ValueId> values(first.begin(), first.end());
  for (const Type &type : types.drop_front(first.size())) values.push_back(of(type));
  emit(OpKind::Yield, values, {});
}

void Generator::breakWith(ValueId condition) {
  std::vector<ValueId> operands{condition};
  for (const Type &type : std::vector(loops_.back())) operands.push_back(of(type));
  emit(OpKind::BreakIf, operands, {});
}

void Generator::emitFor() {
  if (depth_ >= kDeepest) return;
  const ElementKind kind = element(Domain::Integer);
  const Type index = Type::tile(kind);
  std::int64_t step = number(0, 20) == 0 ? 0 : number(1, 3);
  const std::int64_t trips = number(0, kMostTrips);
  std::int64_t low = number(0, 5);
  std::vector<ValueId> operands;
  if (step == 1 && chance(50)) { // as often as the data says
    const ValueId more = builder().cast(indexBelow(kMostTrips, {}), kind);
    const ValueId start = integer(kind, low);
    operands = {start, value(OpKind::Add, {start, more}, index), integer(kind, 1)};
  } else if (chance(15)) { // to the highest or the lowest index, which another step would leave
    const std::int64_t highest = std::numeric_limits<std::int64_t>::max() >> (64 - info(kind).bits);
    const bool isDown = isSigned(kind) && chance(50);
    const std::int64_t end = isDown ? -highest - 1 : highest;
    low = isDown ? end + trips : end - trips;
    operands = {integer(kind, low), integer(kind, end), integer(kind, isDown ? -step : step)};
  } else {
    std::int64_t high = low + trips * step - (trips > 0 && step > 1 ? number(0, 1) : 0);
    if (isSigned(kind) && chance(40)) step = -step, high = low + trips * step;
    operands = {integer(kind, low), integer(kind, high), integer(kind, step)};
  }
  const std::vector<Type> types = carriedTypes();
  for (const Type &type : types) operands.push_back(of(type));
  const ForAttrs attrs{.pipelined = static_cast<std::int32_t>(chance(70) ? 0 : number(-1, 4)),
                       .unroll = chance(70) ? 1 : 2};
  Op &loop = emit(OpKind::For, operands, types, attrs);
  Block &body = loop.regions.emplace_back();
  body.arguments.push_back(kernel_.newValue(index));
  for (const Type &type : types) body.arguments.push_back(kernel_.newValue(type));
  loops_.push_back(types);
  inside(body, [&] {
    for (const ValueId argument : body.arguments) keep(argument);
    fillBody();
    yield(types);
  });
  loops_.pop_back();
  for (const ValueId result : loop.results) keep(result);
}

/// A counter that nothing else touches ends the loop.
void Generator::emitWhile() {
  if (depth_ >= kDeepest) return;
  const Type count = Type::tile(ElementKind::I32), boolean = Type::tile(ElementKind::Bool);
  const bool isTraced = options_.stage == Stage::Traced;
  std::vector<Type> types = carriedTypes();
  if (!isTraced) types.insert(types.begin(), count);
  std::vector<ValueId> operands;
  for (const Type &type : types)
    operands.push_back(operands.empty() ? integer(ElementKind::I32, 0) : of(type));
  const ValueId variable =
      isTraced ? value(OpKind::VarNew, integer(ElementKind::I32, 0), Type::variable(count))
               : ValueId();
  Op &loop = emit(OpKind::While, operands, types);
  Block &body = loop.regions.emplace_back();
  for (const Type &type : types) body.arguments.push_back(kernel_.newValue(type));
  loops_.push_back(types);
  inside(body, [&] {
    for (const ValueId argument : body.arguments) keep(argument);
    const ValueId before = isTraced ? value(OpKind::VarRead, variable, count) : body.arguments[0];
    if (chance(50)) fillBody();
    const ValueId after = value(OpKind::Add, {before, integer(ElementKind::I32, 1)}, count);
    if (isTraced) emit(OpKind::VarWrite, {variable, after}, {});
    const ValueId limit = integer(ElementKind::I32, number(1, kMostTrips));
    breakWith(value(OpKind::Ge, {after, limit}, boolean));
    if (chance(50)) fillBody();
    yield(types, isTraced ? llvm::ArrayRef<ValueId>() : llvm::ArrayRef<ValueId>(after));
  });
  loops_.pop_back();
  for (const ValueId result : loop.results) keep(result);
}

void Generator::emitIf() {
  if (depth_ >= kDeepest) return;
  const ValueId choice = condition();
  const std::vector<Type> types = carriedTypes();
  Op &op = emit(OpKind::If, choice, types);
  op.regions.resize(2);
  for (Block &body : op.regions)
    inside(body, [&] {
      if (&body == &op.regions[0] || !types.empty() || chance(60)) fillBody();
      yield(types);
    });
  for (const ValueId result : op.results) keep(result);
}

void Generator::emitBreakIf() {
  if (!loops_.empty()) breakWith(condition());
}

/// Seldom: what follows would else seldom run.
void Generator::emitExitIf() {
  if (!chance(depth_ == 0 ? 15 : 40)) return;
  const Type whole = Type::tile(ElementKind::I32), boolean = Type::tile(ElementKind::Bool);
  const ValueId stop = integer(ElementKind::I32, number(0, 4));
  const ValueId asked = chance(50) ? blockNumber() : of(whole);
  emit(OpKind::ExitIf, value(OpKind::Eq, {asked, stop}, boolean), {});
}

void Generator::emitVarNew() {
  const ValueId first = tile(Domain::Any);
  variables_.push_back(value(OpKind::VarNew, first, Type::variable(type(first))));
}

void Generator::emitVarRead() {
  if (variables_.empty()) return emitVarNew();
  const ValueId variable = oneOf(variables_);
  keep(value(OpKind::VarRead, variable, type(variable).held()));
}

void Generator::emitVarWrite() {
  if (variables_.empty()) return emitVarNew();
  const ValueId variable = oneOf(variables_);
  emit(OpKind::VarWrite, {variable, of(type(variable).held())}, {});
}

void Generator::emitPrint() {
  std::vector<ValueId> operands;
  while (operands.size() < 2 && chance(50)) operands.push_back(tile(Domain::Any));
  emit(OpKind::Print, operands, {}, TextAttrs{one<std::string>({"", "x = ", "\"a\\b\"\n\t"})});
}

/// Of what always holds.
void Generator::emitAssert() {
  const ValueId from = tile(Domain::Integer);
  const Type boolean = type(from).withElement(ElementKind::Bool);
  emit(OpKind::Assert, value(OpKind::Eq, {from, from}, boolean), {}, TextAttrs{"equal to itself"});
}

/// Of what every launch keeps: an extent is not below zero, whatever is added to both.
void Generator::emitRequire() {
  if (depth_ != 0) return;
  const Type type = Type::tile(ElementKind::I64);
  const ValueId view = inputView(element(Domain::Any), 1);
  const ValueId extent = emit(OpKind::ViewExtent, view, type, AxisAttrs{0}).result();
  const ValueId zero = emit(OpKind::Constant, {}, type, ConstantAttrs{0}).result();
  const ValueId sum = value(OpKind::Add, {extent, zero}, type);
  emit(OpKind::Require, value(OpKind::Ge, {sum, zero}, Type::tile(ElementKind::Bool)), {},
       TextAttrs{"no extent is negative"});
}

void Generator::emitInlineAsm() {
  const ValueId from = tile(Domain::Number);
  const AsmAttrs attrs{.text = "mov $0, $1", .constraints = "=r,r", .target = "none"};
  keep(emit(OpKind::InlineAsm, from, type(from), attrs).result());
}

} // namespace imbrex::testing

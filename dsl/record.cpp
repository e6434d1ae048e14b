// The recorder's border (imbrex/detail/recorder.hpp): names become kinds, and every handle is
// checked before it becomes a value.

#include "backend/ir/requirement.h"
#include "backend/support/check.h"
#include "dsl/attributes.h"
#include "dsl/recorder.h"

#include <mutex>

namespace imbrex::dsl {

ir::Type typeOf(const detail::type &described) {
  const auto element = ir::elementNamed(described.element);
  IMBREX_CHECK(element.has_value(), "there is no element type '{0}'", described.element);
  const ir::Shape shape(llvm::ArrayRef<std::int64_t>(
      described.extents.data(),
      static_cast<std::size_t>(described.form == detail::type_form::view ? 0 : described.rank)));
  switch (described.form) {
  case detail::type_form::tile: return ir::Type::tile(*element, shape);
  case detail::type_form::pointer_tile:
    return ir::Type::pointerTile(*element, shape, described.is_const);
  case detail::type_form::table: return ir::Type::table(*element, described.is_const);
  case detail::type_form::view: return ir::Type::view(*element, described.rank, described.is_const);
  }
  IMBREX_UNREACHABLE("form of a type");
}

} // namespace imbrex::dsl

namespace imbrex::detail {
namespace {

using dsl::currentRecorder;
using dsl::Recorder;
using dsl::throwDiagnostic;
using dsl::typeOf;

ir::OpKind kindOf(std::string_view mnemonic) {
  const auto kind = ir::opNamed(mnemonic);
  IMBREX_CHECK(kind.has_value(), "there is no op '{0}'", mnemonic);
  return *kind;
}

llvm::SmallVector<ir::Type, 4> typesOf(list<type> described) {
  llvm::SmallVector<ir::Type, 4> types;
  for (const type &one : described) types.push_back(typeOf(one));
  return types;
}

llvm::SmallVector<ir::ValueId, 8> use(Recorder &recorder, list<value> handles, Location where) {
  llvm::SmallVector<ir::ValueId, 8> values;
  for (const value handle : handles) values.push_back(recorder.use(handle, where));
  return values;
}

/// Lines of values that were made outside of any kernel: their handle is an index into this.
class Orphans {
public:
  value add(Location where) {
    const std::scoped_lock lock(mutex_);
    if (lines_.size() == kMost) return {kMost - 1, 0};
    lines_.push_back(where);
    return {static_cast<std::uint32_t>(lines_.size() - 1), 0};
  }
  Location line(value orphan) {
    const std::scoped_lock lock(mutex_);
    return orphan.index < lines_.size() ? lines_[orphan.index] : Location{};
  }

private:
  static constexpr std::uint32_t kMost = 1 << 12; // beyond, a message names the last one's line
  std::mutex mutex_;
  std::vector<Location> lines_;
};

Orphans &orphans() {
  // Never destroyed: tiles of namespace scope may outlive every other static.
  static auto &all = *new Orphans;
  return all;
}

/// Without a trace on this thread a value can still be made, so that a tile at namespace scope is
/// told of in the kernel that uses it and does not end the program before main.
value recordOutside(list<value> operands, location where) {
  for (const value operand : operands)
    if (operand.generation != 0) throwDiagnostic(Diag::TileAfterKernel, locate(where));
  return orphans().add(locate(where));
}

void checkMadeInside(list<value> operands, location where) {
  for (const value operand : operands)
    if (operand.generation == 0)
      throwDiagnostic(Diag::TileOutsideKernel, locate(where), toText(orphans().line(operand)));
}

Recorder &recorderFor(std::string_view op, location where) {
  Recorder *recorder = currentRecorder();
  if (!recorder) throwDiagnostic(Diag::OutsideKernel, locate(where), op);
  return *recorder;
}

void checkRequirement(Recorder &recorder, value condition, Location where) {
  constexpr std::string_view kName = "require";
  if (recorder.insideBody()) throwDiagnostic(Diag::RequirementInBody, where, kName);
  const ir::ValueId tested = recorder.use(condition, where);
  if (const ir::Op *unknown = ir::unknownToLaunch(recorder.kernel(), tested))
    throwDiagnostic(Diag::RequirementOfRun, where, kName, ir::info(unknown->kind).mnemonic,
                    toText(unknown->where));
}

ir::Op &recordOp(Recorder &recorder, std::string_view op, list<value> operands, list<type> types,
                 list<attribute> attributes, location where) {
  checkMadeInside(operands, where);
  const ir::OpKind kind = kindOf(op);
  if (kind == ir::OpKind::Require) checkRequirement(recorder, operands[0], locate(where));
  const bool leavesLoop = kind == ir::OpKind::BreakIf;
  if (leavesLoop && !recorder.insideLoop()) throwDiagnostic(Diag::BreakOutsideLoop, locate(where));
  return recorder.record(kind, use(recorder, operands, locate(where)), typesOf(types),
                         dsl::attributesFor(kind, attributes), locate(where));
}

} // namespace

value record(std::string_view op, list<value> operands, const type &result,
             list<attribute> attributes, location where) {
  value made;
  record_many(op, operands, {&result, 1}, attributes, where, &made);
  return made;
}

void record_effect(std::string_view op, list<value> operands, list<attribute> attributes,
                   location where) {
  recordOp(recorderFor(op, where), op, operands, {}, attributes, where);
}

void record_many(std::string_view op, list<value> operands, list<type> types,
                 list<attribute> attributes, location where, value *results) {
  Recorder *recorder = currentRecorder();
  if (!recorder) {
    for (std::size_t i = 0; i < types.size(); ++i) results[i] = recordOutside(operands, where);
    return;
  }
  const ir::Op &made = recordOp(*recorder, op, operands, types, attributes, where);
  for (std::size_t i = 0; i < types.size(); ++i) results[i] = recorder->handle(made.result(i));
}

value record_constant(const type &result, std::uint64_t bits, location where) {
  Recorder *recorder = currentRecorder();
  if (!recorder) return recordOutside({}, where);
  const ir::Op &made = recorder->record(ir::OpKind::Constant, {}, typeOf(result),
                                        ir::ConstantAttrs{bits}, locate(where));
  return recorder->handle(made.result());
}

void discard_if_unused(value read) {
  Recorder *recorder = currentRecorder();
  if (recorder && read.generation == recorder->generation())
    recorder->discardIfUnused(ir::ValueId(read.index));
}

void place_at_first_use(value read) {
  Recorder *recorder = currentRecorder();
  if (recorder && read.generation == recorder->generation())
    recorder->placeAtFirstUse(ir::ValueId(read.index));
}

value used_at(value read, location where) {
  Recorder *recorder = currentRecorder();
  if (recorder && read.generation == recorder->generation())
    recorder->placeIfUnplaced(ir::ValueId(read.index), locate(where));
  return read;
}

// --- bodies ---

void begin_body(std::string_view op, list<value> operands, list<attribute> attributes,
                location where) {
  Recorder &recorder = recorderFor(op, where);
  recorder.beginBody(recordOp(recorder, op, operands, {}, attributes, where));
}

value body_argument(const type &argument) {
  Recorder &recorder = recorderFor("body", location::current());
  return recorder.handle(recorder.bodyArgument(typeOf(argument)));
}

void end_body(list<value> yielded, location where) {
  Recorder &recorder = recorderFor("body", where);
  recorder.endBody(use(recorder, yielded, locate(where)), locate(where));
}

void end_combine(list<value> yielded, list<type> types, location where, value *results) {
  Recorder &recorder = recorderFor("body", where);
  checkMadeInside(yielded, where);
  const ir::Op &op =
      recorder.endCombine(use(recorder, yielded, locate(where)), typesOf(types), locate(where));
  for (std::size_t i = 0; i < types.size(); ++i) results[i] = recorder.handle(op.result(i));
}

void begin_else(location where) { recorderFor("IMBREX_ELSE", where).beginElse(); }

void place_body(location where) { recorderFor("IMBREX_ELSE", where).placeBody(locate(where)); }

int checked_slots(std::int64_t slots, location where) {
  if (slots < 1 || slots > ir::ForAttrs::kMostSlots)
    throwDiagnostic(Diag::PipelinedSlots, locate(where), slots,
                    std::int64_t{ir::ForAttrs::kMostSlots});
  return static_cast<int>(slots);
}

void abandon_body(std::string_view construct, bool by_exception, location where) noexcept {
  Recorder *recorder = currentRecorder();
  if (!recorder) return;
  const Diag kind = by_exception ? Diag::BodyThrown : Diag::BodyLeft;
  const Location place = recorder->placeOfBody();
  recorder->noteMistake(diagnostic(kind, place.known() ? place : locate(where), construct));
  recorder->endBody({}, locate(where));
}

// --- variables ---

value variable_new(value first, const type &held, location where) {
  Recorder *recorder = currentRecorder();
  if (!recorder) return recordOutside({&first, 1}, where);
  checkMadeInside({&first, 1}, where);
  const ir::ValueId initial = recorder->use(first, locate(where));
  return recorder->handle(recorder->newVariable(initial, typeOf(held), locate(where)));
}

value variable_read(value variable, const type &held) {
  Recorder *recorder = currentRecorder();
  // The line is not known here. A variable of elsewhere stands for its value, and what uses that
  // is refused with its line.
  if (!recorder || variable.generation != recorder->generation()) return variable;
  if (!recorder->isVisible(variable)) return variable;
  return recorder->handle(recorder->readVariable(recorder->use(variable, {}), typeOf(held)));
}

void variable_write(value variable, value next, location where) {
  Recorder &recorder = recorderFor("assignment to a var", where);
  const value operands[] = {variable, next};
  checkMadeInside({operands, 2}, where);
  recorder.writeVariable(recorder.use(variable, locate(where)), recorder.use(next, locate(where)),
                         locate(where));
}

// --- the state of the trace ---

bool contracts() {
  const Recorder *recorder = currentRecorder();
  return recorder && recorder->contracts();
}

effect_site::effect_site(location line) : where(line) {
  Recorder *recorder = currentRecorder();
  if (!recorder) return;
  if (recorder->openEffects() != 0) throwDiagnostic(Diag::TwoEffects, locate(where));
  ++recorder->openEffects();
}

effect_site::~effect_site() {
  if (Recorder *recorder = currentRecorder()) --recorder->openEffects();
}

} // namespace imbrex::detail

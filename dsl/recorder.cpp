#include "dsl/recorder.h"

#include "backend/ir/builder.h"
#include "backend/support/check.h"
#include "dsl/canonical_order.h"

#include <algorithm>
#include <atomic>

namespace imbrex::dsl {
namespace {

constinit thread_local Recorder *current = nullptr;

std::uint32_t nextGeneration() {
  static constinit std::atomic<std::uint32_t> last = 0;
  std::uint32_t next = ++last;
  while (next == 0) next = ++last; // 0 is no trace
  return next;
}

/// Whether something in a loop's body ends the loop or the block; what leaves a loop inside does
/// not.
bool canEnd(const ir::Block &block) {
  return std::ranges::any_of(block.ops, [](const auto &op) {
    if (op->kind == ir::OpKind::BreakIf || op->kind == ir::OpKind::ExitIf) return true;
    return op->kind == ir::OpKind::If && std::ranges::any_of(op->regions, canEnd);
  });
}

void addEmptyElse(ir::Op &op) {
  auto yield = std::make_unique<ir::Op>();
  yield->kind = ir::OpKind::Yield;
  yield->attributes = ir::NoneAttrs{};
  yield->where = op.where;
  op.regions.emplace_back().ops.push_back(std::move(yield));
}

} // namespace

Recorder *currentRecorder() { return current; }
void setCurrentRecorder(Recorder *recorder) { current = recorder; }

Recorder::Recorder(std::string name, const ir::KernelAttrs &attributes)
    : kernel_(std::move(name)), generation_(nextGeneration()) {
  kernel_.setAttributes(attributes);
  bodies_.emplace_back(nextBody_++, nullptr, &kernel_.body());
}

ir::ValueId Recorder::addParameter(std::string name, const ir::Type &type) {
  const ir::ValueId value = kernel_.addParameter(std::move(name), type);
  adopt(value);
  return value;
}

void Recorder::adopt(ir::ValueId value) {
  bodyOf_.resize(kernel_.valueCount());
  bodyOf_[value.index()] = body().id;
}

bool Recorder::isVisible(detail::value handle) const {
  const std::uint32_t home = bodyOf_[handle.index];
  return std::ranges::any_of(bodies_, [home](const Body &open) { return open.id == home; });
}

ir::ValueId Recorder::use(detail::value handle, Location where) {
  if (handle.generation != generation_) throwDiagnostic(Diag::TileOfOtherKernel, where);
  if (!isVisible(handle)) throwDiagnostic(Diag::TileOutsideBody, where);
  const ir::ValueId value(handle.index);
  // A variable is read by an operator, which knows no line; the first use of what was read does.
  ir::Op *definition = kernel_.definition(value);
  if (definition && !definition->where.known()) definition->where = where;
  return value;
}

void Recorder::placeIfUnplaced(ir::ValueId read, Location where) {
  if (unplaced_.erase(read.index())) kernel_.definition(read)->where = where;
}

ir::Op &Recorder::record(ir::OpKind kind, llvm::ArrayRef<ir::ValueId> operands,
                         llvm::ArrayRef<ir::Type> results, ir::Attributes attributes,
                         Location where) {
  auto op = ir::makeOp(kernel_, kind, operands, results, std::move(attributes), where);
  for (const ir::ValueId result : op->results) adopt(result);
  body().block->ops.push_back(std::move(op));
  return *body().block->ops.back();
}

// --- bodies ---

void Recorder::beginBody(ir::Op &op) { open(op); }

void Recorder::open(ir::Op &op) {
  op.regions.emplace_back();
  bodies_.emplace_back(nextBody_++, &op, &op.regions.back());
}

void Recorder::close() {
  const Body left = std::move(bodies_.back());
  bodies_.pop_back();
  for (const std::uint32_t variable : left.written) {
    body().known.erase(variable);
    body().written.insert(variable);
  }
  body().stretch = body().block->ops.size();
  body().stretchReads.clear();
}

ir::ValueId Recorder::bodyArgument(const ir::Type &type) {
  const ir::ValueId argument = kernel_.newValue(type);
  body().block->arguments.push_back(argument);
  adopt(argument);
  return argument;
}

void Recorder::endBody(llvm::ArrayRef<ir::ValueId> yielded, Location where) {
  record(ir::OpKind::Yield, yielded, {}, ir::NoneAttrs{}, where);
  close();
}

ir::Op &Recorder::endCombine(llvm::ArrayRef<ir::ValueId> yielded, llvm::ArrayRef<ir::Type> types,
                             Location where) {
  ir::Op &op = *body().op;
  endBody(yielded, where);
  checkCombine(op.regions.back());
  kernel_.addResults(op, types);
  for (const ir::ValueId result : op.results) adopt(result);
  return op;
}

void Recorder::checkCombine(const ir::Block &block) const {
  ir::walk(block, [](const ir::Op &op) {
    const ir::Effect effect = ir::info(op.kind).effect;
    if (effect != ir::Effect::Pure && effect != ir::Effect::End)
      throwDiagnostic(Diag::ImpureCombine, op.where, ir::info(op.kind).mnemonic);
  });
}

void Recorder::beginElse() { open(*body().block->ops.back()); }

bool Recorder::insideLoop() const {
  return std::ranges::any_of(bodies_, [](const Body &open) {
    return open.op && (open.op->kind == ir::OpKind::For || open.op->kind == ir::OpKind::While);
  });
}

// --- variables ---

ir::ValueId Recorder::newVariable(ir::ValueId first, const ir::Type &held, Location where) {
  const ir::ValueId variable =
      record(ir::OpKind::VarNew, first, ir::Type::variable(held), ir::NoneAttrs{}, where).result();
  body().known[variable.index()] = first;
  return variable;
}

ir::ValueId Recorder::readVariable(ir::ValueId variable, const ir::Type &held) {
  if (const auto known = body().known.find(variable.index()); known != body().known.end())
    return known->second;
  auto op = ir::makeOp(kernel_, ir::OpKind::VarRead, variable, held, ir::NoneAttrs{}, {});
  const ir::ValueId value = op->result();
  adopt(value);

  auto &reads = body().stretchReads;
  const auto place = std::ranges::lower_bound(reads, variable.index());
  const auto offset = static_cast<std::ptrdiff_t>(body().stretch) + (place - reads.begin());
  reads.insert(place, variable.index());
  auto &ops = body().block->ops;
  ops.insert(ops.begin() + offset, std::move(op));
  body().known[variable.index()] = value;
  return value;
}

void Recorder::writeVariable(ir::ValueId variable, ir::ValueId next, Location where) {
  record(ir::OpKind::VarWrite, {variable, next}, {}, ir::NoneAttrs{}, where);
  body().known[variable.index()] = next;
  body().written.insert(variable.index());
}

// --- the end ---

void Recorder::noteMistake(Diagnostic mistake) {
  if (!mistake_) mistake_ = std::move(mistake);
}

ir::Kernel Recorder::finish() {
  IMBREX_CHECK(bodies_.size() == 1, "a body is still open at the end of the trace");
  ir::walk(kernel_.body(), [](ir::Op &op) {
    if (op.kind == ir::OpKind::If && op.regions.size() == 1) addEmptyElse(op);
    if (op.kind == ir::OpKind::While && !canEnd(op.regions.front()))
      throwDiagnostic(Diag::EndlessLoop, op.where);
  });
  orderCanonically(kernel_, discardable_);
  // A functor has no line of its own: the kernel's is that of its first op that has one.
  ir::walk(kernel_.body(), [&](const ir::Op &op) {
    if (!kernel_.where().known()) kernel_.setWhere(op.where);
  });
  return std::move(kernel_);
}

} // namespace imbrex::dsl

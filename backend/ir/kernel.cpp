#include "backend/ir/kernel.h"

#include "backend/support/check.h"

#include <algorithm>
#include <limits>

namespace imbrex::ir {
namespace {

// Values keep their numbers in a clone, so operands can be copied as they are.
Block cloneBlock(const Block &block, Kernel &into) {
  Block copy;
  copy.arguments = block.arguments;
  for (const auto &op : block.ops) {
    auto opCopy = std::make_unique<Op>();
    opCopy->kind = op->kind;
    opCopy->operands = op->operands;
    opCopy->results = op->results;
    opCopy->attributes = op->attributes;
    opCopy->where = op->where;
    for (const Block &region : op->regions) opCopy->regions.push_back(cloneBlock(region, into));
    for (const ValueId result : opCopy->results) into.setDefinition(result, opCopy.get());
    copy.ops.push_back(std::move(opCopy));
  }
  return copy;
}

} // namespace

Kernel Kernel::clone() const {
  Kernel copy(name_);
  copy.where_ = where_;
  copy.stage_ = stage_;
  copy.attributes_ = attributes_;
  copy.parameterNames_ = parameterNames_;
  copy.values_ = values_;
  copy.threads_ = threads_;
  copy.layouts_ = layouts_;
  copy.body_ = cloneBlock(body_, copy);
  return copy;
}

ValueId Kernel::addParameter(std::string name, const Type &type) {
  const ValueId value = newValue(type);
  body_.arguments.push_back(value);
  parameterNames_.push_back(std::move(name));
  return value;
}

size_t Kernel::parameterNumber(ValueId value) const {
  return static_cast<size_t>(std::ranges::find(body_.arguments, value) - body_.arguments.begin());
}

ValueId Kernel::newValue(const Type &type) {
  values_.push_back({type});
  return ValueId(static_cast<std::uint32_t>(values_.size() - 1));
}

LayoutId Kernel::addLayout(const layout::LinearLayout &layout) {
  const auto found = std::ranges::find(layouts_, layout);
  const auto index = static_cast<std::uint32_t>(found - layouts_.begin());
  if (found == layouts_.end()) layouts_.push_back(layout);
  return LayoutId(index);
}

void Kernel::addResults(Op &op, llvm::ArrayRef<Type> types) {
  for (const Type &type : types) {
    op.results.push_back(newValue(type));
    setDefinition(op.results.back(), &op);
  }
}

void walk(Block &block, const std::function<void(Op &)> &visit) {
  for (const auto &op : block.ops) {
    visit(*op);
    for (Block &region : op->regions) walk(region, visit);
  }
}

void walk(const Block &block, const std::function<void(const Op &)> &visit) {
  for (const auto &op : block.ops) {
    visit(*op);
    for (const Block &region : op->regions) walk(region, visit);
  }
}

const Op *firstOp(const Block &block, llvm::function_ref<bool(const Op &)> wanted) {
  for (const auto &op : block.ops) {
    if (wanted(*op)) return op.get();
    for (const Block &region : op->regions)
      if (const Op *found = firstOp(region, wanted)) return found;
  }
  return nullptr;
}

const Op *rolesOf(const Kernel &kernel) {
  const auto &ops = kernel.body().ops;
  return !ops.empty() && ops.back()->kind == OpKind::Roles ? ops.back().get() : nullptr;
}

layout::Threads threadsInAll(const Kernel &kernel) {
  layout::Threads threads = kernel.threads();
  if (const Op *roles = rolesOf(kernel)) threads.warps += roles->attrs<RolesAttrs>().warps;
  return threads;
}

ValueId rootValue(const Kernel &kernel, ValueId value) {
  while (const Op *op = kernel.definition(value)) {
    const bool passesOn = op->operands.size() == 1 || op->kind == OpKind::PointerAdd ||
                          op->kind == OpKind::TablePointer;
    if (!passesOn || !op->regions.empty()) break;
    value = op->operand(0);
  }
  return value;
}

std::optional<size_t> rootParameter(const Kernel &kernel, ValueId value) {
  const ValueId root = rootValue(kernel, value);
  if (kernel.definition(root) != nullptr) return std::nullopt;
  const size_t number = kernel.parameterNumber(root); // or it is carried by a loop
  return number < kernel.parameterCount() ? std::optional(number) : std::nullopt;
}

std::vector<std::int32_t> countUses(const Kernel &kernel) {
  std::vector<std::int32_t> uses(kernel.valueCount(), 0);
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId operand : op.operands) ++uses[operand.index()];
  });
  return uses;
}

std::optional<std::uint64_t> constantBits(const Kernel &kernel, ValueId value) {
  const Op *op = kernel.definition(value);
  if (op && op->kind == OpKind::Broadcast) return constantBits(kernel, op->operand(0));
  if (!op || op->kind != OpKind::Constant) return std::nullopt;
  return op->attrs<ConstantAttrs>().bits;
}

std::optional<std::int64_t> constantInteger(const Kernel &kernel, ValueId value) {
  const auto bits = constantBits(kernel, value);
  const Type &type = kernel.type(value);
  if (!bits || !type.isTile() || !isInteger(type.element())) return std::nullopt;
  const std::int32_t unused = 64 - info(type.element()).bits;
  if (!isSigned(type.element())) {
    if (*bits > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    return static_cast<std::int64_t>(*bits);
  }
  return static_cast<std::int64_t>(*bits << unused) >> unused;
}

} // namespace imbrex::ir

#include "backend/package/archive/launch_program.h"

#include "backend/ir/builder.h"
#include "backend/ir/requirement.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::archive {
namespace {

/// Copies from one kernel to another what values need that a launch can compute.
class KnownCopier {
public:
  KnownCopier(const ir::Kernel &from, ir::Kernel &to) : from_(from), builder_(to, to.body()) {
    for (std::size_t i = 0; i < from.parameterCount(); ++i) {
      const ir::ValueId parameter = from.body().arguments[i];
      copies_[parameter.index()] = to.addParameter(from.parameterName(i), from.type(parameter));
    }
  }

  ir::Builder &builder() { return builder_; }

  ir::ValueId copyOf(ir::ValueId value) {
    if (const auto copied = copies_.find(value.index()); copied != copies_.end())
      return copied->second;
    const ir::Op &op = *from_.definition(value);
    llvm::SmallVector<ir::ValueId, 4> operands;
    for (const ir::ValueId operand : op.operands) operands.push_back(copyOf(operand));
    builder_.setLocation(op.where);
    return copies_[value.index()] =
               builder_.create(op.kind, operands, from_.type(value), op.attributes).result();
  }

private:
  const ir::Kernel &from_;
  ir::Builder builder_;
  llvm::DenseMap<std::uint32_t, ir::ValueId> copies_;
};

/// Where the words of each parameter begin.
std::vector<std::int32_t> firstWords(const ir::Kernel &kernel) {
  std::vector<std::int32_t> first;
  std::int32_t next = 0;
  for (const ir::ValueId parameter : kernel.body().arguments) {
    first.push_back(next);
    const ir::Type &type = kernel.type(parameter);
    next += 1 + (type.isView() ? 2 * type.rank() : type.isTable() ? 1 : 0);
  }
  return first;
}

std::vector<GivenWord> givenOf(const ir::Kernel &kernel, ir::ValueId condition) {
  const std::vector<std::int32_t> first = firstWords(kernel);
  std::vector<GivenWord> given;
  for (const ir::ValueId value : ir::givenFor(kernel, condition)) {
    const ir::Op *op = kernel.definition(value);
    const std::size_t parameter = kernel.parameterNumber(op ? op->operand(0) : value);
    std::int32_t word = first[parameter];
    if (op) {
      const bool isStride = op->kind == ir::OpKind::ViewStride;
      const std::int32_t rank = kernel.type(op->operand(0)).rank();
      word += 1 + (isStride ? rank : 0) + op->attrs<ir::AxisAttrs>().axis;
    }
    std::string name = ir::writtenOut(kernel, value);
    const bool isNew =
        llvm::none_of(given, [&](const GivenWord &other) { return other.name == name; });
    if (isNew) given.push_back({std::move(name), word, kernel.type(value).element()});
  }
  return given;
}

} // namespace

std::vector<RequiredPart> requiredBy(const ir::Kernel &kernel) {
  std::vector<RequiredPart> parts;
  for (const ir::Op *op : ir::requirementsOf(kernel))
    for (const ir::ValueId condition : ir::conjunctsOf(kernel, op->operand(0)))
      parts.push_back({.condition = condition,
                       .written = ir::writtenOut(kernel, condition),
                       .text = op->attrs<ir::TextAttrs>().text,
                       .given = givenOf(kernel, condition)});
  return parts;
}

std::vector<GivenWord> givenBy(const ir::Kernel &kernel) {
  std::vector<GivenWord> given;
  const std::vector<std::int32_t> first = firstWords(kernel);
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i) {
    const ir::Type &type = kernel.parameterType(i);
    const std::string &name = kernel.parameterName(i);
    if (!type.hasMemory()) given.push_back({name, first[i], type.element()});
    if (type.isTable()) given.push_back({name + ".size()", first[i] + 1, ir::ElementKind::I64});
    if (!type.isView()) continue;
    std::int32_t word = first[i];
    for (const char *what : {".extent(", ".stride("})
      for (std::int32_t axis = 0; axis < type.rank(); ++axis)
        given.push_back({name + what + std::to_string(axis) + ")", ++word, ir::ElementKind::I64});
  }
  return given;
}

ir::Kernel checkKernel(const ir::Kernel &kernel, const std::vector<RequiredPart> &required) {
  ir::Kernel made("check");
  made.setWhere(kernel.where());
  KnownCopier copier(kernel, made);
  const ir::ValueId unmet =
      made.addParameter("unmet", ir::Type::view(ir::ElementKind::I64, 1, /*isConst=*/false));
  ir::Builder &builder = copier.builder();
  const ir::Type i64 = ir::Type::tile(ir::ElementKind::I64);
  ir::ValueId number = builder.integer(i64, -1);
  for (std::size_t i = required.size(); i-- > 0;)
    number = builder.elementwise(ir::OpKind::Select,
                                 {copier.copyOf(required[i].condition), number,
                                  builder.integer(i64, static_cast<std::int64_t>(i))});
  const ir::ValueId first = builder.integer(ir::Type::tile(ir::ElementKind::I32), 0);
  builder.create(ir::OpKind::ViewStore, {unmet, builder.broadcast(number, {1}), first}, {});
  return made;
}

} // namespace imbrex::archive

#include "backend/passes/pipeline/copy_ops.h"

namespace imbrex::passes::pipeline {

using namespace ir;

namespace {

void copyBody(Kernel &kernel, const Block &from, Block &into, Renamed &names) {
  for (const ValueId argument : from.arguments) {
    into.arguments.push_back(kernel.newValue(kernel.type(argument)));
    kernel.setLayout(into.arguments.back(), kernel.layoutOf(argument));
    names[argument] = into.arguments.back();
  }
  Builder to(kernel, into);
  copyOps(to, from, names);
}

std::vector<Type> typesOf(const Kernel &kernel, llvm::ArrayRef<ValueId> values) {
  std::vector<Type> types;
  for (const ValueId value : values) types.push_back(kernel.type(value));
  return types;
}

} // namespace

ValueId renamed(ValueId value, const Renamed &names) {
  const auto found = names.find(value);
  return found == names.end() ? value : found->second;
}

llvm::SmallVector<ValueId, 8> renamed(llvm::ArrayRef<ValueId> values, const Renamed &names) {
  llvm::SmallVector<ValueId, 8> others;
  for (const ValueId value : values) others.push_back(renamed(value, names));
  return others;
}

Op &copyOp(Builder &to, const Op &op, Renamed &names) {
  Kernel &kernel = to.kernel();
  to.setLocation(op.where);
  Op &copy =
      to.create(op.kind, renamed(op.operands, names), typesOf(kernel, op.results), op.attributes);
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    kernel.setLayout(copy.result(i), kernel.layoutOf(op.result(i)));
    names[op.result(i)] = copy.result(i);
  }
  copy.regions.resize(op.regions.size());
  for (std::size_t i = 0; i < op.regions.size(); ++i)
    copyBody(kernel, op.regions[i], copy.regions[i], names);
  return copy;
}

void copyOps(Builder &to, const Block &from, Renamed &names) {
  for (const auto &op : from.ops) copyOp(to, *op, names);
}

std::vector<ValueId> addCarried(Kernel &kernel, Op &loop, llvm::ArrayRef<ValueId> like) {
  const std::size_t results = loop.results.size();
  kernel.addResults(loop, typesOf(kernel, like));
  std::vector<ValueId> arguments;
  for (std::size_t i = 0; i < like.size(); ++i) {
    arguments.push_back(kernel.newValue(kernel.type(like[i])));
    kernel.setLayout(arguments[i], kernel.layoutOf(like[i]));
    kernel.setLayout(loop.result(results + i), kernel.layoutOf(like[i]));
  }
  auto &all = loop.regions[0].arguments;
  all.insert(all.end(), arguments.begin(), arguments.end());
  return arguments;
}

} // namespace imbrex::passes::pipeline

#pragma once

#include "backend/ir/op.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace imbrex::ir {

using LayoutId = Id<struct LayoutTag>;

/// A kernel in Block IR: the program of one block of the grid. Values are numbered; the numbers
/// mean nothing but identity, and the text form renumbers them in order of definition.
class Kernel {
public:
  explicit Kernel(std::string name = "kernel") : name_(std::move(name)) {}
  Kernel(Kernel &&) noexcept = default;
  Kernel &operator=(Kernel &&) noexcept = default;
  Kernel clone() const;

  const std::string &name() const { return name_; }
  void setName(std::string name) { name_ = std::move(name); }
  /// The place that names the kernel as a whole: where its author defined it.
  Location where() const { return where_; }
  void setWhere(Location where) { where_ = where; }
  Stage stage() const { return stage_; }
  void setStage(Stage stage) { stage_ = stage; }
  bool hasLayouts() const { return stage_ >= Stage::Laid; }
  const KernelAttrs &attributes() const { return attributes_; }
  void setAttributes(const KernelAttrs &attributes) { attributes_ = attributes; }

  Block &body() { return body_; }
  const Block &body() const { return body_; }

  /// The launch's arguments are the body's arguments, in order.
  ValueId addParameter(std::string name, const Type &type);
  const std::string &parameterName(size_t i) const { return parameterNames_[i]; }
  size_t parameterCount() const { return parameterNames_.size(); }
  const Type &parameterType(size_t i) const { return type(body_.arguments[i]); }
  /// The number of a parameter; of any other value, the count of all.
  size_t parameterNumber(ValueId value) const;

  ValueId newValue(const Type &type);
  /// Give `op` new results of these types.
  void addResults(Op &op, llvm::ArrayRef<Type> types);
  const Type &type(ValueId value) const { return values_[value.index()].type; }
  /// The op that defines a value; null for an argument of a body.
  Op *definition(ValueId value) const { return values_[value.index()].definition; }
  void setDefinition(ValueId value, Op *op) { values_[value.index()].definition = op; }
  size_t valueCount() const { return values_.size(); }

  // --- from stage Laid on ---

  /// The threads of a block.
  layout::Threads threads() const { return threads_; }
  void setThreads(layout::Threads threads) { threads_ = threads; }
  /// Equal layouts get equal ids.
  LayoutId addLayout(const layout::LinearLayout &layout);
  const layout::LinearLayout &layout(LayoutId id) const { return layouts_[id.index()]; }
  llvm::ArrayRef<layout::LinearLayout> layouts() const { return layouts_; }
  /// How the block's threads hold a tile of rank 1 or more; none for scalars, views, and before
  /// that stage.
  LayoutId layoutOf(ValueId value) const { return values_[value.index()].layout; }
  void setLayout(ValueId value, LayoutId layout) { values_[value.index()].layout = layout; }

private:
  struct Value {
    Type type;
    Op *definition = nullptr;
    LayoutId layout = {};
  };

  std::string name_;
  Location where_;
  Stage stage_ = Stage::Traced;
  KernelAttrs attributes_;
  Block body_;
  std::vector<std::string> parameterNames_;
  std::deque<Value> values_; // a type stays where it is while values are added
  layout::Threads threads_;
  std::vector<layout::LinearLayout> layouts_;
};

/// Every op of a block and of the regions inside, outer before inner, in order.
void walk(Block &block, const std::function<void(Op &)> &visit);
void walk(const Block &block, const std::function<void(const Op &)> &visit);
/// The first of them that is wanted; null where none is.
const Op *firstOp(const Block &block, llvm::function_ref<bool(const Op &)> wanted);

/// The op that takes a kernel apart into roles, its last one; null where all threads do the same.
const Op *rolesOf(const Kernel &kernel);

/// The threads of a block from stage Laid on: the kernel's own, and those of a role beside these.
layout::Threads threadsInAll(const Kernel &kernel);

/// What a pointer or a view was made from, as far as all of it comes from one: a parameter, what a
/// body was given, or what an op has made of several.
ValueId rootValue(const Kernel &kernel, ValueId value);

/// The number of the parameter that a pointer or a view comes from, if all of it comes from one.
std::optional<size_t> rootParameter(const Kernel &kernel, ValueId value);

/// How often each value is an operand, by value number.
std::vector<std::int32_t> countUses(const Kernel &kernel);

/// The value of a scalar or splat constant, if `value` is one.
std::optional<std::uint64_t> constantBits(const Kernel &kernel, ValueId value);
/// The same for an integer constant, sign- or zero-extended by its type; none for a u64 that i64
/// cannot hold.
std::optional<std::int64_t> constantInteger(const Kernel &kernel, ValueId value);

} // namespace imbrex::ir

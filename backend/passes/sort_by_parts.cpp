#include "backend/passes/sort_by_parts.h"

#include "backend/analysis/effects.h"
#include "backend/ir/builder.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

namespace imbrex::passes {
namespace {

using namespace ir;

// 4 of each of 1024 threads, of which a sort keeps a few numbers each: they have room in 64
// registers.
constexpr std::int64_t kElementsAtOnce = 4096;
// Parts begin at multiples of this, so that their loads are as wide as those of the whole.
constexpr std::int64_t kPartGranule = 32;

std::int64_t powerOf2(std::int64_t n) {
  return static_cast<std::int64_t>(llvm::PowerOf2Ceil(static_cast<std::uint64_t>(n)));
}

/// How a sort's axis is cut: the last part first, and then `count` others from the back.
struct AxisParts {
  std::int32_t axis;
  std::int64_t extent; ///< Of the whole.
  std::int64_t kept;   ///< The most that anybody asks for.
  std::int64_t part;
  std::int64_t count;

  std::int64_t lastBegins() const { return count * part; }
  std::int64_t lastExtent() const { return extent - lastBegins(); }
};

/// A tile's elements along an axis, from `first` on: an i64 scalar where it is known at the run
/// alone.
struct AxisSlice {
  std::int64_t begin; ///< Where `first` is invalid.
  ValueId first;
  std::int64_t extent;
};

bool isTile(const Type &type) { return type.isTileOrPointers() && type.rank() > 0; }

/// Whether an element of the result asks for those at its own place alone.
bool isByElement(const Kernel &kernel, const Op &op) {
  if (op.results.size() != 1) return false;
  if (op.kind == OpKind::Bitcast)
    return kernel.type(op.operand(0)).shape() == kernel.type(op.result()).shape();
  return isElementwise(op.kind) || op.kind == OpKind::Cast || op.kind == OpKind::PointerAdd ||
         op.kind == OpKind::Load;
}

/// Says which tiles can be reckoned for a part of an axis, and reckons them.
class Slicer {
public:
  Slicer(Kernel &kernel, const AxisParts &cut) : kernel_(kernel), cut_(cut) {}

  /// Whether the tile can; what it loads is added to `loads`.
  bool reaches(ValueId value, std::int32_t axis) {
    const Op *op = kernel_.definition(value);
    if (op == nullptr || !isTile(kernel_.type(value))) return false;
    if (isLoad(*op)) loads.insert(op);
    // Not a switch: of all the ops only these are for each element the same.
    if (op->kind == OpKind::Constant || op->kind == OpKind::Arange) return true;
    if (op->kind == OpKind::ViewLoad) return hasNarrowCoordinates(*op);
    if (op->kind == OpKind::Reshape) return addsAxes(*op, axis) && reaches(op->operand(0), 0);
    if (op->kind == OpKind::Broadcast)
      return !isAlong(op->operand(0), axis) || reaches(op->operand(0), axis);
    return isByElement(kernel_, *op) && llvm::all_of(op->operands, [&](ValueId operand) {
             return !isTile(kernel_.type(operand)) || reaches(operand, axis);
           });
  }

  /// The part of a tile that `reaches` holds of; the memo is of one range and one block.
  using Made = std::map<ValueId, ValueId>;
  ValueId write(Builder &build, ValueId value, std::int32_t axis, const AxisSlice &range,
                Made &made) {
    ValueId &known = made[value];
    if (known.valid()) return known;
    const Op &op = *kernel_.definition(value);
    const Type type =
        kernel_.type(value).withShape(kernel_.type(value).shape().withAxis(axis, range.extent));
    const auto ofOperand = [&](size_t i, std::int32_t along) {
      const ValueId operand = op.operand(i);
      return isTile(kernel_.type(operand)) ? write(build, operand, along, range, made) : operand;
    };
    build.setLocation(op.where);
    ValueId result;
    if (op.kind == OpKind::Arange) {
      result = writeArange(build, op, type, range);
    } else if (op.kind == OpKind::ViewLoad) {
      result = writeLoad(build, op, type, axis, range);
    } else if (op.kind == OpKind::Reshape) {
      const ValueId flat = ofOperand(0, 0);
      result = build.reshape(flat, type.shape());
    } else if (op.kind == OpKind::Broadcast) {
      const ValueId small = isAlong(op.operand(0), axis) ? ofOperand(0, axis) : op.operand(0);
      result = build.broadcast(small, type.shape());
    } else {
      llvm::SmallVector<ValueId, 4> operands;
      for (size_t i = 0; i < op.operands.size(); ++i) operands.push_back(ofOperand(i, axis));
      result = build.create(op.kind, operands, type, op.attributes).result();
    }
    return made[value] = result;
  }

  std::set<const Op *> loads;

private:
  bool isAlong(ValueId value, std::int32_t axis) const {
    const Type &type = kernel_.type(value);
    return isTile(type) && type.shape()[axis] == cut_.extent;
  }

  /// A row of numbers as a tile of more axes, which have one element each.
  bool addsAxes(const Op &op, std::int32_t axis) const {
    const Shape &from = kernel_.type(op.operand(0)).shape();
    return from.rank() == 1 && from.elements() == kernel_.type(op.result()).shape()[axis];
  }

  // An index of 64 bits could overflow where the whole tile's does not.
  bool hasNarrowCoordinates(const Op &op) const {
    const auto rank = static_cast<size_t>(kernel_.type(op.result()).rank());
    return llvm::all_of(llvm::ArrayRef(op.operands).slice(1, rank), [&](ValueId coordinate) {
      return info(kernel_.type(coordinate).element()).bits <= 32;
    });
  }

  static ValueId offset(Builder &build, ValueId value, const AxisSlice &range) {
    const Type i64 = Type::tile(ElementKind::I64);
    const ValueId first = range.first.valid() ? range.first : build.integer(i64, range.begin);
    return build.elementwise(OpKind::Add, {value, first});
  }

  ValueId writeArange(Builder &build, const Op &op, const Type &type, const AxisSlice &range) {
    const Type i64 = Type::tile(ElementKind::I64);
    const auto &attrs = op.attrs<ArangeAttrs>();
    const ValueId step = build.integer(i64, attrs.step);
    const ValueId first = offset(build, build.integer(i64, 0), range);
    const ValueId skipped = build.elementwise(OpKind::Mul, {first, step});
    const ValueId from = build.broadcast(build.cast(skipped, type.element()), type.shape());
    const ValueId steps = build.create(OpKind::Arange, {}, type, attrs).result();
    return build.elementwise(OpKind::Add, {steps, from});
  }

  ValueId writeLoad(Builder &build, const Op &op, const Type &type, std::int32_t axis,
                    const AxisSlice &range) {
    const Shape whole = kernel_.type(op.result()).shape();
    ViewAttrs attrs = op.attrs<ViewAttrs>();
    llvm::SmallVector<ValueId, 4> operands(op.operands);
    for (std::int32_t i = 0; i < whole.rank(); ++i) {
      ValueId &at = operands[static_cast<size_t>(i) + 1];
      at = build.cast(at, ElementKind::I64);
      if (attrs.unit == BoxUnit::Tiles)
        at = build.elementwise(OpKind::Mul,
                               {at, build.integer(Type::tile(ElementKind::I64), whole[i])});
      if (i == axis) at = offset(build, at, range);
    }
    attrs.unit = BoxUnit::Elements;
    return build.create(OpKind::ViewLoad, operands, type, attrs).result();
  }

  Kernel &kernel_;
  const AxisParts &cut_;
};

/// Writes one sort by parts behind what a block has got so far.
class PartSorter {
public:
  PartSorter(Kernel &kernel, const Op &sort, const AxisParts &cut)
      : kernel_(kernel), sort_(sort), cut_(cut), source_(kernel, cut) {
    for (const ValueId operand : sort.operands)
      isReckoned_.push_back(source_.reaches(operand, cut.axis));
  }

  /// What is loaded for the parts, if all of what is sorted can be reckoned; else nothing is.
  const std::set<const Op *> &loads() const { return source_.loads; }
  bool isReckoned() const {
    return llvm::all_of(isReckoned_, [](bool is) { return is; });
  }

  using Values = llvm::SmallVector<ValueId, 4>;
  Values writeLoop(Block &block) {
    Builder before(kernel_, block);
    before.setLocation(sort_.where);
    const Values last = firstOf(before, lastPart(before));
    const Type i32 = Type::tile(ElementKind::I32);
    llvm::SmallVector<ValueId, 8> operands{before.integer(i32, cut_.count - 1),
                                           before.integer(i32, -1), before.integer(i32, -1)};
    operands.append(last.begin(), last.end());
    llvm::SmallVector<Type, 4> types;
    for (const ValueId value : last) types.push_back(kernel_.type(value));
    auto loop = makeOp(kernel_, OpKind::For, operands, types, ForAttrs{}, sort_.where);
    Block &body = loop->regions.emplace_back();
    body.arguments = {kernel_.newValue(i32)};
    Values best;
    for (const Type &type : types)
      body.arguments.push_back(best.emplace_back(kernel_.newValue(type)));
    Builder inside(kernel_, body);
    inside.setLocation(sort_.where);
    const Type i64 = Type::tile(ElementKind::I64);
    const ValueId first =
        inside.elementwise(OpKind::Mul, {inside.cast(body.arguments[0], ElementKind::I64),
                                         inside.integer(i64, cut_.part)});
    const Values part = partFrom(inside, {.begin = 0, .first = first, .extent = cut_.part});
    const Values next = firstOf(inside, inFrontOf(inside, part, best));
    inside.create(OpKind::Yield, next, {});
    const Values results(loop->results.begin(), loop->results.end());
    before.append(std::move(loop));
    return results;
  }

  Values writeInLine(Block &block) {
    Builder build(kernel_, block);
    build.setLocation(sort_.where);
    Values best = firstOf(build, lastPart(build));
    for (std::int64_t part = cut_.count; part-- > 0;) {
      const Values front =
          partFrom(build, {.begin = part * cut_.part, .first = {}, .extent = cut_.part});
      best = firstOf(build, inFrontOf(build, front, best));
    }
    return best;
  }

private:
  Values lastPart(Builder &build) {
    return partFrom(build, {.begin = cut_.lastBegins(), .first = {}, .extent = cut_.lastExtent()});
  }

  Values partFrom(Builder &build, const AxisSlice &range) {
    Values parts;
    Slicer::Made made;
    for (const auto &[operand, isReckoned] : llvm::zip_equal(sort_.operands, isReckoned_))
      parts.push_back(isReckoned ? source_.write(build, operand, cut_.axis, range, made)
                                 : sliceOf(build, operand, range.begin, range.extent));
    build.setLocation(sort_.where);
    return parts;
  }

  Values inFrontOf(Builder &build, const Values &front, const Values &best) {
    Values all;
    for (const auto &[a, b] : llvm::zip_equal(front, best)) {
      const Type &type = kernel_.type(a);
      const Type both = type.withShape(type.shape().withAxis(cut_.axis, cut_.part + cut_.kept));
      all.push_back(build.create(OpKind::Concat, {a, b}, both, AxisAttrs{cut_.axis}).result());
    }
    return all;
  }

  /// Sorted, and of that the first.
  Values firstOf(Builder &build, const Values &values) {
    llvm::SmallVector<Type, 4> types;
    for (const ValueId value : values) types.push_back(kernel_.type(value));
    const Op &sorted = build.create(OpKind::Sort, values, types, sort_.attributes);
    Values first;
    for (const ValueId value : sorted.results) first.push_back(sliceOf(build, value, 0, cut_.kept));
    return first;
  }

  ValueId sliceOf(Builder &build, ValueId value, std::int64_t begin, std::int64_t extent) {
    const Type &type = kernel_.type(value);
    SliceAttrs attrs;
    attrs.offsets.assign(static_cast<size_t>(type.rank()), 0);
    attrs.strides.assign(static_cast<size_t>(type.rank()), 1);
    attrs.offsets[static_cast<size_t>(cut_.axis)] = begin;
    const Type part = type.withShape(type.shape().withAxis(cut_.axis, extent));
    return build.create(OpKind::Slice, value, part, std::move(attrs)).result();
  }

  Kernel &kernel_;
  const Op &sort_;
  const AxisParts &cut_;
  Slicer source_;
  llvm::SmallVector<bool, 4> isReckoned_;
};

/// How many of the first along an axis a slice takes, if it takes all of the other axes.
std::optional<std::int64_t> firstTaken(const Kernel &kernel, const Op &slice, std::int32_t axis) {
  const auto &attrs = slice.attrs<SliceAttrs>();
  const Shape &from = kernel.type(slice.operand(0)).shape();
  const Shape &to = kernel.type(slice.result()).shape();
  for (std::int32_t i = 0; i < from.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (attrs.offsets[at] != 0 || attrs.strides[at] != 1) return std::nullopt;
    if (i != axis && from[i] != to[i]) return std::nullopt;
  }
  return to[axis];
}

class Sorter {
public:
  Sorter(Kernel &kernel, const PassContext &context) : kernel_(kernel), context_(context) {
    walk(kernel.body(), [&](const Op &op) {
      for (const ValueId operand : op.operands)
        if (const Op *sort = kernel.definition(operand); sort && sort->kind == OpKind::Sort)
          users_[sort].push_back(&op);
    });
  }

  void rewrite(Block &block) {
    std::vector<std::unique_ptr<Op>> ops = std::move(block.ops);
    block.ops.clear();
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      for (Block &region : op->regions) rewrite(region);
      if (const auto cut = cutOf(*op)) {
        sort(block, *op, *cut);
      } else if (first_.contains(op.get())) { // a slice of what was sorted by parts
        const ValueId first = first_.at(op.get());
        replaced_.replace(op->result(), sliceTo(block, *op, first));
        forget(kernel_, *op);
        retired_.push_back(std::move(op));
        continue;
      }
      block.ops.push_back(std::move(op));
    }
  }

private:
  /// How a sort is cut that has too many elements, of which few are asked for.
  std::optional<AxisParts> cutOf(const Op &op) const {
    const auto users = op.kind == OpKind::Sort ? users_.find(&op) : users_.end();
    if (users == users_.end()) return std::nullopt;
    AxisParts cut{
        .axis = op.attrs<SortAttrs>().axis, .extent = 0, .kept = 0, .part = 0, .count = 0};
    for (const Op *user : users->second) {
      const auto taken =
          user->kind == OpKind::Slice ? firstTaken(kernel_, *user, cut.axis) : std::nullopt;
      if (!taken) return std::nullopt;
      cut.kept = std::max(cut.kept, *taken);
    }
    const Shape &shape = kernel_.type(op.operand(0)).shape();
    std::int64_t others = 1, words = 1;
    for (std::int32_t i = 0; i < shape.rank(); ++i)
      if (i != cut.axis) others *= powerOf2(shape[i]);
    for (const ValueId operand : op.operands)
      words = std::max<std::int64_t>(words, info(kernel_.type(operand).element()).bits / 32);
    cut.extent = shape[cut.axis];
    if (powerOf2(cut.extent) * others * words <= kElementsAtOnce) return std::nullopt;
    const std::int64_t atOnce =
        std::max(kElementsAtOnce / (others * words), 2 * powerOf2(cut.kept));
    cut.part = atOnce - static_cast<std::int64_t>(
                            llvm::alignTo(static_cast<std::uint64_t>(cut.kept), kPartGranule));
    if (cut.part <= 0) return std::nullopt;
    cut.count = (cut.extent - cut.kept) / cut.part;
    return cut.count > 0 ? std::optional(cut) : std::nullopt;
  }

  void sort(Block &block, const Op &op, const AxisParts &cut) {
    PartSorter sorter(kernel_, op, cut);
    const bool isLoop = sorter.isReckoned() && seesTheSame(block, sorter.loads());
    explain(op, cut, isLoop);
    const auto first = isLoop ? sorter.writeLoop(block) : sorter.writeInLine(block);
    for (const auto &[result, value] : llvm::zip_equal(op.results, first))
      for (const Op *slice : users_.at(&op))
        if (slice->operand(0) == result) first_[slice] = value;
  }

  /// Whether loads read now, at the end of a block, what they read where they stand.
  bool seesTheSame(const Block &block, std::set<const Op *> loads) const {
    for (size_t i = block.ops.size(); i-- > 0 && !loads.empty();) {
      loads.erase(block.ops[i].get());
      if (analysis::effectsOf(*block.ops[i]).writes) break;
    }
    return loads.empty();
  }

  ValueId sliceTo(Block &block, const Op &slice, ValueId first) {
    if (kernel_.type(first).shape() == kernel_.type(slice.result()).shape()) return first;
    Builder build(kernel_, block);
    build.setLocation(slice.where);
    const Type type = kernel_.type(slice.result());
    return build.create(OpKind::Slice, first, type, slice.attributes).result();
  }

  void explain(const Op &op, const AxisParts &cut, bool isLoop) const {
    if (context_.explanation == nullptr) return;
    const Shape &shape = kernel_.type(op.operand(0)).shape();
    *context_.explanation +=
        "of a sort of [" + toString(shape) + "]" +
        (op.where.known() ? ", " + toText(op.where) + "," : "") + " the first " +
        std::to_string(cut.kept) +
        " are asked for: " + (isLoop ? "a loop sorts " : "one after the other are sorted ") +
        std::to_string(cut.count) + " parts of " + std::to_string(cut.part) + " and one of " +
        std::to_string(cut.lastExtent()) + "\n";
  }

  Kernel &kernel_;
  const PassContext &context_;
  std::map<const Op *, std::vector<const Op *>> users_; // of sorts
  std::map<const Op *, ValueId> first_;                 // what a slice is, or is a slice of
  std::vector<std::unique_ptr<Op>> retired_;            // which `users_` and `first_` name
  Replacements replaced_;
};

} // namespace

void sortByParts(Kernel &kernel, const PassContext &context) {
  Sorter(kernel, context).rewrite(kernel.body());
}

} // namespace imbrex::passes

#include "backend/passes/loop_over_parts.h"

#include "backend/analysis/effects.h"
#include "backend/ir/builder.h"
#include "backend/passes/layouts/layout_plan.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace imbrex::passes {
namespace {

using namespace ir;

// 32 of each of 256 threads: enough loads fly at once, and several tiles of a part find room.
constexpr std::int64_t kRegistersOfPart = 8192;

/// Ops that stand behind each other in a block, on tiles of one shape and on scalars.
struct Chain {
  llvm::ArrayRef<std::unique_ptr<Op>> ops;
  Shape shape;
};

struct PartSplit {
  std::int32_t axis;
  std::int64_t count;
};

bool isBox(const Op &op) { return op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore; }

/// Where the coordinates of a box begin among the operands.
std::size_t firstCoordinate(const Op &op) { return op.kind == OpKind::ViewLoad ? 1 : 2; }

llvm::ArrayRef<ValueId> coordinates(const Op &op, const Shape &shape) {
  return llvm::ArrayRef(op.operands)
      .slice(firstCoordinate(op), static_cast<std::size_t>(shape.rank()));
}

/// The type of the tile that an op makes or stores.
const Type &tileOf(const Kernel &kernel, const Op &op) {
  return kernel.type(op.kind == OpKind::ViewStore ? op.operand(1) : op.result());
}

/// Whether each element of an op's tile asks for the same element of its operands alone, and for
/// scalars.
bool isByElement(const Kernel &kernel, const Op &op) {
  const bool isOfKind = isElementwise(op.kind) || isBox(op) || op.kind == OpKind::Constant ||
                        op.kind == OpKind::Cast || op.kind == OpKind::Bitcast ||
                        op.kind == OpKind::Broadcast;
  if (!isOfKind || (op.results.empty() && op.kind != OpKind::ViewStore)) return false;
  const Type &tile = tileOf(kernel, op);
  return tile.isTile() && tile.rank() > 0 && llvm::all_of(op.operands, [&](ValueId operand) {
           const Type &type = kernel.type(operand);
           return type.isView() ||
                  (type.isTile() && (type.rank() == 0 || type.shape() == tile.shape()));
         });
}

bool isPureScalar(const Kernel &kernel, const Op &op) {
  const auto hasNoElements = [&](ValueId value) {
    const Type &type = kernel.type(value);
    return type.hasExtents() || (type.isTile() && type.rank() == 0);
  };
  return analysis::isPure(op) && op.regions.empty() && llvm::all_of(op.results, hasNoElements) &&
         llvm::all_of(op.operands, hasNoElements);
}

/// The longest that begins with these ops, the first of which has a tile.
Chain chainAt(const Kernel &kernel, llvm::ArrayRef<std::unique_ptr<Op>> ops) {
  const Shape &shape = tileOf(kernel, *ops.front()).shape();
  std::size_t end = 1;
  for (std::size_t i = 1; i < ops.size(); ++i) {
    if (isPureScalar(kernel, *ops[i])) continue;
    if (!isByElement(kernel, *ops[i]) || tileOf(kernel, *ops[i]).shape() != shape) break;
    end = i + 1;
  }
  return {ops.take_front(end), shape};
}

/// Whether the parts of two accesses, one of them a store, do not meet but where they are the same.
bool areApart(const Kernel &kernel, const Chain &chain, const Op &a, const Op &b) {
  const auto ofA = rootParameter(kernel, a.operand(0)), ofB = rootParameter(kernel, b.operand(0));
  if (ofA && ofB && *ofA != *ofB) return true;
  return a.operand(0) == b.operand(0) && a.attrs<ViewAttrs>().unit == b.attrs<ViewAttrs>().unit &&
         coordinates(a, chain.shape) == coordinates(b, chain.shape);
}

bool haveOwnMemory(const Kernel &kernel, const Chain &chain) {
  for (const auto &store : chain.ops) {
    if (store->kind != OpKind::ViewStore) continue;
    for (const auto &other : chain.ops)
      if (isBox(*other) && !areApart(kernel, chain, *store, *other)) return false;
  }
  return true;
}

/// Whether the tiles are made here and nobody else asks for them, of which something is stored.
bool isClosed(const Kernel &kernel, const Chain &chain, llvm::ArrayRef<std::int32_t> uses) {
  std::map<ValueId, std::int32_t> left; // uses that have not been met
  bool stores = false;
  for (const auto &op : chain.ops) {
    stores |= op->kind == OpKind::ViewStore;
    for (const ValueId operand : op->operands)
      if (const Type &type = kernel.type(operand); type.isTile() && type.rank() > 0) {
        const auto found = left.find(operand);
        if (found == left.end()) return false;
        --found->second;
      }
    for (const ValueId result : op->results)
      if (kernel.type(result).rank() > 0) left[result] = uses[result.index()];
  }
  return stores && llvm::all_of(left, [](const auto &entry) { return entry.second == 0; });
}

bool haveNarrowCoordinates(const Kernel &kernel, const Chain &chain) {
  return llvm::all_of(chain.ops, [&](const auto &op) {
    return !isBox(*op) || llvm::all_of(coordinates(*op, chain.shape), [&](ValueId coordinate) {
      return info(kernel.type(coordinate).element()).bits <= 32;
    });
  });
}

/// Into how many parts the largest tile is cut, and along which axis; none where it need not be, or
/// no axis can be.
std::optional<PartSplit> partsOf(const Kernel &kernel, const Chain &chain) {
  std::int64_t registers = 0;
  for (const auto &op : chain.ops)
    if (isByElement(kernel, *op))
      registers = std::max(registers, layouts::registersFor(tileOf(kernel, *op)));
  if (registers <= layouts::kUncrowdedRegisters) return std::nullopt;
  const auto count = static_cast<std::int64_t>(llvm::PowerOf2Ceil(
      static_cast<std::uint64_t>(llvm::divideCeil(registers, kRegistersOfPart))));
  for (std::int32_t axis = 0; axis < chain.shape.rank(); ++axis)
    if (chain.shape[axis] % count == 0) return PartSplit{axis, count};
  return std::nullopt;
}

std::optional<PartSplit> planParts(const Kernel &kernel, const Chain &chain,
                                   const analysis::Assumptions &assumptions,
                                   llvm::ArrayRef<std::int32_t> uses) {
  const auto parts = partsOf(kernel, chain);
  const bool mayBe = parts && assumptions.areDisjoint && isClosed(kernel, chain, uses) &&
                     haveNarrowCoordinates(kernel, chain) && haveOwnMemory(kernel, chain);
  return mayBe ? parts : std::nullopt;
}

/// Writes the loop behind what a block has got so far.
class PartWriter {
public:
  PartWriter(Kernel &kernel, Block &block, const Chain &chain, const PartSplit &parts)
      : kernel_(kernel), before_(kernel, block), shape_(chain.shape), parts_(parts),
        ofPart_(shape_.withAxis(parts.axis, shape_[parts.axis] / parts.count)) {}

  /// `ops`: those of the chain.
  void write(llvm::MutableArrayRef<std::unique_ptr<Op>> ops) {
    const Location where = ops.front()->where;
    before_.setLocation(where);
    llvm::SmallVector<Op *, 16> ofTiles;
    for (auto &op : ops)
      if (isByElement(kernel_, *op))
        ofTiles.push_back(op.get());
      else
        before_.append(std::move(op));
    const Type i32 = Type::tile(ElementKind::I32);
    const ValueId first = before_.integer(i32, 0), end = before_.integer(i32, parts_.count),
                  step = before_.integer(i32, 1);
    auto loop = makeOp(kernel_, OpKind::For, {first, end, step}, {}, ForAttrs{}, where);
    Block &body = loop->regions.emplace_back();
    body.arguments = {kernel_.newValue(i32)};
    Builder inside(kernel_, body);
    part_ = inside.cast(body.arguments[0], ElementKind::I64);
    for (const Op *op : ofTiles) writeOp(inside, *op);
    inside.create(OpKind::Yield, {}, {});
    before_.append(std::move(loop));
    for (const Op *op : ofTiles) forget(kernel_, *op);
  }

private:
  void writeOp(Builder &inside, const Op &op) {
    inside.setLocation(op.where);
    llvm::SmallVector<ValueId, 4> operands;
    for (const ValueId operand : op.operands) operands.push_back(made_[operand]);
    if (isBox(op)) {
      ValueId &along = operands[firstCoordinate(op) + static_cast<std::size_t>(parts_.axis)];
      along = coordinate(inside, along, op.attrs<ViewAttrs>().unit);
    }
    llvm::SmallVector<Type, 1> types;
    for (const ValueId result : op.results)
      types.push_back(kernel_.type(result).withShape(ofPart_));
    const Op &made = inside.create(op.kind, operands, types, op.attributes);
    for (const auto &[old, by] : llvm::zip_equal(op.results, made.results)) made_.replace(old, by);
  }

  /// Of the part's box, by that of the whole.
  ValueId coordinate(Builder &inside, ValueId ofWhole, BoxUnit unit) {
    ValueId &place = coordinates_[{ofWhole, unit}];
    if (place.valid()) return place;
    const Type i64 = Type::tile(ElementKind::I64);
    const bool isInTiles = unit == BoxUnit::Tiles;
    ValueId first = before_.cast(ofWhole, ElementKind::I64), behind = part_;
    if (isInTiles)
      first = before_.elementwise(OpKind::Mul, {first, before_.integer(i64, parts_.count)});
    else
      behind = inside.elementwise(OpKind::Mul, {behind, inside.integer(i64, ofPart_[parts_.axis])});
    return place = inside.elementwise(OpKind::Add, {first, behind});
  }

  Kernel &kernel_;
  Builder before_;
  Shape shape_;
  PartSplit parts_;
  Shape ofPart_;
  ValueId part_;
  Replacements made_;
  std::map<std::pair<ValueId, BoxUnit>, ValueId> coordinates_;
};

std::string explained(const Chain &chain, const PartSplit &parts) {
  const Shape ofPart = chain.shape.withAxis(parts.axis, chain.shape[parts.axis] / parts.count);
  const Location where = chain.ops.front()->where;
  return "tiles [" + toString(chain.shape) + "]" +
         (where.known() ? ", from " + toText(where) + " on," : "") +
         " crowd the registers: a loop over " + std::to_string(parts.count) + " parts of [" +
         toString(ofPart) + "]\n";
}

} // namespace

void loopOverParts(ir::Kernel &kernel, const PassContext &context) {
  const std::vector<std::int32_t> uses = countUses(kernel);
  Block &block = kernel.body();
  std::vector<std::unique_ptr<Op>> ops = std::move(block.ops);
  block.ops.clear();
  for (std::size_t i = 0; i < ops.size();) {
    if (!isByElement(kernel, *ops[i])) {
      block.ops.push_back(std::move(ops[i++]));
      continue;
    }
    const Chain chain = chainAt(kernel, llvm::ArrayRef(ops).drop_front(i));
    const std::size_t length = chain.ops.size();
    const auto own = llvm::MutableArrayRef(ops).slice(i, length);
    if (const auto parts = planParts(kernel, chain, context.assumptions, uses)) {
      if (context.explanation) *context.explanation += explained(chain, *parts);
      PartWriter(kernel, block, chain, *parts).write(own);
    } else {
      for (auto &op : own) block.ops.push_back(std::move(op));
    }
    i += length;
  }
}

} // namespace imbrex::passes

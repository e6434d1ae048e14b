#include "backend/interpret/block_run.h"

namespace imbrex::interpret {
namespace {

const ir::Shape &resultShape(BlockRun &run, const ir::Op &op) {
  return run.type(op.result()).shape();
}

/// The result's element at an index is the operand's at `source(index)`.
template <class Source>
Flow rearrange(BlockRun &run, const ir::Op &op, const Source &source) {
  return run.set(op.result(), rearranged(run.operand(op, 0), resultShape(run, op), source));
}

} // namespace

// Axes line up at the last one; an axis that the operand lacks, or has once, repeats.
Flow runBroadcast(BlockRun &run, const ir::Op &op) {
  const ir::Shape from = run.operand(op, 0).shape;
  return rearrange(run, op, [&](Index index) {
    index.erase(index.begin(), index.end() - from.rank());
    for (std::int32_t axis = 0; axis < from.rank(); ++axis)
      if (from[axis] == 1) index[static_cast<size_t>(axis)] = 0;
    return index;
  });
}

Flow runReshape(BlockRun &run, const ir::Op &op) {
  Value result = run.operand(op, 0);
  result.shape = resultShape(run, op);
  return run.set(op.result(), std::move(result));
}

Flow runPermute(BlockRun &run, const ir::Op &op) {
  const auto &order = op.attrs<ir::PermuteAttrs>().order;
  return rearrange(run, op, [&](const Index &index) {
    Index source(index.size());
    for (size_t i = 0; i < index.size(); ++i) source[static_cast<size_t>(order[i])] = index[i];
    return source;
  });
}

Flow runJoin(BlockRun &run, const ir::Op &op) {
  const Value &first = run.operand(op, 0), &second = run.operand(op, 1);
  Value result{resultShape(run, op), {}, {}};
  for (std::int64_t i = 0; i < first.shape.elements(); ++i) {
    for (const Value *part : {&first, &second}) {
      result.bits.push_back(part->at(i));
      if (!part->origins.empty()) result.origins.push_back(part->origin(i));
    }
  }
  return run.set(op.result(), std::move(result));
}

Flow runSplit(BlockRun &run, const ir::Op &op) {
  for (std::int64_t half = 0; half < 2; ++half) {
    const ir::ValueId target = op.result(static_cast<size_t>(half));
    run.set(target, rearranged(run.operand(op, 0), run.type(target).shape(), [&](Index index) {
              index.push_back(half);
              return index;
            }));
  }
  return Flow::Next;
}

Flow runConcat(BlockRun &run, const ir::Op &op) {
  const auto axis = static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis);
  const Value &first = run.operand(op, 0), &second = run.operand(op, 1);
  Value result{resultShape(run, op), {}, {}};
  for (std::int64_t i = 0; i < result.shape.elements(); ++i) {
    Index index = indexAt(result.shape, i);
    const std::int64_t border = first.shape[static_cast<std::int32_t>(axis)];
    const Value &part = index[axis] < border ? first : second;
    if (index[axis] >= border) index[axis] -= border;
    const std::int64_t position = positionOf(part.shape, index);
    result.bits.push_back(part.at(position));
    if (!part.origins.empty()) result.origins.push_back(part.origin(position));
  }
  return run.set(op.result(), std::move(result));
}

Flow runSlice(BlockRun &run, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::SliceAttrs>();
  return rearrange(run, op, [&](Index index) {
    for (size_t axis = 0; axis < index.size(); ++axis)
      index[axis] = attrs.offsets[axis] + index[axis] * attrs.strides[axis];
    return index;
  });
}

Flow runFlip(BlockRun &run, const ir::Op &op) {
  const std::int32_t axis = op.attrs<ir::AxisAttrs>().axis;
  const std::int64_t last = resultShape(run, op)[axis] - 1;
  return rearrange(run, op, [&](Index index) {
    index[static_cast<size_t>(axis)] = last - index[static_cast<size_t>(axis)];
    return index;
  });
}

Flow runConvertLayout(BlockRun &run, const ir::Op &op) { return run.passOn(op); }

} // namespace imbrex::interpret

#pragma once

#include "backend/interpret/value.h"

namespace imbrex::interpret {

/// A tile as lines along an axis, and where each element of a line lies in the tile: what happens
/// along an axis is then written for one line.
class Lines {
public:
  Lines(const ir::Shape &shape, std::int32_t axis)
      : shape_(shape), outer_(shape.withoutAxis(axis)), axis_(axis) {}

  std::int64_t count() const { return outer_.elements(); }
  std::int64_t length() const { return shape_[axis_]; }
  std::int64_t position(std::int64_t line, std::int64_t along) const {
    Index index = indexAt(outer_, line);
    index.insert(index.begin() + axis_, along);
    return positionOf(shape_, index);
  }

private:
  ir::Shape shape_;
  ir::Shape outer_;
  std::int32_t axis_;
};

} // namespace imbrex::interpret

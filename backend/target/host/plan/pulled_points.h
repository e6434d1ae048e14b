#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

/// At how many points a nest pulls a tile's elements, for one point of its own.
///
///   %f = flip %t       t at p and at its mirror image
///   %u = add %t, %f    u at p
///
/// Elementwise ops pass a point on as it is, so that what they share is computed once; ops that
/// move elements make another of it, and a chain of those with two users each doubles the points,
/// and the code, with each step. Points are numbers here. Two numbers may be one point, as when
/// elements are moved there and back: then it counts twice.
namespace imbrex::host {

using NestNumber = std::uint32_t;

class PulledPoints {
public:
  explicit PulledPoints(const ir::Kernel &kernel) : kernel_(&kernel) {}

  /// A nest with so many points of its own needs the value at each.
  void pullInto(NestNumber nest, std::int64_t size, ir::ValueId value);
  /// The op is computed wherever its result is pulled.
  void pullOperands(const ir::Op &op, ir::ValueId result);
  /// The value is kept by a nest: it is computed there, at the nest's own point, and where that
  /// nest pulls it besides, as its buffer is not complete before the nest is over.
  void keepIn(NestNumber nest, ir::ValueId value);

  /// In the nest where that is most: for one point of its own, and for all of them together.
  std::int64_t mostPoints(ir::ValueId value) const;
  std::int64_t mostPulled(ir::ValueId value) const;

private:
  using Point = std::uint32_t;
  /// How a point came about: the op that moved elements, or of a broadcast which axes it drops; an
  /// operand or result of it; the point that it was. Without a point before: a nest's own.
  using Origin = std::tuple<const ir::Op *, std::uint64_t, Point>;

  std::map<NestNumber, std::int64_t> pointsByNest(ir::ValueId value) const;
  Point pointOf(NestNumber nest);
  Point intern(const Origin &origin, NestNumber nest);
  Point moved(const ir::Op &op, std::uint64_t which, Point from);
  void pullOperandsAt(Point point, const ir::Op &op, ir::ValueId result);

  const ir::Kernel *kernel_;
  std::map<Origin, Point> interned_;
  std::vector<NestNumber> nestOf_; // by point
  std::map<NestNumber, std::int64_t> sizes_;
  std::map<ir::ValueId, std::set<Point>> points_;
};

} // namespace imbrex::host

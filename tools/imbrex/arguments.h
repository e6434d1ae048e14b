#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/result.h"
#include "tools/imbrex/npy.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex::tool {

/// `name=value` of a command line.
struct Assignment {
  std::string name;
  std::string value;
};
Result<Assignment> parseAssignment(std::string_view option, std::string_view text);

/// Memory that a kernel works on, aligned as a buffer's is.
class AlignedMemory {
public:
  /// None where there is not so much.
  static std::optional<AlignedMemory> allocate(std::int64_t bytes);
  std::byte *data() const { return data_.get(); }

private:
  struct FreeMemory {
    void operator()(std::byte *memory) const;
  };
  std::unique_ptr<std::byte, FreeMemory> data_;
};

/// One argument of a kernel, with the memory behind it and what a file made of it says.
struct BoundArgument {
  ir::Argument argument;
  AlignedMemory memory;
  std::vector<std::uint8_t> unwritten; // the flags of an array that nobody has set
  NpyElement element;
  bool fortranOrder = false;
  std::vector<std::int64_t> shape; // as in the file: of an f4e2m1 the last axis counts bytes
  // Of a table: what its pointers lead to.
  std::vector<BoundArgument> pointees;
  ir::PointerTable table;
};

/// Make an argument of a parameter's type of the text that stands for it:
///
///   3.5   -7   true         a scalar
///   @file.npy               an array, or a scalar in an array of one element
///   zeros:f32:128x64        an array of zeros; so also ones, empty (not set), arange (0, 1, 2, …)
///                           and random (normally distributed; integers up to 100)
///   zeros:128x64            the same: the element is the parameter's
///   @a.npy,@b.npy,ones:64   a table of pointers: an array for each
Result<BoundArgument> bindArgument(const ir::Type &type, const Assignment &assignment);

/// The array as it is now.
NpyArray arrayOf(const BoundArgument &bound);

} // namespace imbrex::tool

#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/op.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace imbrex::lower {

/// What is passed for one parameter of the LLVM kernel, in order.
enum class WordKind : std::uint8_t {
  Scalar,       // the parameter's value, in its own type; a bool as i8
  Pointer,      // to its elements, in global memory
  Table,        // to its addresses, in global memory, behind which stands a null one
  Extent,       // i64: of a view's axis; of a table: its size
  Stride,       // i64: of a view's axis
  Observations, // the record of prints and failed asserts (observations.h)
  BoxMap,       // what the machine's engine must know of a view to load boxes of it
};

/// An attribute of the function of a kernel whose warps meet at different places in its code.
inline constexpr llvm::StringLiteral kMeetsAnywhere = "imbrex-meets-anywhere";

struct Word {
  WordKind kind;
  std::int32_t parameter = 0; ///< Of the kernel.
  std::int32_t axis = 0;      ///< Of the view; of a BoxMap: its number among the interface's.
  std::int32_t bytes = 8;     ///< That it takes in the argument list.
};

/// The boxes that a kernel loads of a view. Each engine has a form of its own for it, made for each
/// launch, by the device; all forms are of one size.
struct BoxMap {
  static constexpr std::int32_t kBytes = 128, kAlignment = 64;

  std::int32_t parameter = 0;             ///< Of the kernel.
  llvm::SmallVector<std::int64_t, 5> box; ///< Extents, by the view's axes.
  std::int32_t elementBytes = 1;
  std::int32_t span = 0; ///< Of the swizzle, in bytes (layout/box_layout.h); 0: none.

  friend bool operator==(const BoxMap &, const BoxMap &) = default;
};

/// Where an argument has the bits of a word, 64 of them, that the arguments decide: of all but
/// Observations and BoxMap.
const void *sourceOf(const Word &word, const ir::Argument &argument);
std::uint64_t wordOf(const Word &word, llvm::ArrayRef<ir::Argument> arguments);

/// Where the words lie in the argument list, and where it ends: each at the next multiple of its
/// size, a map of its alignment, as every vendor's rules have it.
std::vector<std::int64_t> placesOf(llvm::ArrayRef<Word> words);

/// What print and assert name: an op's place and the types of its operands.
struct ObservationSite {
  const ir::Op *op;
  std::vector<ir::Type> types;
};

/// How a compiled kernel is launched.
struct KernelInterface {
  std::string name;                         ///< The symbol.
  std::vector<std::string> parameters = {}; ///< The kernel's, by name.
  std::vector<Word> words;
  std::vector<BoxMap> maps = {};
  std::int32_t threads = 0;           ///< Of a block.
  std::int32_t sharedMemoryBytes = 0; ///< Of a block.
  std::int32_t bytesAtLaunch = 0;     ///< Of these: that the launch must ask for; all, or none.
  std::vector<ObservationSite> sites = {};
  Location where = {};        ///< Of the kernel.
  ir::KernelAttrs asked = {}; ///< What its author asks of the code.
};

} // namespace imbrex::lower

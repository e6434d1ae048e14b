#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace imbrex::target::nvptx {

/// What a register holds, as far as one can tell: a number, or a place in one of the arrays of
/// shared memory, at an index that is known or not.
///
///   mov.b64  %rd74, barriers;            an element of `barriers`: the first
///   add.s64  %rd75, %rd74, %rd73;        the same, and what %rd73 says behind it
///   mov.b32  %r96, 1536;                 1536
struct PtxValue {
  std::string array = {};                 ///< Empty: no place.
  std::optional<std::int64_t> bytes = {}; ///< The number; behind the array's beginning.
  bool isIndexed = false;                 ///< And a distance that the code computes behind that.

  friend bool operator==(const PtxValue &, const PtxValue &) = default;
};

/// What registers hold, line by line. Values go through moves, additions of constants, and changes
/// of the address space; what other instructions make, nobody knows.
class PtxValues {
public:
  /// Reads all of a kernel's lines, for what a register is given in any of them.
  explicit PtxValues(llvm::StringRef ptx);

  /// The next line; at a label, what the lines before it gave registers is forgotten.
  void line(llvm::StringRef line);

  /// `%r96`, `barriers+8`, `%rd103+49152`, `24`
  PtxValue valueOf(llvm::StringRef operand) const;

private:
  /// An instruction that sets a register.
  struct Setting {
    llvm::StringRef to = {}, opcode = {}; ///< No register: a label.
    llvm::SmallVector<llvm::StringRef, 4> from = {};
  };
  static std::optional<Setting> settingIn(llvm::StringRef line);
  PtxValue valueOf(const Setting &setting) const;
  void put(llvm::StringRef to, PtxValue value);
  bool join(llvm::StringRef to, const PtxValue &value);

  llvm::StringMap<PtxValue> anywhere_; ///< By register: what all lines that set it have in common.
  llvm::StringMap<PtxValue> here_;     ///< Since the last label.
};

} // namespace imbrex::target::nvptx

#pragma once

#include "backend/ir/argument.h"
#include "llvm/ADT/ArrayRef.h"
#include "tests/run/machines/guest_process.h"

#include <vector>

namespace imbrex::testing {

/// A launch's memory where a guest has it too. What two arguments share they share there, and
/// addresses are as well aligned.
class CopiedArguments {
public:
  CopiedArguments(llvm::ArrayRef<ir::Argument> arguments, GuestProcess &guest);

  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }
  /// To where it was. Aborts where anything beside it was written.
  void copyBack() const;

private:
  /// Memory that one argument names, or several that overlap.
  struct Range {
    std::byte *begin, *end;
    std::byte *copy = nullptr;
  };
  std::byte *copyOf(const ir::Argument &argument) const;

  std::vector<Range> ranges_;
  std::vector<const std::byte *> tables_; // which hold addresses of copies, and are not copied back
  std::vector<ir::Argument> arguments_;
};

} // namespace imbrex::testing

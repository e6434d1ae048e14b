#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace imbrex::testing {

/// What llvm-mc and llvm-objdump do for one of AMD's machines, by the libraries that they are made
/// of.
class GcnAssembler {
public:
  explicit GcnAssembler(const machine::Machine &machine);
  ~GcnAssembler();

  /// An object file of a text; else what is wrong with it.
  std::string assemble(llvm::StringRef text, llvm::SmallVectorImpl<char> &object) const;
  /// The instructions of some bytes, one a line; else the place of one that the machine has not.
  std::string disassemble(llvm::StringRef bytes, std::string &text) const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The bytes of a section of an ELF file; empty where it has none.
llvm::StringRef sectionOf(llvm::StringRef image, llvm::StringRef name);

} // namespace imbrex::testing

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace imbrex::testing {

/// What llvm-objdump does for one of AMD's machines, by the libraries that it is made of.
class GcnDisassembler {
public:
  explicit GcnDisassembler(const llvm::TargetMachine &machine);
  ~GcnDisassembler();

  /// The instructions of some bytes, one a line; else the place of one that the machine has not.
  std::string disassemble(llvm::StringRef bytes, std::string &text) const;

private:
  const llvm::TargetMachine &machine_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> instructions_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

/// The bytes of a section of an ELF file; empty where it has none.
llvm::StringRef sectionOf(llvm::StringRef image, llvm::StringRef name);

} // namespace imbrex::testing

#pragma once

#include "backend/lower/vocabulary.h"
#include "backend/support/result.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace imbrex::target {

/// A GPU that the compiler has code for: what turns the LLVM module of a kernel into code.
class GpuTarget {
public:
  virtual ~GpuTarget() = default;
  virtual const lower::Vocabulary &vocabulary() const = 0;
  const machine::Machine &machine() const { return vocabulary().machine(); }

  /// Set the triple and the data layout; to be called before anything is lowered into the module.
  virtual void prepare(llvm::Module &module) const = 0;
  /// LLVM's optimiser. What comes out is what the emulator runs and what code is made from.
  virtual void optimise(llvm::Module &module) const = 0;
  /// The module's assembly: PTX, or the GPU's own. The module is used up.
  virtual std::string assembly(llvm::Module &module) const = 0;
  /// What the driver loads: an ELF image. The module is used up. An error says which tool is
  /// missing or what it said.
  virtual Result<std::vector<char>> object(llvm::Module &module) const = 0;
};

/// The target of a machine that is a GPU.
const GpuTarget &gpuTarget(const machine::Machine &machine);

} // namespace imbrex::target

#pragma once

#include "backend/lower/vocabulary.h"
#include "backend/support/result.h"
#include "backend/target/codegen/code_graph.h"
#include "backend/target/codegen/instruction_mix.h"
#include "backend/target/codegen/ordered_access.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <string>
#include <vector>

namespace imbrex::target {

/// What the driver loads.
struct ObjectCode {
  std::vector<char> image = {}; ///< An ELF file.
  std::string remarks = {};     ///< What the vendor's assembler says; may be empty.
};

/// What a thread, and the block's shared memory, take of the machine.
struct Resources {
  std::int32_t registers = 0;       ///< Of 32 bits, one to a lane.
  std::int32_t scalarRegisters = 0; ///< Of 32 bits, one to a warp, where the machine has such.
  std::int32_t spilledBytes = 0;
  std::int32_t stackBytes = 0;
  std::int32_t sharedMemoryBytes = 0;
};

/// Whether the threads of a block, or of a role, meet at an instruction, and see then what all of
/// them did before.
enum class MeetingKind : std::uint8_t {
  None,
  Unfenced, ///< They meet, but nothing orders memory.
  Orders,
};

/// A GPU that the compiler has code for: what turns the LLVM module of a kernel into code. It has
/// no state, so that many threads may use it at once, each with its own LLVM context.
class GpuTarget {
public:
  virtual ~GpuTarget() = default;
  virtual const lower::Vocabulary &vocabulary() const = 0;
  /// LLVM's letters of the registers that operands of the author's own instructions can be in.
  virtual llvm::StringRef assemblyClasses() const = 0;
  const machine::Machine &machine() const { return vocabulary().machine(); }

  /// Set the triple, the data layout and the flags; to be called before anything is lowered into
  /// the module.
  virtual void prepare(llvm::Module &module) const = 0;
  /// LLVM's optimiser, without a liberty that changes a number. What comes out is what the emulator
  /// runs and what code is made from.
  virtual void optimise(llvm::Module &module) const = 0;
  /// The module's assembly: PTX, or the GPU's own. The module is used up.
  virtual Result<std::string> assembly(llvm::Module &module) const = 0;
  /// The image of an assembly. An error says which tool is missing or what it said.
  virtual Result<ObjectCode> objectOf(const std::string &assembly) const = 0;

  /// What an image of one kernel says that it takes; zeros where it says nothing.
  virtual Resources resources(const ObjectCode &object) const = 0;
  /// The same of an assembly; zeros where only an image does.
  virtual Resources resourcesIn(llvm::StringRef /*assembly*/) const { return {}; }
  /// The line of the kernel at which most bytes are put into memory that registers have no room
  /// for, in an assembly and the object that was made of it; unknown where there are none.
  virtual Location spilledAt(llvm::StringRef assembly, const ObjectCode &object) const = 0;
  /// Whether some may be put there although there are registers, so that more blocks fit on a core.
  virtual bool leavesRegisters() const { return false; }
  /// Whether it takes no tool of the vendor's to make an object.
  virtual bool assemblesByItself() const = 0;
  /// What makes its images, so that another tool, or a newer one, has another name; none where it
  /// is not known before it is used.
  virtual std::optional<std::string> assemblerName() const = 0;
  /// The instructions of an assembly by class.
  virtual InstructionMix instructions(llvm::StringRef assembly) const = 0;
  /// Of the LLVM IR that its vocabulary writes.
  virtual MeetingKind meetingAt(const llvm::Instruction &instruction) const = 0;
  /// What an assembly does to rings.
  virtual CodeGraph ringsOf(llvm::StringRef assembly) const = 0;
  /// What an instruction of its LLVM IR asks for of the order of memory; nothing of one that asks
  /// for none, or that another one speaks for.
  virtual std::optional<OrderedAccess> accessAt(const llvm::Instruction &instruction) const = 0;
  /// What an assembly has of that.
  virtual std::vector<FoundAccess> accessesOf(llvm::StringRef assembly) const = 0;
  /// Of the assembly of a programmatic launch's kernel the first instruction that may touch global
  /// memory before the launch in front has been waited for; empty: there is none.
  virtual llvm::StringRef touchedBeforeWait(llvm::StringRef /*assembly*/) const { return {}; }
};

/// The target of a machine; null for the CPU, and where the build leaves the machine's family out
/// (IMBREX_ENABLE_NVPTX, IMBREX_ENABLE_AMDGPU).
const GpuTarget *findGpuTarget(const machine::Machine &machine);
/// The same for a machine that has one.
const GpuTarget &gpuTarget(const machine::Machine &machine);

} // namespace imbrex::target

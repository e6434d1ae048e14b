#include "tests/codegen/gcn_disassembler.h"

#include "backend/support/check.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"

namespace imbrex::testing {

GcnDisassembler::GcnDisassembler(const llvm::TargetMachine &machine)
    : machine_(machine),
      context_(std::make_unique<llvm::MCContext>(machine.getTargetTriple(), machine.getMCAsmInfo(),
                                                 machine.getMCRegisterInfo(),
                                                 machine.getMCSubtargetInfo())) {
  LLVMInitializeAMDGPUDisassembler();
  const llvm::Target &target = machine.getTarget();
  instructions_.reset(target.createMCDisassembler(*machine.getMCSubtargetInfo(), *context_));
  printer_.reset(target.createMCInstPrinter(machine.getTargetTriple(), 0, *machine.getMCAsmInfo(),
                                            *machine.getMCInstrInfo(),
                                            *machine.getMCRegisterInfo()));
}

GcnDisassembler::~GcnDisassembler() = default;

std::string GcnDisassembler::disassemble(llvm::StringRef bytes, std::string &text) const {
  llvm::raw_string_ostream stream(text);
  llvm::ArrayRef<std::uint8_t> rest(bytes.bytes_begin(), bytes.size());
  while (!rest.empty()) {
    llvm::MCInst instruction;
    std::uint64_t size = 0;
    const std::uint64_t at = bytes.size() - rest.size();
    if (instructions_->getInstruction(instruction, size, rest, at, llvm::nulls()) !=
        llvm::MCDisassembler::Success)
      return "no instruction at byte " + std::to_string(at);
    printer_->printInst(&instruction, at, "", *machine_.getMCSubtargetInfo(), stream);
    stream << "\n";
    rest = rest.drop_front(size);
  }
  return {};
}

llvm::StringRef sectionOf(llvm::StringRef image, llvm::StringRef name) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(image, "image"));
  IMBREX_CHECK(static_cast<bool>(file), "{0}", llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef &section : (*file)->sections()) {
    auto called = section.getName();
    if (called && *called == name) return llvm::cantFail(section.getContents());
    llvm::consumeError(called.takeError());
  }
  return {};
}

} // namespace imbrex::testing

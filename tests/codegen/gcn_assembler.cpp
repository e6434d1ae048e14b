#include "tests/codegen/gcn_assembler.h"

#include "backend/support/check.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

namespace imbrex::testing {

/// What LLVM knows of one machine.
struct GcnAssembler::Implementation {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  const llvm::Target *target = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> dialect;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
};

GcnAssembler::GcnAssembler(const machine::Machine &machine)
    : implementation_(std::make_unique<Implementation>()) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  LLVMInitializeAMDGPUDisassembler();
  Implementation &own = *implementation_;
  std::string problem;
  own.target = llvm::TargetRegistry::lookupTarget(own.triple, problem);
  IMBREX_CHECK(own.target != nullptr, "{0}", problem);
  own.registers.reset(own.target->createMCRegInfo(own.triple));
  own.dialect.reset(own.target->createMCAsmInfo(*own.registers, own.triple, own.options));
  own.instructions.reset(own.target->createMCInstrInfo());
  own.subtarget.reset(own.target->createMCSubtargetInfo(own.triple, machine.cpu, machine.features));
}

GcnAssembler::~GcnAssembler() = default;

std::string GcnAssembler::assemble(llvm::StringRef text,
                                   llvm::SmallVectorImpl<char> &object) const {
  const Implementation &own = *implementation_;
  std::string said;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "text"), {});
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &problem, void *into) {
        llvm::raw_string_ostream stream(*static_cast<std::string *>(into));
        problem.print("", stream, false);
      },
      &said);
  llvm::MCContext context(own.triple, own.dialect.get(), own.registers.get(), own.subtarget.get(),
                          &sources, &own.options);
  constexpr bool kIsPositionIndependent = true;
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(
      own.target->createMCObjectFileInfo(context, kIsPositionIndependent));
  context.setObjectFileInfo(sections.get());
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      own.target->createMCAsmBackend(*own.subtarget, *own.registers, own.options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  const std::unique_ptr<llvm::MCStreamer> streamer(own.target->createMCObjectStreamer(
      own.triple, context, std::move(backend), std::move(writer),
      std::unique_ptr<llvm::MCCodeEmitter>(
          own.target->createMCCodeEmitter(*own.instructions, context)),
      *own.subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *own.dialect));
  const std::unique_ptr<llvm::MCTargetAsmParser> ofTarget(
      own.target->createMCAsmParser(*own.subtarget, *parser, *own.instructions, own.options));
  parser->setTargetParser(*ofTarget);
  constexpr bool kWithoutInitialText = false;
  if (parser->Run(kWithoutInitialText) && said.empty()) said = "refused without a word";
  return said;
}

std::string GcnAssembler::disassemble(llvm::StringRef bytes, std::string &text) const {
  const Implementation &own = *implementation_;
  llvm::MCContext context(own.triple, own.dialect.get(), own.registers.get(), own.subtarget.get());
  const std::unique_ptr<llvm::MCDisassembler> disassembler(
      own.target->createMCDisassembler(*own.subtarget, context));
  const std::unique_ptr<llvm::MCInstPrinter> printer(own.target->createMCInstPrinter(
      own.triple, 0, *own.dialect, *own.instructions, *own.registers));
  llvm::raw_string_ostream stream(text);
  llvm::ArrayRef<std::uint8_t> rest(bytes.bytes_begin(), bytes.size());
  while (!rest.empty()) {
    llvm::MCInst instruction;
    std::uint64_t size = 0;
    const std::uint64_t at = bytes.size() - rest.size();
    if (disassembler->getInstruction(instruction, size, rest, at, llvm::nulls()) !=
        llvm::MCDisassembler::Success)
      return "no instruction at byte " + std::to_string(at);
    printer->printInst(&instruction, at, "", *own.subtarget, stream);
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

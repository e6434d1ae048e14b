#include "backend/target/amdgpu/assembler.h"

#include "backend/lower/values/inline_assembly.h"
#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/inline_asm_ranges.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"

#include <shared_mutex>

namespace imbrex::target::amdgpu {
namespace {

/// Writes the object file that the parser's instructions make up.
std::unique_ptr<llvm::MCStreamer> streamerInto(llvm::raw_pwrite_stream &object,
                                               llvm::MCContext &context,
                                               const llvm::TargetMachine &machine) {
  const llvm::Target &target = machine.getTarget();
  const llvm::MCSubtargetInfo &subtarget = *machine.getMCSubtargetInfo();
  std::unique_ptr<llvm::MCAsmBackend> backend(target.createMCAsmBackend(
      subtarget, *machine.getMCRegisterInfo(), machine.Options.MCOptions));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(object);
  std::unique_ptr<llvm::MCCodeEmitter> encoder(
      target.createMCCodeEmitter(*machine.getMCInstrInfo(), context));
  return std::unique_ptr<llvm::MCStreamer>(
      target.createMCObjectStreamer(machine.getTargetTriple(), context, std::move(backend),
                                    std::move(writer), std::move(encoder), subtarget));
}

using Problems = std::vector<llvm::SMDiagnostic>;

/// In the words of the kernel's author, where it is about instructions of the author's own.
Failure<Diagnostic> refusalOf(const Problems &problems, llvm::StringRef text, llvm::StringRef cpu) {
  constexpr InlineAsmMarkers kMarks{.begin = ";;#ASMSTART", .end = ";;#ASMEND"};
  llvm::SmallVector<llvm::StringRef, 0> lines;
  text.split(lines, '\n');
  const std::vector<InlineAsmRange> blocks = inlineAsmRangesIn(lines, kMarks);
  std::string said;
  llvm::raw_string_ostream stream(said);
  for (const llvm::SMDiagnostic &problem : problems) {
    if (problem.getKind() != llvm::SourceMgr::DK_Error) continue;
    const auto line = static_cast<unsigned>(std::max(problem.getLineNo(), 0));
    for (const InlineAsmRange &block : blocks)
      if (line > block.begin && line < block.end && block.where.known())
        return lower::badAssembly(
            block.where, "LLVM",
            {.words = problem.getMessage(), .instruction = lines[line - 1].trim()});
    problem.print("", stream, false);
  }
  return fail(Diag::CodeRefused, {}, "LLVM's assembler", cpu, said);
}

} // namespace

Result<llvm::SmallVector<char, 0>> assemble(const std::string &text,
                                            const llvm::TargetMachine &machine) {
  const std::shared_lock lock(llvmOptions());
  Problems problems;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "assembly"), {});
  sources.setDiagHandler([](const llvm::SMDiagnostic &problem,
                            void *into) { static_cast<Problems *>(into)->push_back(problem); },
                         &problems);
  const llvm::Target &target = machine.getTarget();
  const llvm::MCTargetOptions &options = machine.Options.MCOptions;
  const llvm::MCSubtargetInfo &subtarget = *machine.getMCSubtargetInfo();
  llvm::MCContext context(machine.getTargetTriple(), machine.getMCAsmInfo(),
                          machine.getMCRegisterInfo(), &subtarget, &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(
      target.createMCObjectFileInfo(context, machine.isPositionIndependent()));
  context.setObjectFileInfo(sections.get());
  // What is not known before all is read, such as that there is no label of this name.
  context.setDiagnosticHandler(
      [&](const llvm::SMDiagnostic &problem, const auto &...) { problems.push_back(problem); });
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  const std::unique_ptr<llvm::MCStreamer> streamer = streamerInto(stream, context, machine);
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *machine.getMCAsmInfo()));
  const std::unique_ptr<llvm::MCTargetAsmParser> words(
      target.createMCAsmParser(subtarget, *parser, *machine.getMCInstrInfo(), options));
  parser->setTargetParser(*words);
  constexpr bool kWithoutSections = false;
  if (parser->Run(kWithoutSections)) return refusalOf(problems, text, machine.getTargetCPU());
  return object;
}

} // namespace imbrex::target::amdgpu

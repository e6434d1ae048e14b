#include "backend/target/codegen/loc_lines.h"
#include "backend/target/codegen/temporary_file.h"
#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/refusal.h"
#include "backend/target/nvptx/toolkit.h"
#include "llvm/Support/Program.h"

#include <array>

namespace imbrex::target::nvptx {

std::optional<Result<ObjectCode>> assembleByProgram(const std::string &ptx,
                                                    const machine::Machine &machine) {
  const std::string program = findTool("ptxas");
  if (program.empty()) return std::nullopt;
  const auto input = TemporaryFile::make("ptx", ptx);
  const auto output = TemporaryFile::make("cubin");
  const auto log = TemporaryFile::make("log");
  for (const auto *file : {&input, &output, &log})
    if (!*file) return Result<ObjectCode>(file->failure());
  const std::string name(machine.name);
  llvm::SmallVector<llvm::StringRef, 8> arguments{program, "-arch", name,
                                                  "-v",    "-o",    output->path()};
  if (namesLines(ptx)) arguments.push_back("-lineinfo"); // which has the image hold all of the PTX
  arguments.push_back(input->path());
  const std::array<std::optional<llvm::StringRef>, 3> streams{"", log->path(), log->path()};
  std::string problem;
  const int status =
      llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, streams, 0, 0, &problem);
  const std::vector<char> said = log->read();
  const std::string text(said.begin(), said.end());
  ObjectCode object{.image = output->read(), .remarks = text};
  if (status == 0 && !object.image.empty()) return Result<ObjectCode>(std::move(object));
  const std::string ending = problem.empty() ? "it ended with status " + std::to_string(status) +
                                                   (status == 0 ? " and wrote nothing" : "")
                                             : problem;
  const std::string &why = text.empty() ? ending : text;
  return Result<ObjectCode>(
      refusalOf({.assembler = "ptxas", .machine = machine, .said = why}, ptx));
}

} // namespace imbrex::target::nvptx

#include "backend/target/codegen/temporary_file.h"
#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/toolkit.h"
#include "llvm/Support/Program.h"

#include <array>

namespace imbrex::target::nvptx {

std::optional<Result<ObjectCode>> assembleByProgram(const std::string &ptx,
                                                    const machine::Machine &machine) {
  const std::string program = findTool("ptxas");
  if (program.empty()) return std::nullopt;
  const TemporaryFile input("ptx", ptx);
  const TemporaryFile output("cubin");
  const TemporaryFile log("log");
  const std::string name(machine.name);
  const std::array<llvm::StringRef, 8> arguments{program,     "-arch", name,          "-v",
                                                 "-lineinfo", "-o",    output.path(), input.path()};
  const std::array<std::optional<llvm::StringRef>, 3> streams{"", log.path(), log.path()};
  const int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, streams);
  const std::vector<char> said = log.read();
  const std::string text(said.begin(), said.end());
  if (status != 0)
    return Result<ObjectCode>(fail(Diag::CodeRefused, {}, "ptxas", machine.name, text));
  return Result<ObjectCode>(ObjectCode{.image = output.read(), .remarks = text});
}

} // namespace imbrex::target::nvptx

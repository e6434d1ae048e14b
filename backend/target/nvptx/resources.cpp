#include "backend/target/nvptx/resources.h"

namespace imbrex::target::nvptx {
namespace {

/// The number in front of a phrase: `Used 8 registers`, `1024 bytes smem`.
std::optional<std::int32_t> numberBefore(llvm::StringRef text, llvm::StringRef phrase) {
  const std::size_t at = text.find(phrase);
  if (at == llvm::StringRef::npos) return std::nullopt;
  const llvm::StringRef before = text.take_front(at).rtrim();
  const llvm::StringRef digits = before.take_back(before.size() - before.find_last_of(" \n,") - 1);
  std::int32_t number = 0;
  if (digits.getAsInteger(10, number)) return std::nullopt;
  return number;
}

} // namespace

std::optional<Resources> resourcesOf(llvm::StringRef remarks) {
  const auto registers = numberBefore(remarks, " registers");
  if (!registers) return std::nullopt;
  return Resources{.registers = *registers,
                   .spilledBytes = numberBefore(remarks, " bytes spill stores").value_or(0),
                   .stackBytes = numberBefore(remarks, " bytes stack frame").value_or(0),
                   .sharedMemoryBytes = numberBefore(remarks, " bytes smem").value_or(0)};
}

} // namespace imbrex::target::nvptx

#include "backend/lower/source_lines.h"

#include "llvm/Support/Path.h"

namespace imbrex::lower {

SourceLines::SourceLines(llvm::Module &module, llvm::Function &function, Location where)
    : builder_(module) {
  constexpr std::uint32_t kVersion = llvm::DEBUG_METADATA_VERSION;
  module.setModuleFlag(llvm::Module::Warning, "Debug Info Version", kVersion);
  llvm::DIFile *const home = file(where.file);
  constexpr bool kOptimised = true;
  builder_.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C_plus_plus_14), home,
                             "imbrex", kOptimised, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  llvm::DISubroutineType *const type =
      builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  kernel_ = builder_.createFunction(home, function.getName(), function.getName(), home, where.line,
                                    type, where.line, llvm::DINode::FlagZero,
                                    llvm::DISubprogram::SPFlagDefinition |
                                        llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(kernel_);
  scopes_[where.file] = kernel_;
}

llvm::DebugLoc SourceLines::at(Location where) {
  if (!where.known()) return llvm::DILocation::get(kernel_->getContext(), 0, 0, kernel_);
  llvm::DIScope *&scope = scopes_[where.file];
  if (!scope) scope = builder_.createLexicalBlockFile(kernel_, file(where.file));
  return llvm::DILocation::get(kernel_->getContext(), where.line, 0, scope);
}

llvm::DIFile *SourceLines::file(std::string_view name) {
  const llvm::StringRef path = name.empty() ? llvm::StringRef("unknown") : llvm::StringRef(name);
  return builder_.createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

} // namespace imbrex::lower

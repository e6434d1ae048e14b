#include "backend/package/archive/headers.h"

#include "backend/package/archive/launch_program.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

namespace imbrex::archive {
namespace {

/// Of the functions, beside the kernel's own.
constexpr llvm::StringLiteral kStream = "on", kGrid = "blocks";

const ir::Type &typeOf(const LibraryKernel &of, std::size_t i) {
  return of.kernel.type(of.kernel.body().arguments[i]);
}

/// The parameter's name, unless C or C++ has another use for it.
std::string nameOf(const LibraryKernel &of, std::size_t i) {
  static constexpr auto kTaken = std::to_array<llvm::StringLiteral>(
      {kStream,    kGrid,      "alignas",  "alignof",  "and",     "asm",       "auto",
       "bool",     "break",    "case",     "catch",    "char",    "class",     "const",
       "continue", "default",  "delete",   "do",       "double",  "else",      "enum",
       "explicit", "export",   "extern",   "false",    "float",   "for",       "friend",
       "goto",     "if",       "inline",   "int",      "long",    "mutable",   "namespace",
       "new",      "not",      "operator", "or",       "private", "protected", "public",
       "register", "restrict", "return",   "short",    "signed",  "sizeof",    "static",
       "struct",   "switch",   "template", "this",     "throw",   "true",      "try",
       "typedef",  "typename", "union",    "unsigned", "using",   "virtual",   "void",
       "volatile", "while",    "xor"});
  std::string name = of.kernel.parameterName(i);
  const bool isName = !name.empty() && !llvm::isDigit(name.front()) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!isName) return "p" + std::to_string(i);
  return llvm::is_contained(kTaken, llvm::StringRef(name)) ? name + "_" : name;
}

/// How C has a scalar: what it has no arithmetic for, by its bits.
std::string scalarInC(ir::ElementKind element) {
  if (element == ir::ElementKind::F32) return "float";
  if (element == ir::ElementKind::F64) return "double";
  const std::string bits = std::to_string(std::max(8, ir::storageBits(element))) + "_t";
  return (ir::isSigned(element) ? "int" : "uint") + bits;
}

std::string elementInCpp(const ir::Type &type) {
  if (type.element() == ir::ElementKind::Bool) return "bool";
  return "imbrex::" + std::string(ir::info(type.element()).name);
}

/// Of memory, which may be for reading alone.
std::string pointeeInCpp(const ir::Type &type) {
  return (type.isConst() ? "const " : "") + elementInCpp(type);
}

bool hasBits(ir::ElementKind element) {
  const bool isHalf = ir::isFloat(element) && ir::info(element).bits < 32;
  return isHalf || ir::isNarrowFloat(element);
}

std::string parameterInC(const LibraryKernel &of, std::size_t i) {
  const ir::Type &type = typeOf(of, i);
  if (type.isView()) return "const imbrex_array *" + nameOf(of, i);
  if (type.hasMemory()) return "const imbrex_memory *" + nameOf(of, i);
  return scalarInC(type.element()) + " " + nameOf(of, i);
}

std::string parameterInCpp(const LibraryKernel &of, std::size_t i) {
  const ir::Type &type = typeOf(of, i);
  if (type.isView())
    return llvm::formatv("const imbrex::aot::array<{0}, {1}> &{2}", pointeeInCpp(type), type.rank(),
                         nameOf(of, i));
  if (type.hasMemory())
    return llvm::formatv("const imbrex::aot::memory<{0}> &{1}", pointeeInCpp(type), nameOf(of, i));
  return elementInCpp(type) + " " + nameOf(of, i);
}

std::string argumentForC(const LibraryKernel &of, std::size_t i) {
  const ir::Type &type = typeOf(of, i);
  if (type.hasMemory()) return "&" + nameOf(of, i);
  return nameOf(of, i) + (hasBits(type.element()) ? ".bits" : "");
}

template <class One>
std::string eachParameter(const LibraryKernel &of, One one) {
  std::string list;
  for (std::size_t i = 0; i < of.kernel.parameterCount(); ++i) list += ", " + one(of, i);
  return list;
}

/// "sm_80, ptx:sm_80, gfx942, host:x86-64-v3"
std::string targetsOf(const LibraryKernel &of) {
  std::string text;
  const LibraryCode *before = nullptr;
  for (const LibraryCode &code : of.codes) {
    if (before == nullptr || toText(before->target) != toText(code.target))
      text += (text.empty() ? "" : ", ") + toText(code.target);
    before = &code;
  }
  return text;
}

/// What a caller has to know, a line each.
std::vector<std::string> notesOn(const LibraryKernel &of) {
  std::string signature = of.kernel.name() + "(";
  for (std::size_t i = 0; i < of.kernel.parameterCount(); ++i)
    signature += (i == 0 ? "" : ", ") + ir::toString(typeOf(of, i)) + " " + nameOf(of, i);
  std::vector<std::string> notes{signature + ")", "Code for " + targetsOf(of) + "."};
  for (const RequiredPart &part : requiredBy(of.kernel))
    notes.push_back("Requires " + part.written + ": " + part.text);
  return notes;
}

std::string guardOf(const Library &library) {
  return llvm::StringRef(library.name).upper() + "_KERNELS_H";
}

std::string namespaceInCpp(const Library &library) { return library.nameSpace; }

constexpr llvm::StringLiteral kOrigin = "generated by imbrex_add_kernels; changes are lost";

} // namespace

std::string headerForC(const Library &library) {
  std::string text = llvm::formatv("/* {0}: {1} */\n#ifndef {2}\n#define {2}\n\n"
                                   "#include <imbrex/aot.h>\n\n"
                                   "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
                                   library.name, kOrigin, guardOf(library));
  for (const LibraryKernel &of : library.kernels) {
    text += "\n/* " + llvm::join(notesOn(of), "\n   ") + " */\n";
    const std::string grid = of.blocks ? "" : ", const imbrex_grid *" + kGrid.str();
    text += llvm::formatv("int {0}(const imbrex_stream *{1}{2}{3});\n", library.symbolOf(of),
                          kStream, grid, eachParameter(of, parameterInC));
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string headerForCpp(const Library &library, const std::string &headerForC) {
  std::string text = llvm::formatv("// {0}: {1}\n#pragma once\n\n#include <imbrex/aot.hpp>\n\n"
                                   "#include \"{2}\"\n\nnamespace {3} {{\n",
                                   library.name, kOrigin, headerForC, namespaceInCpp(library));
  for (const LibraryKernel &of : library.kernels) {
    text += "\n/// " + llvm::join(notesOn(of), "\n/// ") + "\n";
    const std::string grid = of.blocks ? "" : ", const imbrex::aot::grid &" + kGrid.str();
    text += llvm::formatv(
        "[[nodiscard]] inline imbrex::aot::status {0}(const imbrex::aot::stream_ref &{1}{2}{3}) "
        "noexcept {{\n  return imbrex::aot::status(::{4}(&{1}{5}{6}));\n}\n",
        of.name, kStream, grid, eachParameter(of, parameterInCpp), library.symbolOf(of),
        of.blocks ? "" : ", &" + kGrid.str(), eachParameter(of, argumentForC));
  }
  return text + llvm::formatv("\n} // namespace {0}\n", namespaceInCpp(library)).str();
}

} // namespace imbrex::archive

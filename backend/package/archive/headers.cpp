#include "backend/package/archive/headers.h"

#include "backend/package/archive/launch_program.h"
#include "backend/package/archive/names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace imbrex::archive {
namespace {

std::string nameOf(const LibraryKernel &of, std::size_t i) { return parameterNames(of.kernel)[i]; }

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

/// Two functions of a kernel: one takes arrays of our own, one DLPack's tensors.
enum class Arrays : std::uint8_t { Own, Dlpack };

std::string parameterInC(const LibraryKernel &of, std::size_t i, Arrays form) {
  const ir::Type &type = of.kernel.parameterType(i);
  if (type.isTable()) return "const imbrex_table *" + nameOf(of, i); // DLPack has none
  if (type.hasMemory() && form == Arrays::Dlpack) return "const imbrex_dltensor *" + nameOf(of, i);
  if (type.isView()) return "const imbrex_array *" + nameOf(of, i);
  if (type.hasMemory()) return "const imbrex_memory *" + nameOf(of, i);
  return scalarInC(type.element()) + " " + nameOf(of, i);
}

std::string parameterInCpp(const LibraryKernel &of, std::size_t i, Arrays form) {
  const ir::Type &type = of.kernel.parameterType(i);
  if (type.isTable())
    return llvm::formatv("const imbrex::aot::table<{0}> &{1}", pointeeInCpp(type), nameOf(of, i));
  if (type.hasMemory() && form == Arrays::Dlpack)
    return "const imbrex::aot::dltensor &" + nameOf(of, i);
  if (type.isView())
    return llvm::formatv("const imbrex::aot::array<{0}, {1}> &{2}", pointeeInCpp(type), type.rank(),
                         nameOf(of, i));
  if (type.hasMemory())
    return llvm::formatv("const imbrex::aot::memory<{0}> &{1}", pointeeInCpp(type), nameOf(of, i));
  return elementInCpp(type) + " " + nameOf(of, i);
}

std::string argumentForC(const LibraryKernel &of, std::size_t i) {
  const ir::Type &type = of.kernel.parameterType(i);
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

/// The author's text, as it can stand in a comment of either kind: on one line, which does not go
/// on, and without the ends of others.
std::string inComment(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\r' || c == '\\') c = ' ';
  for (std::size_t at = 0; (at = text.find_first_of('*', at)) != std::string::npos; ++at)
    if ((at > 0 && text[at - 1] == '/') || text.substr(at).starts_with("*/")) text[at] = '.';
  return text;
}

/// What a caller has to know, a line each.
std::vector<std::string> notesOn(const LibraryKernel &of) {
  std::string signature = of.name + "(";
  for (std::size_t i = 0; i < of.kernel.parameterCount(); ++i)
    signature +=
        (i == 0 ? "" : ", ") + ir::toString(of.kernel.parameterType(i)) + " " + nameOf(of, i);
  std::vector<std::string> notes{signature + ")", "Code for " + targetsOf(of) + "."};
  for (const RequiredPart &part : requiredBy(of.kernel))
    notes.push_back(inComment("Requires " + part.written + ": " + part.text));
  return notes;
}

std::string guardOf(const Library &library) {
  return llvm::StringRef(library.name).upper() + "_KERNELS_H";
}

std::string symbolOf(const Library &library, const LibraryKernel &of, Arrays form) {
  return library.symbolOf(of) + (form == Arrays::Dlpack ? kDlpackSuffix : "");
}

std::string functionForC(const Library &library, const LibraryKernel &of, Arrays form) {
  const std::string grid = of.blocks ? "" : ", const imbrex_grid *" + std::string(kGridName);
  const auto parameter = [&](const LibraryKernel &, std::size_t i) {
    return parameterInC(of, i, form);
  };
  return llvm::formatv("int {0}(const imbrex_stream *{1}{2}{3});\n", symbolOf(library, of, form),
                       kStreamName, grid, eachParameter(of, parameter));
}

std::string functionForCpp(const Library &library, const LibraryKernel &of, Arrays form) {
  const std::string grid = of.blocks ? "" : ", const imbrex::aot::grid &" + std::string(kGridName);
  const auto parameter = [&](const LibraryKernel &, std::size_t i) {
    return parameterInCpp(of, i, form);
  };
  return llvm::formatv(
      "[[nodiscard]] inline imbrex::aot::status {0}(const imbrex::aot::stream_ref &{1}{2}{3}) "
      "noexcept {{\n  return imbrex::aot::status(::{4}(&{1}{5}{6}));\n}\n",
      of.name, kStreamName, grid, eachParameter(of, parameter), symbolOf(library, of, form),
      of.blocks ? "" : ", &" + std::string(kGridName), eachParameter(of, argumentForC));
}

constexpr llvm::StringLiteral kLoaderNote = "Loads all kernels' code for the stream's device, as a "
                                            "first launch would, so that launches can "
                                            "be captured from then on. Does nothing on the host.";

constexpr llvm::StringLiteral kOrigin = "generated by imbrex_add_kernels; changes are lost";

} // namespace

std::string headerForC(const Library &library) {
  std::string text = llvm::formatv("/* {0}: {1} */\n#ifndef {2}\n#define {2}\n\n"
                                   "#include <imbrex/aot.h>\n\n"
                                   "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
                                   library.name, kOrigin, guardOf(library));
  for (const LibraryKernel &of : library.kernels) {
    text += "\n/* " + llvm::join(notesOn(of), "\n   ") + " */\n";
    text += functionForC(library, of, Arrays::Own);
    if (of.takesArrays()) text += functionForC(library, of, Arrays::Dlpack);
  }
  text += llvm::formatv("\n/* {0} */\nint {1}(const imbrex_stream *{2});\n", kLoaderNote,
                        library.loaderSymbol(), kStreamName);
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string headerForCpp(const Library &library, const std::string &headerForC) {
  std::string text = llvm::formatv("// {0}: {1}\n#pragma once\n\n#include <imbrex/aot.hpp>\n\n"
                                   "#include \"{2}\"\n\nnamespace {3} {{\n",
                                   library.name, kOrigin, headerForC, library.nameSpace);
  for (const LibraryKernel &of : library.kernels) {
    text += "\n/// " + llvm::join(notesOn(of), "\n/// ") + "\n";
    text += functionForCpp(library, of, Arrays::Own);
    if (of.takesArrays()) text += functionForCpp(library, of, Arrays::Dlpack);
  }
  if (library.nameSpace != library.name) // which several libraries may share
    text += llvm::formatv("\n} // namespace {0}\n\nnamespace {1} {{\n", library.nameSpace,
                          library.name);
  text += llvm::formatv("\n/// {0}\n[[nodiscard]] inline imbrex::aot::status {1}(const "
                        "imbrex::aot::stream_ref &{2}) noexcept {{\n  return "
                        "imbrex::aot::status(::{3}(&{2}));\n}\n",
                        kLoaderNote, kLoaderName, kStreamName, library.loaderSymbol());
  return text + llvm::formatv("\n} // namespace {0}\n", library.name).str();
}

} // namespace imbrex::archive

#include "backend/package/archive/names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::archive {
namespace {

/// Keywords of C23 and C++20, macros of the headers that a library's includes and of GNU C, and
/// names that mean something where the functions are.
constexpr std::string_view kTaken =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
    " char16_t char32_t class compl concept const consteval constexpr constinit const_cast "
    " continue co_await co_return co_yield decltype default delete do double dynamic_cast "
    " else enum explicit export extern false float for friend goto if inline int long "
    " mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    " protected public register reinterpret_cast requires restrict return short signed "
    " sizeof static static_assert static_cast struct switch template this thread_local "
    " throw true try typedef typeid typename typeof typeof_unqual union unsigned using "
    " virtual void volatile wchar_t while xor xor_eq NULL errno assert linux unix main "
    " imbrex std I stdin stdout stderr complex imaginary noreturn ";

/// A type of a header's by its name, or a macro.
bool isLikeType(llvm::StringRef name) { return name.ends_with("_t"); }
bool isLikeMacro(llvm::StringRef name) {
  constexpr std::size_t kLeast = 3;
  return name.size() >= kLeast && name == name.upper();
}

/// What no header that is included first has made something else of.
std::string safeName(const std::string &name) {
  if (isLikeType(name)) return name + "_";
  return isLikeMacro(name) ? llvm::StringRef(name).lower() : name;
}

} // namespace

bool isName(std::string_view text) {
  const auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  return !text.empty() && !llvm::isDigit(text.front()) && llvm::all_of(text, isPart) &&
         !llvm::StringRef(text.data(), text.size()).starts_with("imbrex_") &&
         kTaken.find(" " + std::string(text) + " ") == std::string_view::npos;
}

std::vector<std::string> parameterNames(const ir::Kernel &kernel) {
  std::vector<std::string> names;
  const auto isTaken = [&](const std::string &name) {
    return name == kStreamName || name == kGridName || llvm::is_contained(names, name);
  };
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i) {
    std::string name = safeName(kernel.parameterName(i));
    if (!isName(name)) name = "p" + std::to_string(i);
    while (isTaken(name)) name += "_";
    names.push_back(std::move(name));
  }
  return names;
}

} // namespace imbrex::archive

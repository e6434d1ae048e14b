#include "backend/support/file_name.h"

#include <cctype>

namespace imbrex {

std::string fileNameFor(std::string_view kernel) {
  std::string name;
  for (const char c : kernel) {
    const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    name += isPlain ? c : '_';
  }
  return name.empty() ? "kernel" : name;
}

} // namespace imbrex

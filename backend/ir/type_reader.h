#pragma once

#include "backend/ir/types.h"
#include "backend/support/token_reader.h"

#include <optional>

namespace imbrex::ir {

/// Reads types as the text form writes them: `f32[64x32]`, `ptr<const f16>[128]`, `view<f32, 2>`,
/// `table<const f16>`, `var<i64>`, `ring<f16[64x32]>`.
class TypeReader : public TokenReader {
public:
  using TokenReader::TokenReader;

  std::optional<Type> parseType();

private:
  std::optional<ElementKind> parseElement();
  bool reportUnknownType(const Token &token);
  std::optional<Shape> parseShape();
  std::optional<Type> parsePointee(Type (*make)(ElementKind, bool));
  std::optional<Type> parsePointer();
  std::optional<Type> parseView();
  std::optional<Type> parseTable();
  std::optional<Type> parseVariable();
  /// A ring, or a shared tile: behind its word.
  std::optional<Type> parseHolder(Type (*make)(const Type &));
  std::optional<Type> parseTile();
};

} // namespace imbrex::ir

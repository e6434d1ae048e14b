#include "backend/ir/type_reader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace imbrex::ir {

std::optional<ElementKind> TypeReader::parseElement() {
  const Token token = peek();
  if (token.kind != TokenKind::Word) return unexpected("an element type"), std::nullopt;
  const auto kind = elementNamed(token.text);
  if (!kind) return reportUnknownType(token), std::nullopt;
  lexer().take();
  return kind;
}

bool TypeReader::reportUnknownType(const Token &token) {
  std::vector<std::string_view> names = {"ptr", "view", "table", "var", "ring"};
  for (const ElementKind kind : allElementKinds()) names.push_back(info(kind).name);
  return error(Diag::TextUnknownType, token, shown(token),
               suggestion(token.text, names, "docs/ir.md lists the types"));
}

std::optional<Shape> TypeReader::parseShape() {
  if (!accept('[')) return Shape{};
  const auto token = take(TokenKind::Number, "extents, such as 128x64");
  if (!token || !expect(']')) return std::nullopt;
  llvm::SmallVector<llvm::StringRef, Shape::kMaxRank> parts;
  llvm::StringRef(token->text).split(parts, 'x');
  std::vector<std::int64_t> extents(parts.size());
  bool areNumbers = true;
  for (const auto &[part, extent] : llvm::zip_equal(parts, extents))
    areNumbers &= llvm::to_integer(part, extent, 10);
  if (areNumbers && extents.size() <= Shape::kMaxRank && isPossible(Shape(extents)))
    return Shape(extents);
  error(Diag::TextBadShape, *token, shown(*token));
  return std::nullopt;
}

/// `const` and an element behind `<`.
std::optional<Type> TypeReader::parsePointee(Type (*make)(ElementKind, bool)) {
  if (!expect('<')) return std::nullopt;
  const bool isConst = peek().is("const");
  if (isConst) lexer().take();
  const auto element = parseElement();
  if (!element) return std::nullopt;
  return make(*element, isConst);
}

std::optional<Type> TypeReader::parsePointer() {
  const auto scalar = parsePointee(
      [](ElementKind element, bool isConst) { return Type::pointerTile(element, {}, isConst); });
  if (!scalar || !expect('>')) return std::nullopt;
  const auto shape = parseShape();
  if (!shape) return std::nullopt;
  return scalar->withShape(*shape);
}

std::optional<Type> TypeReader::parseView() {
  const auto flat = parsePointee(
      [](ElementKind element, bool isConst) { return Type::view(element, 1, isConst); });
  if (!flat || !expect(',')) return std::nullopt;
  const auto token = take(TokenKind::Number, "the view's rank");
  if (!token) return std::nullopt;
  if (token->text.size() != 1 || token->text[0] < '1' || token->text[0] > '5')
    return error(Diag::TextBadRank, *token, shown(*token)), std::nullopt;
  if (!expect('>')) return std::nullopt;
  return Type::view(flat->element(), token->text[0] - '0', flat->isConst());
}

std::optional<Type> TypeReader::parseTable() {
  const auto table = parsePointee(Type::table);
  if (!table || !expect('>')) return std::nullopt;
  return table;
}

std::optional<Type> TypeReader::parseVariable() {
  if (!expect('<')) return std::nullopt;
  const Token token = peek();
  if (token.is("var") || token.is("view") || token.is("table") || token.is("ring") ||
      token.is("shared") || token.is("barrier"))
    return unexpected("a type that a variable can hold"), std::nullopt;
  const auto held = parseType();
  if (!held || !expect('>')) return std::nullopt;
  return Type::variable(*held);
}

std::optional<Type> TypeReader::parseHolder(Type (*make)(const Type &)) {
  if (!expect('<')) return std::nullopt;
  const auto held = parseTile();
  if (!held || !expect('>')) return std::nullopt;
  return make(*held);
}

std::optional<Type> TypeReader::parseTile() {
  if (peek().kind != TokenKind::Word) return unexpected("a type"), std::nullopt;
  const auto element = parseElement();
  if (!element) return std::nullopt;
  const auto shape = parseShape();
  if (!shape) return std::nullopt;
  return Type::tile(*element, *shape);
}

std::optional<Type> TypeReader::parseType() {
  const Token token = peek();
  const auto is = [&](std::string_view word) {
    if (!token.is(word)) return false;
    lexer().take();
    return true;
  };
  if (is("ptr")) return parsePointer();
  if (is("view")) return parseView();
  if (is("table")) return parseTable();
  if (is("var")) return parseVariable();
  if (is("ring")) return parseHolder(Type::ring);
  if (is("shared")) return parseHolder(Type::shared);
  if (is("barrier")) return Type::barrier();
  return parseTile();
}

} // namespace imbrex::ir

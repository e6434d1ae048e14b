#include "backend/support/token_reader.h"

namespace imbrex {

bool TokenReader::unexpected(std::string_view wanted) {
  const Token &token = peek();
  if (token.kind == TokenKind::End) return error(Diag::TextEndsEarly, token, wanted);
  if (token.kind == TokenKind::Bad && token.text.ends_with('"'))
    return error(Diag::TextOpenQuote, token);
  return error(Diag::TextUnexpected, token, wanted, shown(token));
}

bool TokenReader::accept(char punctuation) {
  if (!peek().is(punctuation)) return false;
  lexer_.take();
  return true;
}

bool TokenReader::accept(std::string_view word) {
  if (!peek().is(word)) return false;
  lexer_.take();
  return true;
}

bool TokenReader::expect(char punctuation) {
  return accept(punctuation) || unexpected("'" + std::string(1, punctuation) + "'");
}

bool TokenReader::expectWord(std::string_view word) {
  return accept(word) || unexpected("'" + std::string(word) + "'");
}

std::optional<Token> TokenReader::take(TokenKind kind, std::string_view wanted) {
  if (peek().kind != kind) return unexpected(wanted), std::nullopt;
  return lexer_.take();
}

std::optional<std::string> TokenReader::takeString(std::string_view wanted) {
  const auto token = take(TokenKind::String, wanted);
  if (!token) return std::nullopt;
  auto text = unescaped(token->text);
  if (!text) error(Diag::TextBadEscape, *token);
  return text;
}

std::string shown(const Token &token) {
  constexpr std::size_t kLongest = 40;
  std::string text = quoted(token.text.substr(0, kLongest));
  text = "'" + text.substr(1, text.size() - 2) + (token.text.size() > kLongest ? "…" : "") + "'";
  if (token.kind == TokenKind::Layout) return text.insert(1, "#");
  return token.kind == TokenKind::Value ? text.insert(1, "%") : text;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view> &candidates,
                       std::string_view otherwise) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string(otherwise) : "did you mean '" + std::string(near) + "'?";
}

} // namespace imbrex

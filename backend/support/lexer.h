#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The words that our text forms share: those of kernels (docs/ir.md) and of schedules
/// (docs/schedule-text.md).
namespace imbrex {

enum class TokenKind : std::uint8_t {
  End,
  Word,        // letters, digits, `_` and `.`, from a letter on: an op, a type, an attribute
  Number,      // from a digit or a minus on: 12, -1.5e-3, 0x7f, 128x64, -inf
  Value,       // %name, %12 or %"any name"; the text is without the percent sign
  Layout,      // #12; the text is without the sign
  String,      // the text is what stands between the quotes, escapes and all
  Punctuation, // one of , = : ( ) { } [ ] < > @
  Bad,         // a character that starts nothing, or a quote that is not closed
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  std::uint32_t line = 1;

  bool is(char punctuation) const {
    return kind == TokenKind::Punctuation && text[0] == punctuation;
  }
  bool is(std::string_view word) const { return kind == TokenKind::Word && text == word; }
};

/// Cuts a text into tokens, one ahead. Space and comments only separate: `//` to the end of the
/// line, and `#` unless a digit follows.
class Lexer {
public:
  explicit Lexer(std::string_view text) : rest_(text) { advance(); }

  const Token &peek() const { return next_; }
  Token take();
  /// What is left of the next token's line, without a comment behind it.
  Token takeLine();

private:
  void advance();
  bool atComment() const;
  void skipSpace();
  void cut(TokenKind kind, std::size_t length);
  void cutQuoted(TokenKind kind, std::size_t prefix);
  std::size_t numberLength() const;

  std::string_view rest_;
  std::string_view fromNext_; ///< The text from the next token on.
  std::uint32_t line_ = 1;
  Token next_;
};

/// Whether the lexer would take all of `text` as one word.
bool isWord(std::string_view text);

/// Text in quotes, with escapes for quotes, backslashes and control characters.
std::string quoted(std::string_view text);
/// The inverse, of what stands between the quotes; nothing for an escape that does not exist.
std::optional<std::string> unescaped(std::string_view text);

} // namespace imbrex

#pragma once

#include "backend/support/diagnostics.h"
#include "backend/support/lexer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex {

/// What the parsers of our text forms have in common: tokens one by one, and the reports about
/// those that are not what they should be. Each function leaves false, or nothing, behind an error
/// that it has reported.
class TokenReader {
public:
  TokenReader(std::string_view text, std::string_view fileName, Diagnostics &diagnostics)
      : lexer_(text), file_(internFileName(fileName)), diagnostics_(diagnostics) {}

  Lexer &lexer() { return lexer_; }
  const Token &peek() const { return lexer_.peek(); }
  Location place(const Token &token) const { return {.file = file_, .line = token.line}; }

  // --- reports; each returns false ---

  template <class... Args>
  bool error(Diag kind, const Token &token, const Args &...arguments) {
    diagnostics_.report(kind, place(token), arguments...);
    return false;
  }
  /// The next token is not what was wanted.
  bool unexpected(std::string_view wanted);

  // --- the next token ---

  bool accept(char punctuation);
  bool accept(std::string_view word);
  bool expect(char punctuation);
  bool expectWord(std::string_view word);
  std::optional<Token> take(TokenKind kind, std::string_view wanted);
  std::optional<std::string> takeString(std::string_view wanted);

  /// Zero or more of `one`, separated by commas; `end` tells that there is none.
  template <class One>
  bool parseList(char end, One &&one) {
    if (accept(end)) return true;
    do {
      if (!one()) return false;
    } while (accept(','));
    return expect(end);
  }

private:
  Lexer lexer_;
  std::string_view file_;
  Diagnostics &diagnostics_;
};

/// The token for a message: in quotes, printable, and not too long.
std::string shown(const Token &token);

/// "did you mean …" when a known name is near, else `otherwise`.
std::string suggestion(std::string_view word, const std::vector<std::string_view> &candidates,
                       std::string_view otherwise);

} // namespace imbrex

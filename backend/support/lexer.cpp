#include "backend/support/lexer.h"

#include <algorithm>

namespace imbrex {
namespace {

// Not <cctype>, which asks the locale and is undefined for bytes from 0x80 on.
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isInWord(char c) { return isLetter(c) || isDigit(c) || c == '.'; }

std::size_t wordLength(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, isInWord) - text.begin());
}

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

} // namespace

bool isWord(std::string_view text) {
  return !text.empty() && isLetter(text[0]) && wordLength(text) == text.size();
}

Token Lexer::take() {
  const Token token = next_;
  advance();
  return token;
}

Token Lexer::takeLine() {
  Token line{.kind = TokenKind::String, .text = {}, .line = next_.line};
  rest_ = fromNext_;
  line_ = next_.line;
  while (!rest_.empty() && rest_[0] != '\n' && !atComment()) rest_.remove_prefix(1);
  line.text = fromNext_.substr(0, fromNext_.size() - rest_.size());
  advance();
  return line;
}

void Lexer::cut(TokenKind kind, std::size_t length) {
  next_ = {.kind = kind, .text = rest_.substr(0, length), .line = line_};
  rest_.remove_prefix(length);
}

// A string ends on its line, so that a forgotten quote is reported where it was forgotten.
void Lexer::cutQuoted(TokenKind kind, std::size_t prefix) {
  std::size_t end = prefix + 1;
  while (end < rest_.size() && rest_[end] != '"' && rest_[end] != '\n')
    end += rest_[end] == '\\' ? 2 : 1;
  if (end >= rest_.size() || rest_[end] != '"') return cut(TokenKind::Bad, prefix + 1);
  const std::string_view inside = rest_.substr(prefix + 1, end - prefix - 1);
  cut(kind, end + 1);
  // A quoted value keeps its quote, so that %"0" is not taken for %0.
  next_.text = kind == TokenKind::Value ? next_.text.substr(1) : inside;
}

std::size_t Lexer::numberLength() const {
  const bool isHex = rest_.starts_with("0x") || rest_.starts_with("-0x");
  std::size_t length = 1;
  for (; length < rest_.size(); ++length) {
    const char c = rest_[length], before = rest_[length - 1];
    const bool isExponentSign =
        !isHex && (c == '-' || c == '+') && (before == 'e' || before == 'E');
    if (!isInWord(c) && !isExponentSign) break;
  }
  return length;
}

bool Lexer::atComment() const {
  if (rest_.starts_with("//")) return true;
  return rest_.starts_with('#') && (rest_.size() == 1 || !isDigit(rest_[1]));
}

void Lexer::skipSpace() {
  while (!rest_.empty()) {
    if (atComment()) {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r' || rest_[0] == '\n') {
      if (rest_[0] == '\n') ++line_;
      rest_.remove_prefix(1);
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skipSpace();
  fromNext_ = rest_;
  if (rest_.empty()) return cut(TokenKind::End, 0);
  const char c = rest_[0];
  if (isLetter(c)) return cut(TokenKind::Word, wordLength(rest_));
  if (isDigit(c) || (c == '-' && rest_.size() > 1 && isInWord(rest_[1])))
    return cut(TokenKind::Number, numberLength());
  if (c == '"') return cutQuoted(TokenKind::String, 0);
  if (c == '%' && rest_.substr(1).starts_with('"')) return cutQuoted(TokenKind::Value, 1);
  if ((c == '%' && wordLength(rest_.substr(1)) > 0) || c == '#') {
    cut(c == '#' ? TokenKind::Layout : TokenKind::Value, 1 + wordLength(rest_.substr(1)));
    next_.text.remove_prefix(1);
    return;
  }
  const bool isPunctuation = std::string_view(",=:(){}[]<>@").find(c) != std::string_view::npos;
  cut(isPunctuation ? TokenKind::Punctuation : TokenKind::Bad, 1);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (c == '\n')
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      ((result += "\\x") += kHexDigits[byte >> 4]) += kHexDigits[byte & 15];
    else
      result += c;
  }
  return result + '"';
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] != '\\') {
      result += text[0];
      text.remove_prefix(1);
    } else if (text.starts_with("\\\"") || text.starts_with("\\\\")) {
      result += text[1];
      text.remove_prefix(2);
    } else if (text.starts_with("\\n")) {
      result += '\n';
      text.remove_prefix(2);
    } else if (text.starts_with("\\x") && text.size() >= 4 && hexDigit(text[2]) >= 0 &&
               hexDigit(text[3]) >= 0) {
      result += static_cast<char>(hexDigit(text[2]) * 16 + hexDigit(text[3]));
      text.remove_prefix(4);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

} // namespace imbrex

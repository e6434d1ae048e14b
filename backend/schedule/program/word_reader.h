#pragma once

#include "backend/schedule/program/attributes.h"
#include "backend/support/token_reader.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

/// The names and numbers of a schedule's text.
namespace imbrex::schedule {

/// The names of one kind that can be seen.
template <class Tag>
struct Names {
  struct Declared {
    Id<Tag> id; ///< None: an unknown name that was reported once.
    std::uint32_t line = 0;
  };
  std::string_view noun;
  std::string_view plural;
  std::map<std::string, Declared, std::less<>> declared = {};
};

/// Reads what a text names and counts. A name or a number that cannot be is reported, and the text
/// is read on to find others, but is not sound.
class WordReader : protected TokenReader {
public:
  using TokenReader::TokenReader;

  bool isSound() const { return isSound_; }

protected:
  /// A report after which the parse goes on.
  template <class... Args>
  void mistake(Diag kind, const Token &token, const Args &...arguments) {
    error(kind, token, arguments...);
    isSound_ = false;
  }

  template <class Tag>
  bool declare(Names<Tag> &names, Id<Tag> id, std::string &name) {
    const auto token = take(TokenKind::Value, "a name, such as %a");
    if (!token) return false;
    name = token->text;
    if (!isWord(name))
      return mistake(Diag::ScheduleBadName, *token, names.noun, shown(*token)), true;
    const auto [place, isNew] = names.declared.try_emplace(name, id, token->line);
    if (!isNew)
      mistake(Diag::ScheduleNameTwice, *token, names.plural, shown(*token),
              "the first one is on line " + std::to_string(place->second.line));
    return true;
  }

  template <class Tag>
  bool resolve(Names<Tag> &names, Id<Tag> &id) {
    const auto token = take(TokenKind::Value, "a name, such as %a");
    if (!token) return false;
    const auto found = names.declared.find(token->text);
    if (found == names.declared.end()) return reportUnknown(names, *token), true;
    id = found->second.id;
    return true;
  }

  template <class Tag>
  void reportUnknown(Names<Tag> &names, const Token &token) {
    std::vector<std::string_view> known;
    for (const auto &[name, declared] : names.declared)
      if (declared.id.valid()) known.push_back(name);
    mistake(Diag::ScheduleUnknownName, token, names.noun, shown(token),
            suggestion(token.text, known, "it is declared above its use"));
    names.declared.try_emplace(std::string(token.text));
  }

  /// `what` says of what it is, for messages.
  template <class T>
  bool parseNumber(const Attribute<T> &attribute, std::string_view what, T &of) {
    const auto token = take(TokenKind::Number, "a number");
    if (!token) return false;
    std::int64_t number = 0;
    if (llvm::to_integer(token->text, number, 10) && attribute.range.contains(number))
      attribute.set(of, number);
    else
      mistake(Diag::ScheduleNumber, *token, attribute.word, what, shown(*token),
              attribute.range.least, attribute.range.most);
    return true;
  }

  template <class T>
  bool parseAttributes(std::span<const Attribute<T>> attributes, std::string_view what, T &of) {
    std::vector<std::string_view> seen;
    for (;;) {
      const Token token = peek();
      const auto row = std::ranges::find_if(
          attributes, [&](const Attribute<T> &attribute) { return token.is(attribute.word); });
      if (row == attributes.end()) return true;
      lexer().take();
      if (std::ranges::find(seen, row->word) != seen.end())
        mistake(Diag::TextDuplicateAttribute, token, shown(token));
      seen.push_back(row->word);
      if (row->isFlag())
        row->set(of, 1);
      else if (!parseNumber(*row, what, of))
        return false;
    }
  }

  /// The `{` behind attributes; where another word stands, the message lists them.
  template <class T>
  bool expectBody(std::span<const Attribute<T>> attributes) {
    if (accept('{')) return true;
    std::vector<std::string_view> words;
    for (const Attribute<T> &attribute : attributes) words.push_back(attribute.word);
    words.push_back("{");
    return unexpected(alternatives(words));
  }

private:
  bool isSound_ = true;
};

} // namespace imbrex::schedule

#include "backend/ir/attribute_text.h"
#include "backend/ir/constant_text.h"
#include "backend/ir/text.h"
#include "backend/ir/type_reader.h"
#include "backend/layout/layout_text.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace imbrex::ir {
namespace {

// Bodies within bodies: deeper than any program, shallow enough for a recursive parser's stack.
constexpr std::int32_t kDeepest = 200;

/// Parses one kernel by recursive descent. Each function leaves false, or nothing, behind an error
/// that it has reported; the first error ends the parse, because what follows it may only be an
/// echo.
class Parser : private TypeReader {
public:
  using TypeReader::TypeReader;

  std::optional<Kernel> run() {
    if (!parseHeader() || !parseOps(kernel_.body())) return std::nullopt;
    if (peek().kind != TokenKind::End) return unexpected("the end of the file"), std::nullopt;
    return std::move(kernel_);
  }

private:
  // --- values ---

  struct Definition {
    ValueId value;
    std::uint32_t line = 0;
    bool isVisible = true;
  };

  /// The name that a value goes by: %"a" is %a, but %"0" is not %0.
  std::optional<std::string> nameOf(const Token &token) {
    if (!token.text.starts_with('"')) return std::string(token.text);
    const auto name = unescaped(token.text.substr(1, token.text.size() - 2));
    if (!name) return error(Diag::TextBadEscape, token), std::nullopt;
    return isWord(*name) ? *name : '"' + *name;
  }

  bool define(const Token &token, ValueId value) {
    const auto name = nameOf(token);
    if (!name) return false;
    Definition &definition = values_[*name];
    if (definition.value.valid() && definition.isVisible)
      return error(Diag::TextDuplicateValue, token, shown(token), definition.line);
    definition = {.value = value, .line = token.line};
    scopes_.back().push_back(&definition);
    return true;
  }

  std::optional<ValueId> parseOperand() {
    const auto token = take(TokenKind::Value, "a value, such as %0");
    if (!token) return std::nullopt;
    const auto name = nameOf(*token);
    if (!name) return std::nullopt;
    const auto found = values_.find(*name);
    if (found != values_.end() && found->second.isVisible) return found->second.value;
    if (found == values_.end())
      error(Diag::TextUnknownValue, *token, shown(*token));
    else
      error(Diag::TextHiddenValue, *token, shown(*token), found->second.line);
    return std::nullopt;
  }

  /// `%name: type`, made by `make`.
  template <class Make>
  bool parseArgument(Make &&make) {
    const auto token = take(TokenKind::Value, "an argument, such as %i: i64");
    if (!token || !expect(':')) return false;
    const auto type = parseType();
    return type && define(*token, make(*token, *type));
  }

  // --- layouts ---

  /// `lanes 32 warps 4`
  bool parseThreads() {
    layout::Threads threads;
    if (!expectWord("lanes") || !parseCount(threads.lanes) || !expectWord("warps") ||
        !parseCount(threads.warps))
      return false;
    kernel_.setThreads(threads);
    return true;
  }

  bool parseCount(std::int32_t &count) {
    const auto token = take(TokenKind::Number, "a number of threads");
    if (!token) return false;
    return llvm::to_integer(token->text, count, 10) ||
           error(Diag::TextUnexpected, *token, "a number of threads", shown(*token));
  }

  /// The lines `layout #0 = …` in front of the ops.
  bool parseLayouts() {
    while (peek().is("layout")) {
      lexer().take();
      const auto name = take(TokenKind::Layout, "a layout's number, such as #0");
      if (!name) return false;
      if (!peek().is('=')) return unexpected("'='");
      const Token line = (lexer().take(), lexer().takeLine());
      const auto layout = layout::parseLayout(line.text);
      if (!layout) return error(Diag::TextBadLayout, line, layout.error());
      if (!layouts_.try_emplace(std::string(name->text), kernel_.addLayout(*layout)).second)
        return error(Diag::TextDuplicateLayout, *name, shown(*name));
    }
    return true;
  }

  /// The layout of a value, behind its type, where it has one.
  bool parseLayoutOf(ValueId value) {
    LayoutId layout;
    if (!parseLayoutUse(layout)) return false;
    kernel_.setLayout(value, layout);
    return true;
  }

  bool parseLayoutUse(LayoutId &layout) {
    if (peek().kind != TokenKind::Layout) return true;
    const Token token = lexer().take();
    const auto found = layouts_.find(token.text);
    if (found == layouts_.end()) return error(Diag::TextUnknownLayout, token, shown(token));
    layout = found->second;
    return true;
  }

  // --- kernel, ops ---

  std::optional<std::string> parseName() {
    if (peek().kind == TokenKind::String) return takeString("a name");
    const auto token = take(TokenKind::Word, "the kernel's name");
    if (!token) return std::nullopt;
    return std::string(token->text);
  }

  bool parseHeader() {
    const Token first = peek();
    kernel_.setWhere(place(first));
    if (peek().is("schedule")) return error(Diag::TextIsSchedule, peek());
    if (!expectWord("kernel") || !expect('@')) return false;
    const auto name = parseName();
    if (!name || !expect('(')) return false;
    kernel_.setName(*name);
    if (!parseList(')', [&] { return parseParameter(); }) || !expectWord("stage")) return false;
    const auto token = take(TokenKind::Word, "the kernel's stage");
    if (!token) return false;
    const auto *stage = std::ranges::find(kNames<Stage>, token->text);
    if (stage == std::end(kNames<Stage>))
      return error(Diag::TextUnknownStage, *token, shown(*token), alternatives(kNames<Stage>));
    kernel_.setStage(static_cast<Stage>(stage - std::begin(kNames<Stage>)));
    if (kernel_.hasLayouts() && !parseThreads()) return false;
    Attributes attributes = KernelAttrs{};
    if (!parseAttributes(attributes, first)) return false;
    kernel_.setAttributes(std::get<KernelAttrs>(attributes));
    if (accept('@')) {
      const auto where = parseLocation();
      if (!where) return false;
      kernel_.setWhere(*where);
    }
    return expect('{') && parseLayouts();
  }

  bool parseParameter() {
    return parseArgument([&](const Token &token, const Type &type) {
      const std::string name = nameOf(token).value_or("");
      return kernel_.addParameter(name.starts_with('"') ? name.substr(1) : name, type);
    });
  }

  /// The ops of a body whose `{` has been read, and its `}`.
  bool parseOps(Block &block) {
    while (!accept('}')) {
      auto op = parseOp();
      if (!op) return false;
      block.ops.push_back(std::move(op));
    }
    return true;
  }

  bool parseRegion(Op &op) {
    const Token start = peek();
    if (static_cast<std::int32_t>(scopes_.size()) > kDeepest)
      return error(Diag::TextTooDeep, start, kDeepest);
    scopes_.emplace_back();
    Block block;
    const auto argument = [&] {
      const bool isRead = parseArgument([&](const Token &, const Type &type) {
        block.arguments.push_back(kernel_.newValue(type));
        return block.arguments.back();
      });
      return isRead && parseLayoutOf(block.arguments.back());
    };
    if (accept('(') && !parseList(')', argument)) return false;
    if (!expect('{') || !parseOps(block)) return false;
    op.regions.push_back(std::move(block));
    for (Definition *definition : scopes_.back()) definition->isVisible = false;
    scopes_.pop_back();
    return true;
  }

  std::unique_ptr<Op> parseOp() {
    std::vector<Token> names;
    while (peek().kind == TokenKind::Value) {
      names.push_back(lexer().take());
      if (!accept(',')) break;
    }
    if (!names.empty() && !expect('=')) return nullptr;
    const auto mnemonic = take(TokenKind::Word, names.empty() ? "an op or '}'" : "an op");
    if (!mnemonic) return nullptr;
    const auto kind = opNamed(mnemonic->text);
    if (!kind) return reportUnknownOp(*mnemonic), nullptr;
    auto op = std::make_unique<Op>();
    op->kind = *kind;
    op->attributes = defaultAttributes(*kind);
    op->where = place(*mnemonic);
    if (!parseBody(*op, *mnemonic, names)) return nullptr;
    return op;
  }

  /// All of an op behind its mnemonic.
  bool parseBody(Op &op, const Token &mnemonic, const std::vector<Token> &names) {
    std::optional<Token> constant;
    if (op.kind == OpKind::Constant) {
      const TokenKind kind = peek().kind;
      if (kind != TokenKind::Number && kind != TokenKind::Word) return unexpected("a number");
      constant = lexer().take();
    }
    if (!parseOperands(op) || !parseAttributes(op.attributes, mnemonic)) return false;
    if (peek().is('(') || peek().is('{')) {
      if (!parseRegion(op)) return false;
      while (peek().is("else"))
        if (lexer().take(); !parseRegion(op)) return false;
    }
    if (!parseResults(op, mnemonic, names)) return false;
    if (constant && !setConstant(op, *constant)) return false;
    if (accept('@')) {
      auto where = parseLocation();
      if (!where) return false;
      if (where->known() && where->file != op.where.file) where->read = keepPlace(op.where);
      op.where = *where;
    }
    if (op.kind == OpKind::If && op.regions.size() == 1) addEmptyElse(op);
    return true;
  }

  bool parseOperands(Op &op) {
    if (peek().kind != TokenKind::Value || isNextLine(op)) return true;
    do {
      const auto operand = parseOperand();
      if (!operand) return false;
      op.operands.push_back(*operand);
    } while (accept(','));
    return true;
  }

  /// Whether the next token starts another line than the op: an op without operands, such as
  /// `yield`, would else take the results of the op below for its operands.
  bool isNextLine(const Op &op) const { return peek().line != op.where.line; }

  /// `owner`: the op's mnemonic, or the word `kernel`.
  bool parseAttributes(Attributes &attributes, const Token &owner) {
    std::vector<std::string_view> seen;
    if (!accept('[')) return true;
    return parseList(']', [&] {
      const auto name = take(TokenKind::Word, "an attribute");
      if (!name) return false;
      if (std::ranges::find(seen, name->text) != seen.end())
        return error(Diag::TextDuplicateAttribute, *name, shown(*name));
      seen.push_back(name->text);
      return parseAttribute(attributes, owner, *name);
    });
  }

  bool parseAttribute(Attributes &attributes, const Token &owner, const Token &name) {
    const auto fields = attributeFields(attributes);
    const auto field = std::ranges::find(fields, name.text, &AttributeField::name);
    if (field == fields.end()) return reportUnknownAttribute(owner, name, fields);
    if (!expect('=')) return false;
    const Token token = peek();
    const auto value = parseValue();
    if (!value) return false;
    std::int64_t number = 0;
    // In the numbers of a kernel it stands for those that nobody has chosen, and is not printed.
    const bool isZero = value->form == WrittenValue::Form::Number &&
                        llvm::to_integer(value->text, number, 10) && number == 0;
    if (isZero && std::holds_alternative<KernelAttrs>(attributes))
      return error(Diag::TextBadAttribute, token, shown(name),
                   "a whole number from 1 on, or left out to be chosen", shown(token));
    return setAttribute(attributes, name.text, *value) ||
           error(Diag::TextBadAttribute, token, shown(name), field->wanted, shown(token));
  }

  std::optional<WrittenValue> parseValue() {
    using Form = WrittenValue::Form;
    const Token token = peek();
    WrittenValue value;
    if (token.kind == TokenKind::String) {
      const auto text = takeString("a value");
      if (!text) return std::nullopt;
      value = {.form = Form::String, .text = *text, .elements = {}};
    } else if (token.is('[')) {
      lexer().take();
      value.form = Form::List;
      if (!parseList(']', [&] {
            const auto element = take(TokenKind::Number, "a whole number");
            if (element) value.elements.emplace_back(element->text);
            return element.has_value();
          }))
        return std::nullopt;
    } else if (token.kind == TokenKind::Number || token.kind == TokenKind::Word) {
      lexer().take();
      value.form = token.kind == TokenKind::Number ? Form::Number : Form::Word;
      value.text = token.text;
    } else {
      return unexpected("the attribute's value"), std::nullopt;
    }
    return value;
  }

  bool parseResults(Op &op, const Token &mnemonic, const std::vector<Token> &names) {
    llvm::SmallVector<Type, 2> types;
    llvm::SmallVector<LayoutId, 2> layouts;
    if (accept(':')) {
      do {
        const auto type = parseType();
        if (!type || !parseLayoutUse(layouts.emplace_back())) return false;
        types.push_back(*type);
      } while (accept(','));
    }
    if (types.size() != names.size())
      return error(Diag::TextResultCount, mnemonic, shown(mnemonic), names.size(), types.size());
    kernel_.addResults(op, types);
    for (std::size_t i = 0; i < names.size(); ++i) {
      kernel_.setLayout(op.results[i], layouts[i]);
      if (!define(names[i], op.results[i])) return false;
    }
    return true;
  }

  bool setConstant(Op &op, const Token &token) {
    if (op.results.empty()) return error(Diag::TextConstantWithoutType, token);
    const Type &type = kernel_.type(op.result());
    const auto bits = constantFromText(type, token.text);
    if (!bits) return error(Diag::TextBadConstant, token, toString(type), shown(token));
    op.attrs<ConstantAttrs>().bits = *bits;
    return true;
  }

  /// Behind the `@`.
  std::optional<Location> parseLocation() {
    if (peek().is("unknown")) return lexer().take(), Location{};
    const auto file = takeString("a file's name in quotes");
    if (!file || !expect(':')) return std::nullopt;
    const auto token = take(TokenKind::Number, "a line's number");
    if (!token) return std::nullopt;
    std::uint32_t line = 0;
    if (llvm::to_integer(token->text, line, 10))
      return Location{.file = internFileName(*file), .line = line};
    error(Diag::TextUnexpected, *token, "a line's number", shown(*token));
    return std::nullopt;
  }

  void addEmptyElse(Op &op) {
    auto yield = std::make_unique<Op>();
    yield->kind = OpKind::Yield;
    yield->where = op.where;
    op.regions.emplace_back().ops.push_back(std::move(yield));
  }

  bool reportUnknownOp(const Token &token) {
    std::vector<std::string_view> names;
    for (const OpKind kind : allOpKinds()) names.push_back(info(kind).mnemonic);
    return error(Diag::TextUnknownOp, token, shown(token),
                 suggestion(token.text, names, "docs/ir.md lists the ops"));
  }

  bool reportUnknownAttribute(const Token &owner, const Token &name,
                              const std::vector<AttributeField> &fields) {
    std::vector<std::string_view> names;
    for (const AttributeField &field : fields) names.push_back(field.name);
    const std::string all = names.empty() ? "it has none" : "it has " + alternatives(names);
    return error(Diag::TextUnknownAttribute, name, shown(owner), shown(name),
                 suggestion(name.text, names, all));
  }

  Kernel kernel_;
  std::map<std::string, Definition, std::less<>> values_;
  std::vector<std::vector<Definition *>> scopes_{1};
  std::map<std::string, LayoutId, std::less<>> layouts_;
};

} // namespace

std::optional<Kernel> parse(std::string_view text, std::string_view fileName,
                            Diagnostics &diagnostics) {
  return Parser(text, fileName, diagnostics).run();
}

} // namespace imbrex::ir

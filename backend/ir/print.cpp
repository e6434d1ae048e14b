#include "backend/ir/attribute_text.h"
#include "backend/ir/constant_text.h"
#include "backend/ir/layout_numbers.h"
#include "backend/ir/text.h"
#include "backend/layout/layout_text.h"
#include "backend/support/lexer.h"

#include <unordered_map>

namespace imbrex::ir {
namespace {

/// Prints one kernel. Values get their numbers when their definition is printed.
class Printer {
public:
  Printer(const Kernel &kernel, const PrintOptions &options) : kernel_(kernel), options_(options) {}

  std::string run() {
    text_ += "kernel @" + wordOrQuoted(kernel_.name()) + "(";
    printParameters();
    text_ += ") stage " + std::string(kNames<Stage>[static_cast<std::size_t>(kernel_.stage())]);
    if (kernel_.hasLayouts()) printThreads();
    printChanged(kernel_.attributes(), KernelAttrs{});
    if (options_.locations) printLocation(kernel_.where());
    text_ += " {\n";
    printLayouts();
    for (const auto &op : kernel_.body().ops) printOp(*op, 1);
    text_ += "}\n";
    return std::move(text_);
  }

private:
  static std::string wordOrQuoted(std::string_view name) {
    return isWord(name) ? std::string(name) : quoted(name);
  }

  void printParameters() {
    for (std::size_t i = 0; i < kernel_.body().arguments.size(); ++i) {
      const ValueId value = kernel_.body().arguments[i];
      names_[value] = "%" + wordOrQuoted(kernel_.parameterName(i));
      text_ += (i == 0 ? "" : ", ") + names_[value] + ": " + toString(kernel_.type(value));
    }
  }

  void printThreads() {
    text_ += " lanes " + std::to_string(kernel_.threads().lanes) + " warps " +
             std::to_string(kernel_.threads().warps);
  }

  void printLayouts() {
    for (const LayoutId layout : layoutsInOrder(kernel_)) {
      const std::string name = "#" + std::to_string(layouts_.size());
      text_ += "  layout " + name + " = " + layout::toText(kernel_.layout(layout)) + "\n";
      layouts_[layout] = name;
    }
  }

  bool isListed(LayoutId layout) const { return layout.index() < kernel_.layouts().size(); }

  /// A value's type, and how the threads hold it.
  std::string typeText(ValueId value) const {
    const LayoutId layout = kernel_.layoutOf(value);
    return toString(kernel_.type(value)) + (isListed(layout) ? " " + layouts_.at(layout) : "");
  }

  void define(ValueId value) { names_[value] = "%" + std::to_string(definitions_++); }

  std::string name(ValueId value) const {
    const auto found = names_.find(value);
    return found != names_.end() ? found->second : "%?";
  }

  void printList(llvm::ArrayRef<ValueId> values) {
    for (std::size_t i = 0; i < values.size(); ++i) text_ += (i == 0 ? "" : ", ") + name(values[i]);
  }

  void printOp(const Op &op, std::size_t depth) {
    for (const ValueId result : op.results) define(result);
    text_.append(2 * depth, ' ');
    printList(op.results);
    if (!op.results.empty()) text_ += " = ";
    text_ += info(op.kind).mnemonic;
    if (op.kind == OpKind::Constant) printConstant(op);
    if (!op.operands.empty()) text_ += " ";
    printList(op.operands);
    printChanged(op.attributes, defaultAttributes(op.kind));
    for (std::size_t i = 0; i < op.regions.size(); ++i)
      if (i == 0 || !isImplied(op, op.regions[i])) printRegion(op.regions[i], i > 0, depth);
    for (std::size_t i = 0; i < op.results.size(); ++i)
      text_ += (i == 0 ? " : " : ", ") + typeText(op.results[i]);
    if (options_.locations) printLocation(op.where);
    text_ += "\n";
  }

  void printConstant(const Op &op) {
    const auto *attributes = std::get_if<ConstantAttrs>(&op.attributes);
    if (!attributes || op.results.empty()) return;
    text_ += " " + constantToText(kernel_.type(op.result()), attributes->bits);
  }

  /// Those that are not as they are where nobody says anything.
  void printChanged(const Attributes &attributes, const Attributes &usual) {
    const auto fields = attributeFields(attributes);
    const auto defaults = attributeFields(usual);
    std::string list;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i < defaults.size() && fields[i].value == defaults[i].value) continue;
      (list += list.empty() ? "" : ", ") += std::string(fields[i].name) + " = " + fields[i].value;
    }
    if (!list.empty()) text_ += " [" + list + "]";
  }

  /// An else that does nothing is not printed; the parser puts it back.
  bool isImplied(const Op &op, const Block &otherwise) const {
    if (op.kind != OpKind::If || op.regions.size() != 2) return false;
    if (!otherwise.arguments.empty() || otherwise.ops.size() != 1) return false;
    const Op &last = *otherwise.ops[0];
    if (last.kind != OpKind::Yield || !last.operands.empty() || !last.results.empty() ||
        !last.regions.empty())
      return false;
    return !options_.locations || last.where == op.where;
  }

  void printRegion(const Block &block, bool isElse, std::size_t depth) {
    if (isElse) text_ += " else";
    for (std::size_t i = 0; i < block.arguments.size(); ++i) {
      define(block.arguments[i]);
      text_ +=
          (i == 0 ? " (" : ", ") + name(block.arguments[i]) + ": " + typeText(block.arguments[i]);
    }
    text_ += block.arguments.empty() ? " {\n" : ") {\n";
    for (const auto &op : block.ops) printOp(*op, depth + 1);
    text_.append(2 * depth, ' ');
    text_ += "}";
  }

  void printLocation(const Location &where) {
    if (!where.known())
      text_ += " @ unknown";
    else
      text_ += " @ " + quoted(where.file) + ":" + std::to_string(where.line);
  }

  const Kernel &kernel_;
  const PrintOptions &options_;
  std::string text_;
  std::unordered_map<ValueId, std::string> names_;
  std::unordered_map<LayoutId, std::string> layouts_;
  std::size_t definitions_ = 0;
};

} // namespace

std::string print(const Kernel &kernel, const PrintOptions &options) {
  return Printer(kernel, options).run();
}

} // namespace imbrex::ir

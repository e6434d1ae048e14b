// docs/ir.md: prose by hand, and between its marks what the tables say.
//
//   <!-- made of backend/ir/ops.def -->
//   …
//   <!-- end -->

#include "backend/ir/attribute_text.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/support/environment.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

constexpr std::string_view kEnd = "<!-- end -->";

// The topics of ops.def, each from its first op on.
const std::map<OpKind, std::string_view> kTopics = {
    {OpKind::Constant, "Values from nothing"},
    {OpKind::Neg, "Elementwise arithmetic"},
    {OpKind::Eq, "Comparison, choice, conversion"},
    {OpKind::Broadcast, "Shape"},
    {OpKind::PointerAdd, "Memory"},
    {OpKind::Reduce, "Along an axis"},
    {OpKind::Dot, "Products"},
    {OpKind::Philox, "Random"},
    {OpKind::Print, "Effects seen outside"},
    {OpKind::For, "Control flow"},
    {OpKind::ConvertLayout, "Layouts, from stage laid on"},
    {OpKind::RingNew, "Rings, at stage scheduled only"},
    {OpKind::VarNew, "Variables, at stage traced only"},
};

std::string between(std::int32_t fewest, std::int32_t most) {
  if (fewest == most) return fewest == kMany ? "any" : std::to_string(fewest);
  return std::to_string(fewest) + (most == kMany ? " or more" : "-" + std::to_string(most));
}

std::string_view wordFor(Effect effect) {
  switch (effect) {
  case Effect::Pure: return "none";
  case Effect::Read: return "reads";
  case Effect::Write: return "writes";
  case Effect::Atomic: return "atomic";
  case Effect::Observe: return "seen outside";
  case Effect::Structure: return "its bodies'";
  case Effect::End: return "ends a body";
  case Effect::Leave: return "may leave";
  case Effect::Variable: return "variable";
  case Effect::Ring: return "ring";
  }
  return "";
}

std::string_view wordFor(Domain domain) {
  switch (domain) {
  case Domain::Any: return "";
  case Domain::Plain: return "bools, integers, floats";
  case Domain::Number: return "integers, floats";
  case Domain::Floating: return "floats";
  case Domain::Integer: return "integers";
  case Domain::Bits: return "bools, integers";
  }
  return "";
}

std::string_view wordFor(ElementFamily family) {
  switch (family) {
  case ElementFamily::Bool: return "bool";
  case ElementFamily::Signed: return "integer, signed";
  case ElementFamily::Unsigned: return "integer, unsigned";
  case ElementFamily::Float: return "float";
  case ElementFamily::NarrowFloat: return "narrow float";
  }
  return "";
}

/// The first line of the golden files that shows an op.
std::string exampleOf(std::string_view mnemonic) {
  for (const auto &path : testing::goldenFiles("ir"))
    for (const auto &one : testing::goldenCases(testing::readFile(path))) {
      std::istringstream lines(one.expected);
      for (std::string line; std::getline(lines, line);) {
        line.erase(0, line.find_first_not_of(' '));
        const std::size_t equals = line.find(" = ");
        const bool hasResults = line.starts_with('%') && equals != std::string::npos;
        const std::string op = hasResults ? line.substr(equals + 3) : line;
        if (op == mnemonic || op.starts_with(std::string(mnemonic) + " "))
          return line.ends_with('{') ? line + " … }" : line;
      }
    }
  return "";
}

std::string attributesOf(OpKind kind) {
  std::string text;
  for (const AttributeField &field : attributeFields(defaultAttributes(kind)))
    (text += text.empty() ? "" : ", ") += "`" + std::string(field.name) + " = " + field.value + "`";
  return text;
}

std::string opTables() {
  std::string text, examples;
  const auto closeTopic = [&] {
    if (!examples.empty()) text += "\n```\n" + examples + "```\n";
    examples.clear();
  };
  for (const OpKind kind : allOpKinds()) {
    const OpInfo &row = info(kind);
    if (const auto topic = kTopics.find(kind); topic != kTopics.end()) {
      closeTopic();
      text += "\n### " + std::string(topic->second) +
              "\n\n| op | in | out | on | effect | attributes and defaults | meaning |\n"
              "|---|---|---|---|---|---|---|\n";
    }
    std::ostringstream line;
    line << "| `" << row.mnemonic << "` | " << between(row.fewestOperands, row.mostOperands)
         << " | " << between(row.results, row.results) << " | " << wordFor(row.domain) << " | "
         << wordFor(row.effect) << " | " << attributesOf(kind) << " | " << row.meaning << " |\n";
    text += line.str();
    examples += exampleOf(row.mnemonic) + "\n";
  }
  closeTopic();
  return text;
}

std::string attributeTable() {
  std::map<std::string, std::string, std::less<>> rows; // "name: what" to the ops that have it
  for (const OpKind kind : allOpKinds())
    for (const AttributeField &field : attributeFields(defaultAttributes(kind))) {
      std::string wanted = field.wanted;
      std::ranges::replace(wanted, '\'', '`');
      std::string &ops = rows["| `" + std::string(field.name) + "` | " + wanted + " |"];
      (ops += ops.empty() ? " " : ", ") += "`" + std::string(info(kind).mnemonic) + "`";
    }
  std::string text = "\n| attribute | values | of |\n|---|---|---|\n";
  for (const auto &[row, ops] : rows) text += row + ops + " |\n";
  return text;
}

std::string elementTable() {
  std::string text = "\n| element | bits | bits in memory | family |\n|---|---|---|---|\n";
  for (const ElementKind kind : allElementKinds()) {
    std::ostringstream line;
    line << "| `" << info(kind).name << "` | " << info(kind).bits << " | " << storageBits(kind)
         << " | " << wordFor(info(kind).family) << " |\n";
    text += line.str();
  }
  return text;
}

/// The page with its parts made anew.
std::string refreshed(const std::string &page) {
  const std::map<std::string_view, std::string> parts = {
      {"<!-- made of backend/ir/element_types.def -->\n", elementTable()},
      {"<!-- made of backend/ir/ops.def -->\n", opTables()},
      {"<!-- made of backend/ir/attributes.h -->\n", attributeTable()}};
  std::string text = page;
  for (const auto &[mark, part] : parts) {
    const std::size_t begin = text.find(mark);
    REQUIRE_MESSAGE(begin != std::string::npos, "docs/ir.md has no ", std::string(mark));
    const std::size_t from = begin + mark.size(), end = text.find(kEnd, from);
    REQUIRE(end != std::string::npos);
    text.replace(from, end - from, part + "\n");
  }
  return text;
}

} // namespace

TEST_CASE("docs/ir.md says what the tables say") {
  const std::filesystem::path path = "../../docs/ir.md";
  const std::string page = testing::readFile(path), wanted = refreshed(page);
  if (environment().updateGolden)
    std::ofstream(path, std::ios::binary) << wanted;
  else
    CHECK_MESSAGE(page == wanted, "docs/ir.md is stale: run the golden tests with "
                                  "IMBREX_UPDATE_GOLDEN=1");
}

TEST_CASE("the kernel that docs/ir.md begins with is valid") {
  const std::string page = testing::readFile("../../docs/ir.md");
  const std::size_t begin = page.find("# One block"), end = page.find("```", begin);
  REQUIRE(end != std::string::npos);
  Diagnostics diagnostics;
  const auto kernel = parse(page.substr(begin, end - begin), "ir.md", diagnostics);
  CHECK_MESSAGE((kernel && verify(*kernel, diagnostics)), diagnostics.render());
}

TEST_CASE("every op has an example in docs/ir.md") {
  for (const OpKind kind : allOpKinds()) {
    CAPTURE(info(kind).mnemonic);
    CHECK(!exampleOf(info(kind).mnemonic).empty());
  }
}

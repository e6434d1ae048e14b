// Which matrix instructions products come to: on each machine all that it has, but for those that
// docs/matrix-units.md lists with the reason. Its tables of these, and of what elements products
// are multiplied as, are made here.

#include "backend/analysis/matrix_product.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/passes/units/choose_units.h"
#include "backend/pipeline.h"
#include "backend/support/environment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "tests/codegen/matrix_text.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace imbrex;
using namespace imbrex::testing;
using machine::BlockScale;
using machine::FragmentForm;
using machine::MatrixElement;
using machine::MmaInstruction;

namespace {

/// Why no product comes to some rows.
struct Reason {
  std::string_view rows, why;
  bool (*covers)(const MmaInstruction &row);
};

constexpr Reason kReasons[] = {
    {"sums of f16 and bf16", "the sums of a product of floats are f32",
     [](const MmaInstruction &row) {
       return row.sums == MatrixElement::F16 || row.sums == MatrixElement::BF16;
     }},
    {"i8 by u8, u8 by i8", "both sides of `dot` have one type, but for 8-bit floats",
     [](const MmaInstruction &row) { return row.sums == MatrixElement::I32 && row.a != row.b; }},
    {"sm_120a: `kind::f8f6f4` without scales, f32",
     "an f4e2m1 without scales is multiplied with block scales of 1, packed where both are",
     [](const MmaInstruction &row) {
       return row.form == FragmentForm::MmaSyncBytes && !row.isScaled() &&
              row.sums == MatrixElement::F32;
     }},
    {"gfx950: `f8f6f4` without scales, with an f4", "the same",
     [](const MmaInstruction &row) {
       return row.form == FragmentForm::MfmaFormats && !row.isScaled() &&
              (row.a == MatrixElement::F4E2M1 || row.b == MatrixElement::F4E2M1);
     }},
    {"gfx1250: `f8f6f4`, `f4` without scales",
     "the same; 8-bit floats have instructions of their own",
     [](const MmaInstruction &row) {
       return row.form == FragmentForm::WmmaFormats && !row.isScaled();
     }},
    {"gfx1250: scales of e8m0 for 16, of e4m3 for 32",
     "the language has e8m0 for each 32 along k, f8e4m3fn for each 16",
     [](const MmaInstruction &row) {
       return row.scale == BlockScale{MatrixElement::E8M0, 16} ||
              row.scale == BlockScale{MatrixElement::F8E4M3FN, 32};
     }},
    {"sm_120a: `mxf8f6f4` on f4 by f4", "`mxf4` is twice as deep in the same cycles",
     [](const MmaInstruction &row) {
       const llvm::StringRef name(row.intrinsic);
       return name.contains("mxf8f6f4") && name.contains(".e2m1.e2m1.");
     }},
    {"`mxf4nvf4` with two scales of e8m0", "`mxf4` is the same product",
     [](const MmaInstruction &row) {
       return llvm::StringRef(row.intrinsic).contains("mxf4nvf4") &&
              row.scale.element == MatrixElement::E8M0;
     }},
    {"gfx90a: MFMA on bf16 without `1k`", "half as deep in the same cycles",
     [](const MmaInstruction &row) {
       return row.form == FragmentForm::Mfma && row.machines == " gfx90a " &&
              llvm::StringRef(row.intrinsic).ends_with("bf16");
     }},
};

std::size_t reasonsFor(const MmaInstruction &row) {
  return static_cast<std::size_t>(
      llvm::count_if(kReasons, [&](const Reason &reason) { return reason.covers(row); }));
}

// --- what products come to ---

/// Scales of an operand; k = 0: it has none.
struct Scales {
  std::string element;
  std::int64_t k = 0;
};

/// A product that the language may or may not have.
struct Asked {
  std::string a, b, sums;
  std::string attributes = {};
  bool isScaled = false; ///< A dot_scaled.
  Scales scaleA = {}, scaleB = {};
};

struct TileExtents {
  std::int64_t m, n, k;
};

std::string textOf(const Asked &of, const TileExtents &tile) {
  const MatrixText text(0);
  std::string parameters, loads, operands = "%a, %b, %c";
  const auto load = [&](const std::string &name, const std::string &element,
                        const std::string &extents) {
    parameters += std::string(parameters.empty() ? "" : ", ") + "%v" + name + ": view<const " +
                  element + ", 2>";
    loads += "%" + name + " = view.load %v" + name + ", %0, %0 : " + element + extents + "\n";
  };
  const auto scaleBy = [&](const std::string &name, const Scales &scales, std::int64_t rows) {
    if (scales.k == 0) return;
    load(name, scales.element, text.extents(rows, tile.k / scales.k));
    operands += ", %" + name;
  };
  load("a", of.a, text.extents(tile.m, tile.k));
  load("b", of.b, text.extents(tile.k, tile.n));
  load("c", of.sums, text.extents(tile.m, tile.n));
  scaleBy("sa", of.scaleA, tile.m);
  scaleBy("sb", of.scaleB, tile.n);
  return "kernel @k(" + parameters + ", %vd: view<" + of.sums +
         ", 2>) stage tiles {\n%0 = constant 0 : i64\n" + loads +
         "%d = " + (of.isScaled ? "dot_scaled " : "dot ") + operands + of.attributes + " : " +
         of.sums + text.extents(tile.m, tile.n) + "\nview.store %vd, %d, %0, %0\n}\n";
}

/// Nothing where the language has no such product.
std::optional<ir::Kernel> kernelOf(const Asked &of, const TileExtents &tile) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(textOf(of, tile), "k.imx", diagnostics);
  if (!kernel || !ir::verify(*kernel, diagnostics)) return std::nullopt;
  return kernel;
}

constexpr const char *kElements[] = {
#define IMBREX_MATRIX_ELEMENT(Kind, name, bits) name,
#include "backend/machine/matrix_elements.def"
};

const std::vector<Scales> &allScales() {
  static const std::vector<Scales> all{
      {}, {"e8m0", 32}, {"e8m0", 16}, {"f8e4m3fn", 32}, {"f8e4m3fn", 16}};
  return all;
}

std::vector<Asked> asked() {
  std::vector<Asked> all;
  for (const std::string a : kElements)
    for (const std::string b : kElements) {
      for (const std::string sums : {"f16", "bf16", "f32", "f64", "i32"})
        for (const std::string attributes : {"", " [precision = tf32]"})
          all.push_back({.a = a, .b = b, .sums = sums, .attributes = attributes});
      for (const Scales &scaleA : allScales())
        for (const Scales &scaleB : allScales())
          all.push_back({.a = a,
                         .b = b,
                         .sums = "f32",
                         .attributes = std::string(" [scale_a = ") +
                                       (scaleA.k > 0 ? "true" : "false") +
                                       ", scale_b = " + (scaleB.k > 0 ? "true" : "false") + "]",
                         .isScaled = true,
                         .scaleA = scaleA,
                         .scaleB = scaleB});
    }
  return all;
}

using TakenRows = std::set<std::pair<const machine::Machine *, const MmaInstruction *>>;

void take(const ir::Kernel &kernel, TakenRows &taken) {
  for (const machine::Machine &machine : machine::allMachines()) {
    ir::Kernel chosen = kernel.clone();
    Diagnostics diagnostics;
    passes::chooseUnits(chosen, {diagnostics, machine});
    ir::walk(chosen.body(), [&](const ir::Op &op) {
      if (!ir::isProduct(op)) return;
      if (const MmaInstruction *unit = analysis::unitOf(chosen, op, machine))
        taken.insert({&machine, unit});
    });
  }
}

/// By products of all that the language multiplies, of tiles of several sizes.
TakenRows takenRows() {
  TakenRows taken;
  for (const Asked &one : asked()) {
    if (!kernelOf(one, {32, 32, 32})) continue;
    for (const std::int64_t extent : {8, 16, 32, 128})
      for (const std::int64_t k : {4, 8, 16, 32, 64, 128})
        if (const auto kernel = kernelOf(one, {extent, extent, k})) take(*kernel, taken);
  }
  return taken;
}

// --- the page ---

/// The rows of each reason, counted.
std::string reasonTable() {
  const auto row = [](std::string_view rows, const std::string &count, std::string_view why) {
    return "| " + std::string(rows) + " | " + count + " | " + std::string(why) + " |\n";
  };
  const auto all = machine::allMmaInstructions();
  std::string text = row("rows", "how many", "why") + "|---|---|---|\n";
  std::int64_t untaken = 0;
  for (const Reason &reason : kReasons) {
    const auto count = llvm::count_if(all, reason.covers);
    untaken += count;
    text += row(reason.rows, std::to_string(count), reason.why);
  }
  return text +
         row("all of these", std::to_string(untaken) + " of " + std::to_string(all.size()), "");
}

/// Products of one element type, and what `precision` they have.
struct Factor {
  std::string element;
  std::string precision = {};
  std::string sums = "f32";

  std::string heading() const { return precision.empty() ? element : element + ", " + precision; }
};

const std::vector<Factor> &allFactors() {
  static const std::vector<Factor> all{{"f64", "", "f64"}, {"f32"},       {"f32", "tf32"},
                                       {"bf16"},           {"f16"},       {"i8", "", "i32"},
                                       {"u8", "", "i32"},  {"f8e4m3fn"},  {"f8e5m2"},
                                       {"f8e4m3fnuz"},     {"f8e5m2fnuz"}};
  return all;
}

/// `unit` of one that takes them as they are, else as what it has them.
std::string multipliedAs(const Factor &factor, const machine::Machine &machine) {
  auto kernel = kernelOf(
      {.a = factor.element,
       .b = factor.element,
       .sums = factor.sums,
       .attributes = factor.precision.empty() ? "" : " [precision = " + factor.precision + "]"},
      {64, 64, 64});
  REQUIRE(kernel);
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, machine);
  REQUIRE(runPasses(*kernel, gpuPipeline(), context, "choose-units"));
  std::string name = "–";
  ir::walk(kernel->body(), [&](const ir::Op &op) {
    if (!ir::isProduct(op)) return;
    if (const MmaInstruction *unit = analysis::unitOf(*kernel, op, machine))
      name = machine::nameOf(unit->a);
  });
  return name == (factor.precision.empty() ? factor.element : factor.precision) ? "unit" : name;
}

/// A row for all machines that have the same.
std::string elementTable() {
  std::string heading = "| |", rule = "|---|";
  for (const Factor &factor : allFactors())
    heading += " " + factor.heading() + " |", rule += "---|";
  std::vector<std::pair<std::string, std::string>> rows; // cells, and the machines that have them
  for (const machine::Machine &machine : machine::allMachines()) {
    if (machine.family == machine::Family::Cpu) continue;
    std::string cells;
    for (const Factor &factor : allFactors()) cells += " " + multipliedAs(factor, machine) + " |";
    const auto same = llvm::find_if(rows, [&](const auto &row) { return row.first == cells; });
    if (same == rows.end())
      rows.emplace_back(cells, machine.name);
    else
      same->second += ", " + std::string(machine.name);
  }
  std::string text = heading + "\n" + rule + "\n";
  for (const auto &[cells, names] : rows) text += "| " + names + " |" + cells + "\n";
  return text;
}

std::string withPart(std::string page, const std::string &mark, const std::string &part) {
  const std::string line = "<!-- made of tests/codegen/untaken_rows_test.cpp: " + mark + " -->\n";
  const std::size_t begin = page.find(line), end = page.find("<!-- end -->", begin);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::size_t from = begin + line.size();
  return page.replace(from, end - from, "\n" + part + "\n");
}

} // namespace

TEST_CASE("products come to every row of a machine but those that there is a reason for") {
  const TakenRows taken = takenRows();
  for (const machine::Machine &machine : machine::allMachines())
    for (const MmaInstruction *row : mmaInstructionsOf(machine)) {
      CAPTURE(std::string(machine.name));
      CAPTURE(std::string(row->intrinsic));
      CAPTURE(std::string(machine::nameOf(row->a)));
      CAPTURE(std::string(machine::nameOf(row->b)));
      CAPTURE(row->scale.k);
      CHECK(reasonsFor(*row) == (taken.contains({&machine, row}) ? 0 : 1));
    }
}

TEST_CASE("docs/matrix-units.md says what elements are multiplied as, and lists untaken rows") {
  const char *path = "../../docs/matrix-units.md";
  const std::string page = readFile(path),
                    wanted =
                        withPart(withPart(page, "elements", elementTable()), "rows", reasonTable());
  if (environment().updateGolden)
    std::ofstream(path, std::ios::binary) << wanted;
  else
    CHECK_MESSAGE(page == wanted, "docs/matrix-units.md is stale: run codegen_unit_products with "
                                  "IMBREX_UPDATE_GOLDEN=1");
}

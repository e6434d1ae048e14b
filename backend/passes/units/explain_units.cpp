#include "backend/passes/units/explain_units.h"

#include "backend/ir/products.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace imbrex::passes::units {
namespace {

using namespace ir;

std::string nameOf(const Op &op) {
  return "'" + std::string(info(op.kind).mnemonic) + "' at " + toText(op.where);
}

class Explainer {
public:
  Explainer(const Kernel &kernel, const Product &product, const machine::Machine &machine,
            std::int32_t warps)
      : kernel_(kernel), product_(product), machine_(machine), warps_(warps) {}

  std::string operator()() const {
    const Candidate &taken = product_.choice();
    const machine::MmaInstruction &unit = *taken.unit;
    const UnitAttrs attrs = attrsFor(product_, unit, warps_);
    std::string text = llvm::formatv("{0}: {1}, {2} x {3} x {4}, by warps [{5}]: {6}{7}\n",
                                     nameOf(*product_.op), unit.intrinsic, unit.m, unit.n, unit.k,
                                     joined(attrs.warps), cyclesOf(taken), paddingOf(taken));
    text += castsOf(taken);
    if (product_.candidates.size() == 1)
      text += llvm::formatv("  {0} has no other instruction for these elements\n", machine_.name);
    if (const Candidate *next = bestOther(false)) text += "  next best: " + whyNot(*next);
    if (const Candidate *refused = bestOther(true)) text += "  refused: " + whyNot(*refused);
    return text;
  }

private:
  const Candidate *bestOther(bool isRefused) const {
    const Candidate *best = nullptr;
    for (const Candidate &candidate : product_.candidates)
      if (&candidate != &product_.choice() && (candidate.refusal != Refusal::None) == isRefused &&
          (!best || isBetter(candidate, *best)))
        best = &candidate;
    return best;
  }

  /// A line for both operands, or for one of them, that the unit does not take as they are.
  std::string castsOf(const Candidate &candidate) const {
    const std::string a = castOf(0, candidate.elements.a, candidate),
                      b = castOf(1, candidate.elements.b, candidate);
    const auto line = [](const std::string &who, const std::string &cast) {
      return cast.empty() ? "" : "  " + who + " " + cast + "\n";
    };
    return a == b ? line("a and b are", a) : line("a is", a) + line("b is", b);
  }

  std::string castOf(std::size_t operand, ElementKind taken, const Candidate &candidate) const {
    if (candidate.elements.scale.k != 0) return {}; // the unit multiplies by the scales
    const std::string name(nameAs(taken, candidate));
    if (product_.op->kind == OpKind::DotScaled && scaleOf(*product_.op, operand))
      return "multiplied by scales, as " + name;
    const ElementKind own = elementOf(kernel_, *product_.op, operand);
    if (own == taken) return {};
    return "cast from " + std::string(info(own).name) + " to " + name + ", exactly";
  }

  std::string cyclesOf(const Candidate &candidate) const {
    const auto [each, isKnown] = machine::unitCycles(machine_, *candidate.unit);
    return llvm::formatv("{0} a warp, {1} cycles of a unit{2}", candidate.ofWarp,
                         candidate.ofWarp * each,
                         isKnown ? "" : ", which no document says and is a guess");
  }

  std::string paddingOf(const Candidate &candidate) const {
    const std::int64_t made = candidate.multiplications(),
                       wanted = product_.shape.multiplications();
    if (made == wanted) return "";
    return llvm::formatv("; {0} % of it is padding", 100 - 100 * wanted / made);
  }

  std::string whyNot(const Candidate &other) const {
    return llvm::formatv("{0}, {1}: {2}\n", other.unit->intrinsic, priceOf(other), reasonOf(other));
  }

  /// By what it was compared to what is taken.
  std::string priceOf(const Candidate &candidate) const {
    const Candidate &taken = product_.choice();
    if (candidate.isInCycles || candidate.way != taken.way) return cyclesOf(candidate);
    return llvm::formatv("{0} a warp, {1} multiplications for {2}, as not all cycles are known",
                         candidate.ofWarp, candidate.costOfWarp(), taken.costOfWarp());
  }

  std::string reasonOf(const Candidate &other) const {
    switch (other.refusal) {
    case Refusal::None: return whyLost(other);
    case Refusal::LowerPrecision: return "the product's precision does not allow tf32";
    case Refusal::FlushesSubnormals:
      return "it flushes subnormals, which operands cast to " + elementsOf(other) + " have";
    case Refusal::TooFewPieces: return whyTooFew(other);
    }
    return {};
  }

  static std::string_view nameAs(ElementKind element, const Candidate &candidate) {
    return candidate.elements.precision == Precision::Tf32 ? "tf32" : info(element).name;
  }

  std::string elementsOf(const Candidate &candidate) const {
    const std::string_view a = nameAs(candidate.elements.a, candidate),
                           b = nameAs(candidate.elements.b, candidate);
    return std::string(a) + (a == b ? "" : " and " + std::string(b));
  }

  std::string whyTooFew(const Candidate &other) const {
    const Pieces pieces = piecesOf(product_.shape, *other.unit);
    const bool isOfRows = product_.sharing == Sharing::Rows;
    return counted(isOfRows ? pieces.rows : pieces.columns, "piece") + " along " +
           (isOfRows ? "rows" : "columns") + " for " + counted(warps_, "warp") +
           ": sums would not lie as the other product's fragments";
  }

  std::string whyLost(const Candidate &other) const {
    const Candidate &taken = product_.choice();
    const std::string_view what = taken.isInCycles ? "cycles" : "multiplications";
    if (other.way != taken.way)
      return "operands as " + elementsOf(other) + " take more to make than as " + elementsOf(taken);
    if (other.exchange > taken.exchange && other.costOfWarp() <= taken.costOfWarp())
      return "sums would pass through shared memory to the other product";
    if (other.time != taken.time)
      return llvm::formatv("more {0}{1}{2}", what, idleOf(other), paddingOf(other));
    if (other.cost() != taken.cost())
      return llvm::formatv("more {0} of all warps together{1}", what, paddingOf(other));
    if (other.instructions != taken.instructions)
      return llvm::formatv("as many {0}, in more instructions", what);
    return "as good, and behind it in the table";
  }

  std::string idleOf(const Candidate &candidate) const {
    const std::int64_t pieces = piecesOf(product_.shape, *candidate.unit).all();
    if (pieces >= warps_) return "";
    return ", as " + counted(warps_, "warp") + " share " + counted(pieces, "piece");
  }

  const Kernel &kernel_;
  const Product &product_;
  const machine::Machine &machine_;
  std::int32_t warps_;
};

std::string whyNoUnit(const Kernel &kernel, const Op &dot, const machine::Machine &machine,
                      llvm::ArrayRef<Candidate> candidates) {
  if (const Candidate *best = bestOf(candidates)) // which is not worthwhile
    return "of " + std::string(best->unit->intrinsic) + " one multiplication in " +
           std::to_string(best->multiplications() / shapeOf(kernel, dot).multiplications()) +
           " would be wanted; tiles of more rows or columns would use it";
  const ElementKind a = elementOf(kernel, dot, 0), b = elementOf(kernel, dot, 1),
                    sums = kernel.type(dot.result()).element();
  std::string why = "no matrix instruction of " + std::string(machine.name) + " multiplies " +
                    std::string(info(a).name) + " by " + std::string(info(b).name) + " onto " +
                    std::string(info(sums).name);
  if (llvm::any_of(candidates, [](const Candidate &candidate) {
        return candidate.refusal == Refusal::LowerPrecision;
      }))
    return why + "; with precision tf32 or tf32x3 one does";
  const auto ofParts = [&] {
    return candidatesFor(machine, kernel, dot, {ElementKind::BF16, ElementKind::BF16});
  };
  if (a == ElementKind::F32 && b == a && dot.kind == OpKind::Dot && !ofParts().empty() &&
      machine::hasBf16Op(machine, "cast"))
    why += "; with precision bf16x3 one does"; // as split-products decides
  return why;
}

std::string wantedIn(const WarpTrial &trial) {
  return llvm::formatv("{0} of {1} by {2}", trial.wanted, trial.had, counted(trial.warps, "warp"));
}

} // namespace

std::string explainUnits(const Kernel &kernel, llvm::ArrayRef<Product> products,
                         const WarpChoice &choice, const machine::Machine &machine) {
  std::string text;
  for (const Product &product : products)
    text += Explainer(kernel, product, machine, choice.warps)();
  text += "registers of a thread for products: " +
          wantedIn(trialOf(kernel, products, machine, choice.warps));
  if (kernel.attributes().warps > 0) text += ", as is asked";
  if (choice.fewer) text += "; " + wantedIn(*choice.fewer);
  if (choice.more) text += "; " + wantedIn(*choice.more) + ", which lack no fewer";
  return text + "\n";
}

std::string explainNoUnit(const Kernel &kernel, const Op &dot, const machine::Machine &machine,
                          llvm::ArrayRef<Candidate> candidates) {
  return nameOf(dot) + ": multiply-adds; " + whyNoUnit(kernel, dot, machine, candidates) + "\n";
}

} // namespace imbrex::passes::units

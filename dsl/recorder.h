#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <imbrex/detail/recorder.hpp>
#include <imbrex/error.hpp>

#include <optional>
#include <vector>

namespace imbrex::dsl {

/// One trace: the IR so far and the bodies that are open.
///
/// A variable's read is not recorded where C++ happens to evaluate it, because compilers differ in
/// that. Inside a block the value last written is known and stands for the read. Where it is not
/// known (the block has just begun, or a nested body may have written it) one var.read is put at
/// the beginning of that stretch, in the order of the variables' numbers:
///
///   var v = x;           %v = var.new %x
///   for (auto k : …)     for … {
///     v += k;              %r = var.read %v      <- the stretch begins with the body
///                          %s = add %r, %k
///                          var.write %v, %s
///     y = v;               …                     <- %s
class Recorder {
public:
  Recorder(std::string name, const ir::KernelAttrs &attributes);

  bool contracts() const { return kernel_.attributes().contract == ir::Contraction::On; }
  std::uint32_t generation() const { return generation_; }

  ir::ValueId addParameter(std::string name, const ir::Type &type);
  /// The value behind a handle; throws when it is not of this trace or not visible here.
  ir::ValueId use(detail::value handle, Location where);
  /// Whether the body that made the value is still open.
  bool isVisible(detail::value handle) const;
  ir::Op &record(ir::OpKind kind, llvm::ArrayRef<ir::ValueId> operands,
                 llvm::ArrayRef<ir::Type> results, ir::Attributes attributes, Location where);
  detail::value handle(ir::ValueId value) const { return {value.index(), generation_}; }

  void beginBody(ir::Op &op);
  ir::ValueId bodyArgument(const ir::Type &type);
  void endBody(llvm::ArrayRef<ir::ValueId> yielded, Location where);
  ir::Op &endCombine(llvm::ArrayRef<ir::ValueId> yielded, llvm::ArrayRef<ir::Type> types,
                     Location where);
  void beginElse();
  void placeBody(Location where) { body().place = where; }
  Location placeOfBody() { return body().place; }
  bool insideLoop() const;
  bool insideBody() const { return bodies_.size() > 1; }
  const ir::Kernel &kernel() const { return kernel_; }

  ir::ValueId newVariable(ir::ValueId first, const ir::Type &held, Location where);
  ir::ValueId readVariable(ir::ValueId variable, const ir::Type &held);
  void writeVariable(ir::ValueId variable, ir::ValueId next, Location where);

  void discardIfUnused(ir::ValueId read) { discardable_.insert(read.index()); }
  /// The line of a read by a box of elsewhere: unknown until the first use of what was read.
  void placeAtFirstUse(ir::ValueId read) { unplaced_.insert(read.index()); }
  void placeIfUnplaced(ir::ValueId read, Location where);
  /// Remember a mistake found where nothing can be thrown.
  void noteMistake(Diagnostic mistake);
  const std::optional<Diagnostic> &mistake() const { return mistake_; }
  std::int32_t &openEffects() { return openEffects_; }

  /// The kernel, its ops in canonical order. The recorder is spent.
  ir::Kernel finish();

private:
  struct Body {
    Body(std::uint32_t number, ir::Op *owner, ir::Block *into)
        : id(number), op(owner), block(into) {}
    std::uint32_t id;
    ir::Op *op;              // null: the kernel's own
    ir::Block *block;        // ops of `op`'s last region, or of the kernel
    std::size_t stretch = 0; // index of the op where the present stretch begins
    std::vector<std::uint32_t> stretchReads;
    llvm::DenseMap<std::uint32_t, ir::ValueId> known;
    llvm::DenseSet<std::uint32_t> written;
    Location place; // of an else, whose if is where the scope began
  };

  Body &body() { return bodies_.back(); }
  void open(ir::Op &op);
  void close();
  void adopt(ir::ValueId value);
  void checkCombine(const ir::Block &block) const;

  ir::Kernel kernel_;
  std::uint32_t generation_;
  std::uint32_t nextBody_ = 0;
  std::int32_t openEffects_ = 0;
  std::vector<Body> bodies_;
  std::vector<std::uint32_t> bodyOf_; // by value
  llvm::DenseSet<std::uint32_t> discardable_;
  llvm::DenseSet<std::uint32_t> unplaced_; // reads whose line is that of their box
  std::optional<Diagnostic> mistake_;
};

/// The IR's type for one that the typed surface describes.
ir::Type typeOf(const detail::type &described);

/// The trace of this thread; null outside of a kernel.
Recorder *currentRecorder();
void setCurrentRecorder(Recorder *recorder);

/// A diagnostic as the error of the public surface, and thrown.
error toError(const Diagnostic &diagnostic);
[[noreturn]] void throwError(const Diagnostic &diagnostic);

template <class... Args>
[[noreturn]] void throwDiagnostic(Diag kind, Location where, const Args &...arguments) {
  throwError(diagnostic(kind, where, arguments...));
}

} // namespace imbrex::dsl

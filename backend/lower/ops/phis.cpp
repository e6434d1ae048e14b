#include "backend/lower/ops/phis.h"

#include "backend/lower/emitter.h"

namespace imbrex::lower {

using ir::ValueId;
using llvm::Value;

namespace {

/// Elements that go into a register together.
std::size_t elementsTogether(const Emitter &e, ValueId value) {
  constexpr std::int64_t kRegisterBits = 32;
  if (!e.stagedTiles.contains(value) || e.type(value).isPointerTile()) return 1;
  const std::int64_t bits = ir::info(e.type(value).element()).bits; // a bool is one in a register
  if (bits != 8 && bits != 16) return 1;
  const auto together = static_cast<std::size_t>(kRegisterBits / bits);
  return e.registerCount(value) % together == 0 ? together : 1;
}

Value *together(llvm::IRBuilder<> &b, llvm::ArrayRef<Value *> elements) {
  return b.CreateBitCast(vectorOf(b, elements), b.getInt32Ty());
}

} // namespace

Phis newPhis(Emitter &e, llvm::ArrayRef<ValueId> like) {
  Phis phis;
  for (const ValueId value : like) {
    auto &registers = phis.emplace_back();
    const std::size_t elements = elementsTogether(e, value);
    llvm::Type *const of = elements == 1 ? e.laneType(e.type(value)) : e.b.getInt32Ty();
    for (std::size_t r = 0; r < e.registerCount(value) / elements; ++r)
      registers.push_back(e.b.CreatePHI(of, 2));
  }
  return phis;
}

void addIncoming(const Phis &phis, const Incoming &incoming) {
  llvm::IRBuilder<> end(incoming.from);
  if (llvm::Instruction *last = incoming.from->getTerminator()) end.SetInsertPoint(last);
  for (std::size_t i = 0; i < phis.size(); ++i) {
    llvm::ArrayRef<Value *> values = incoming.values[i];
    const std::size_t elements = phis[i].empty() ? 1 : values.size() / phis[i].size();
    for (llvm::PHINode *const phi : phis[i]) {
      phi->addIncoming(elements == 1 ? values[0] : together(end, values.take_front(elements)),
                       incoming.from);
      values = values.drop_front(elements);
    }
  }
}

void definePhis(Emitter &e, llvm::ArrayRef<ValueId> values, const Phis &phis) {
  for (std::size_t i = 0; i < phis.size(); ++i) {
    const std::size_t elements = elementsTogether(e, values[i]);
    if (elements == 1) {
      e.define(values[i], Registers(phis[i].begin(), phis[i].end()));
      continue;
    }
    auto *const vector =
        llvm::FixedVectorType::get(e.laneType(e.type(values[i])), static_cast<unsigned>(elements));
    Registers registers;
    for (llvm::PHINode *const phi : phis[i]) {
      Value *const all = e.b.CreateBitCast(phi, vector);
      for (std::size_t element = 0; element < elements; ++element)
        registers.push_back(e.b.CreateExtractElement(all, element));
    }
    e.define(values[i], std::move(registers));
  }
}

Incoming incomingFrom(const Emitter &e, llvm::BasicBlock *block, llvm::ArrayRef<ValueId> values) {
  Incoming incoming{.from = block, .values = {}};
  for (const ValueId value : values) incoming.values.push_back(e.registers(value));
  return incoming;
}

} // namespace imbrex::lower

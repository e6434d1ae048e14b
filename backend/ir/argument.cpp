#include "backend/ir/argument.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <utility>

namespace imbrex::ir {
namespace {

bool isOfUnknownSize(const Argument &memory) { return memory.bytes == Argument::kUnknownSize; }

bool areTwoApart(const Argument &a, const Argument &b) {
  if (isOfUnknownSize(a) || isOfUnknownSize(b)) return false;
  return a.data + a.bytes <= b.data || b.data + b.bytes <= a.data;
}

using Pieces = llvm::SmallVector<const Argument *, 8>;

/// By where they begin, the largest first of those that begin together.
Pieces inOrder(llvm::ArrayRef<Argument> memory) {
  Pieces pieces;
  for (const Argument &piece : memory)
    if (piece.bytes > 0) pieces.push_back(&piece);
  llvm::sort(pieces, [](const Argument *a, const Argument *b) {
    return a->data != b->data ? a->data < b->data : a->bytes > b->bytes;
  });
  return pieces;
}

} // namespace

PointerTable::PointerTable(std::vector<Argument> pointees) : pointees_(std::move(pointees)) {
  for (const Argument &pointee : pointees_)
    addresses_.push_back(reinterpret_cast<std::uintptr_t>(pointee.data));
  addresses_.push_back(0);
}

Argument PointerTable::argument() const {
  Argument argument;
  // Nobody writes there; an argument's type has no other way to lead to what is only read.
  argument.data = reinterpret_cast<std::byte *>(const_cast<std::uint64_t *>(addresses_.data()));
  argument.bytes = static_cast<std::int64_t>(addresses_.size() * sizeof(std::uint64_t));
  argument.extents[0] = static_cast<std::int64_t>(pointees_.size());
  argument.pointees = pointees_;
  return argument;
}

bool areApart(llvm::ArrayRef<Argument> a, llvm::ArrayRef<Argument> b) {
  // Each launch asks this of each two of its arrays, which are seldom tables.
  if (a.size() == 1 && b.size() == 1) return areTwoApart(a.front(), b.front());
  if (llvm::any_of(a, isOfUnknownSize) || llvm::any_of(b, isOfUnknownSize)) return false;
  // Both in the order of addresses: a piece must begin behind all of the other's before it.
  const Pieces ofA = inOrder(a), ofB = inOrder(b);
  const std::byte *endOfA = nullptr, *endOfB = nullptr;
  for (std::size_t i = 0, j = 0; i < ofA.size() || j < ofB.size();) {
    const bool takesA = j == ofB.size() || (i < ofA.size() && ofA[i]->data <= ofB[j]->data);
    const Argument &piece = takesA ? *ofA[i++] : *ofB[j++];
    if (piece.data < (takesA ? endOfB : endOfA)) return false;
    const std::byte *&end = takesA ? endOfA : endOfB;
    end = std::max(end, static_cast<const std::byte *>(piece.data + piece.bytes));
  }
  return true;
}

} // namespace imbrex::ir

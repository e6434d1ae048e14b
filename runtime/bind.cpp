#include "runtime/bind.h"

#include "runtime/devices.h"
#include "runtime/dlpack.h"
#include "runtime/layout.h"

#include <bit>
#include <limits>

namespace imbrex::runtime {
namespace {

using detail::launch_argument;

/// An argument and the parameter that it is for.
struct BoundPair {
  const Parameter &parameter;
  const launch_argument &given;
  Location where;

  const ir::Type &type() const { return parameter.type; }
  Subject subject() const { return {parameter.name}; }
};

std::optional<Diagnostic> bindGrid(const imbrex::grid &blocks, Location where, ir::Grid &grid) {
  constexpr std::array<char, 3> kAxes{'x', 'y', 'z'};
  std::int64_t product = 1;
  bool tooMany = false, empty = false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = blocks.extents()[axis];
    if (extent < 0) return diagnostic(Diag::NegativeGrid, where, kAxes[axis], extent);
    if (extent > std::numeric_limits<std::int32_t>::max())
      return diagnostic(Diag::GridTooLarge, where, kAxes[axis], extent);
    grid.extents[axis] = static_cast<std::int32_t>(extent);
    empty |= extent == 0;
    tooMany |= __builtin_mul_overflow(product, extent, &product);
  }
  if (tooMany && !empty) return diagnostic(Diag::TooManyBlocks, where);
  if (empty) grid.extents = {0, 1, 1};
  return std::nullopt;
}

std::optional<Diagnostic> checkView(const BoundPair &pair) {
  const detail::layout &layout = pair.given.layout;
  if (layout.rank != pair.type().rank())
    return diagnostic(Diag::WrongViewRank, pair.where, pair.parameter.name, pair.type().rank(),
                      layout.rank);
  if (auto wrong = checkLayout(layout, pair.subject(), pair.where)) return wrong;
  if (pair.given.bytes == detail::unknown_bytes) return std::nullopt;
  return checkReach(layout, ir::storageBits(pair.type().element()), pair.given.bytes,
                    pair.subject(), pair.where);
}

/// The fewest bytes that the kernel may expect at the argument's address.
bool isEmpty(const BoundPair &pair) {
  if (pair.type().isView()) return elementsSpanned(pair.given.layout) == 0;
  return pair.given.bytes == 0;
}

std::optional<Diagnostic> checkAddress(const BoundPair &pair) {
  const auto address = std::bit_cast<std::uintptr_t>(pair.given.data);
  if (address == 0 && !isEmpty(pair))
    return diagnostic(Diag::NullPointer, pair.where, pair.parameter.name);
  const auto unit =
      static_cast<std::uintptr_t>(std::max(ir::storageBits(pair.type().element()), 8) / 8);
  if (address % unit != 0)
    return diagnostic(Diag::MisalignedArgument, pair.where, pair.parameter.name, unit);
  return std::nullopt;
}

std::optional<Diagnostic> bindArray(const BoundPair &pair, ir::Argument &argument) {
  const detail::layout &layout = pair.given.layout;
  // Of a bare pointer nobody knows the bytes.
  if (layout.rank == 0 && pair.given.data == nullptr && pair.given.bytes == 0)
    return diagnostic(Diag::BufferWithoutMemory, pair.where, pair.parameter.name);
  if (pair.type().isView()) {
    if (auto wrong = checkView(pair)) return wrong;
  } else if (auto wrong = checkLayout(layout, pair.subject(), pair.where)) {
    return wrong;
  }
  if (auto wrong = checkAddress(pair)) return wrong;
  argument.data = static_cast<std::byte *>(const_cast<void *>(pair.given.data));
  argument.bytes = pair.given.bytes;
  // What an array with extents reaches is known even where the memory behind it is not.
  if (layout.rank > 0 && argument.bytes == detail::unknown_bytes)
    argument.bytes = bytesSpanned(layout, ir::storageBits(pair.type().element()));
  argument.extents = layout.extents;
  argument.strides = layout.strides;
  return std::nullopt;
}

/// Who checks reads of bytes that nobody set gets their flags; after anybody else may have written
/// them, all count as set.
void watchBlock(const BoundPair &pair, device on, ir::Argument &argument) {
  if (pair.given.block == nullptr) return;
  if (info(infoOf(on).kind).watchesMemory)
    argument.unwritten = pair.given.block->unwritten();
  else if (!pair.type().isConst())
    pair.given.block->touch();
}

template <class Tensor>
std::optional<Diagnostic> bindDlpack(const BoundPair &pair, device on, ir::Argument &argument) {
  const auto &tensor = *static_cast<const Tensor *>(pair.given.data);
  auto array = fromDlpack(tensor, pair.parameter, on, pair.where);
  if (!array) return array.error();
  return bindArray({pair.parameter, *array, pair.where}, argument);
}

std::optional<Diagnostic> bindOne(const BoundPair &pair, device on, ir::Argument &argument) {
  switch (pair.given.kind) {
  case launch_argument::form::scalar: argument.scalar = pair.given.scalar; return std::nullopt;
  case launch_argument::form::too_large: {
    const std::string number = pair.given.is_signed
                                   ? imbrex::toText(static_cast<std::int64_t>(pair.given.scalar))
                                   : imbrex::toText(pair.given.scalar);
    return diagnostic(Diag::ScalarTooLarge, pair.where, pair.parameter.name, number,
                      ir::info(pair.type().element()).name);
  }
  case launch_argument::form::too_large_float:
    return diagnostic(Diag::ScalarTooLarge, pair.where, pair.parameter.name,
                      imbrex::toText(std::bit_cast<double>(pair.given.scalar)),
                      ir::info(pair.type().element()).name);
  case launch_argument::form::array:
    if (pair.given.in && *pair.given.in != on)
      return diagnostic(Diag::WrongDeviceMemory, pair.where, pair.parameter.name,
                        pair.given.in->name(), on.name());
    argument.isInPlace = pair.given.in.has_value();
    watchBlock(pair, on, argument);
    return bindArray(pair, argument);
  case launch_argument::form::dlpack: return bindDlpack<dlpack::tensor>(pair, on, argument);
  case launch_argument::form::versioned_dlpack:
    return bindDlpack<dlpack::managed_tensor_versioned>(pair, on, argument);
  case launch_argument::form::table: break; // bindTable
  }
  IMBREX_UNREACHABLE("form of argument");
}

/// Each pointer leads where one of the kernel's own would.
std::optional<Diagnostic> bindTable(const BoundPair &pair, device on, ir::PointerTable &table) {
  const ir::Type pointer = ir::Type::pointerTile(pair.type().element(), {}, pair.type().isConst());
  Parameter parameter{.name = pair.parameter.name, .type = pointer};
  const auto &given = pair.given.pointees;
  std::vector<ir::Argument> pointees(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const BoundPair one{parameter, given[i], pair.where};
    if (!bindOne(one, on, pointees[i])) continue;
    parameter.name += "[" + std::to_string(i) + "]"; // once more, to name it in the error
    return bindOne(one, on, pointees[i]);
  }
  table = ir::PointerTable(std::move(pointees));
  return std::nullopt;
}

} // namespace

Parameters parametersOf(const ir::Kernel &kernel) {
  Parameters parameters;
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i)
    parameters.push_back({kernel.parameterName(i), kernel.parameterType(i)});
  return parameters;
}

std::optional<Diagnostic> BoundLaunch::bind(const imbrex::grid &blocks, Location where) {
  return bindGrid(blocks, where, grid_);
}

std::optional<Diagnostic> BoundLaunch::bind(const LaunchContext &context,
                                            detail::list<launch_argument> arguments) {
  IMBREX_CHECK(arguments.size() == context.parameters.size(),
               "the launcher's type has {0} "
               "parameters, its kernel {1}",
               arguments.size(), context.parameters.size());
  arguments_.resize(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const BoundPair pair{context.parameters[i], arguments[i], context.where};
    if (arguments[i].kind != launch_argument::form::table) {
      if (auto wrong = bindOne(pair, context.on, arguments_[i])) return wrong;
      continue;
    }
    ir::PointerTable &table = tables_.emplace_back();
    if (auto wrong = bindTable(pair, context.on, table)) return wrong;
    arguments_[i] = table.argument();
  }
  return std::nullopt;
}

} // namespace imbrex::runtime

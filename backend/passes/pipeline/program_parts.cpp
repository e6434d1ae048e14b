#include "backend/passes/pipeline/program_parts.h"

#include "backend/ir/ring_bytes.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <string_view>

namespace imbrex::passes::pipeline {

using namespace ir;
using schedule::CursorId;

schedule::RingId ProgramParts::addSlots(const Op &op, std::string name, std::int32_t slots) {
  auto &rings = read_.program.rings;
  const schedule::RingId ring(static_cast<std::uint32_t>(rings.size()));
  rings.push_back({.name = std::move(name), .depth = slots});
  slots_[op.result()] = ring;
  return ring;
}

void ProgramParts::addRing(const Op &op) {
  auto &buffers = read_.program.buffers;
  const std::string name = "ring" + std::to_string(buffers_.size());
  const schedule::RingId ring = addSlots(op, name, op.attrs<RingAttrs>().slots);
  buffers_[op.result()] = schedule::BufferId(static_cast<std::uint32_t>(buffers.size()));
  read_.rings.push_back(op.result());
  buffers.push_back({.name = name + ".tile",
                     .ring = ring,
                     .bytes = slotBytes(kernel_, op.result()),
                     .parts = kAgents});
}

// Two agents stand for all warps that arrive, so that what a phase wants beyond or less than these,
// it wants of the two.
bool ProgramParts::addBarriers(const Op &op) {
  auto &barriers = read_.program.barriers;
  const auto &attrs = op.attrs<BarrierAttrs>();
  const std::string name = "barriers" + std::to_string(barriers_.size());
  const schedule::RingId ring = addSlots(op, name, attrs.slots);
  std::int32_t arrivals = attrs.arrivals;
  const auto arrives = [&](const Op &one) {
    return one.kind == OpKind::BarrierArrive && one.operand(0) == op.result();
  };
  if (firstOp(kernel_.body(), arrives)) arrivals += kAgents - kernel_.threads().warps;
  barriers_[op.result()] = schedule::BarrierId(static_cast<std::uint32_t>(barriers.size()));
  read_.barriers.push_back(op.result());
  barriers.push_back({.name = name + ".phase", .ring = ring, .arrivals = arrivals});
  return arrivals > 0;
}

CursorId ProgramParts::cursor(ValueId of, Walks walks) {
  constexpr std::array<std::string_view, 4> kNames{".filled", ".taken", ".arrives", ".awaits"};
  schedule::Program &program = read_.program;
  const auto [at, isNew] = cursors_.try_emplace(
      {role_, of, walks}, CursorId(static_cast<std::uint32_t>(program.cursors.size())));
  const schedule::RingId ring = slots_.at(of);
  if (isNew)
    program.cursors.push_back(
        {.name = (role_.index() > 0 ? program.roles[role_.index()].name + "." : "") +
                 program[ring].name + std::string(kNames.at(static_cast<std::size_t>(walks))),
         .role = role_,
         .ring = ring});
  return at->second;
}

schedule::QueueId ProgramParts::queue(QueueOf what) {
  constexpr std::array<std::string_view, 3> kNames{"copies", "fragments", "loads"};
  auto &queues = read_.program.queues;
  const auto number = static_cast<std::size_t>(what);
  schedule::QueueId &queue = queues_.at(number);
  if (queue.valid()) return queue;
  queue = schedule::QueueId(static_cast<std::uint32_t>(queues.size()));
  std::string name(kNames.at(number));
  if (llvm::any_of(queues, [&](const auto &other) { return other.name == name; }))
    name += std::to_string(queue.index());
  queues.push_back({.name = std::move(name), .role = role_, .grouped = true, .capacity = 0});
  return queue;
}

} // namespace imbrex::passes::pipeline

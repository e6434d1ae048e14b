#include "backend/schedule/timeline/simulation.h"

// What goes on by itself, and the barriers that it ends at.
namespace imbrex::schedule::timeline {

void Simulation::send(RoleId role, const Op &op) {
  const std::int32_t span = add(spanOf(Span::Kind::Flight, role, op));
  if (op.kind == OpKind::Copy) return takeOff(span);
  QueueRun &queue = queues_[op.queue.index()];
  queue.flights.push_back(span);
  if (!program_[op.queue].grouped) close(queue, op.count);
  const auto before = static_cast<std::int32_t>(queue.flights.size()) - 1;
  if (!program_[op.queue].serial || queue.ended == before) takeOff(span);
}

/// It asks for its resource now.
void Simulation::takeOff(std::int32_t number) {
  Span &span = out_.spans[static_cast<std::size_t>(number)];
  const Op &op = *span.op;
  span.resource = resourceOf(op.cost);
  if (now_ > span.issued) { // behind another of a serial queue
    const QueueRun &queue = queues_[op.queue.index()];
    span.cause = queue.flights[static_cast<std::size_t>(queue.ended - 1)];
  }
  span.start = freeFrom(span.resource);
  if (span.start > now_) span.cause = resources_[static_cast<std::size_t>(span.resource)].holder;
  span.end = span.start + op.cost.cycles;
  take(span.resource, span.start, op.cost, number);
  if (op.kind == OpKind::Issue) {
    QueueRun &queue = queues_[op.queue.index()];
    if (queue.started > 0) {
      const std::int32_t before = queue.flights[static_cast<std::size_t>(queue.started - 1)];
      const std::int64_t end = out_.spans[static_cast<std::size_t>(before)].end;
      if (end > span.end) {
        span.end = end;
        span.cause = before;
      }
    }
    ++queue.started;
  }
  push({.time = span.end, .wakes = false, .number = eventsMade_++, .span = number});
}

void Simulation::land(std::int32_t number) {
  const Span &span = out_.spans[static_cast<std::size_t>(number)];
  const Op &op = *span.op;
  if (op.kind == OpKind::Issue) return endOfQueue(op.queue, number);
  const std::int64_t use = op.index.cursor.valid() ? span.use : 0;
  count(model_.slotOf(op.barrier, use), 0, 0, op.bytes * warps(span.role), number);
}

void Simulation::endOfQueue(QueueId id, std::int32_t span) {
  QueueRun &queue = queues_[id.index()];
  ++queue.ended;
  while (!queue.open.empty() && queue.open.front().second <= queue.ended) {
    queue.entriesDone = queue.open.front().first;
    queue.open.pop_front();
  }
  while (!queue.signals.empty() && queue.signals.front().flights <= queue.ended) {
    const Signal signal = queue.signals.front();
    queue.signals.pop_front();
    count(signal.slot, signal.arrivals, 0, 0, span);
  }
  if (program_[id].serial && queue.started < static_cast<std::int32_t>(queue.flights.size()))
    takeOff(queue.flights[static_cast<std::size_t>(queue.started)]);
}

/// Entries of one operation are done together.
void Simulation::close(QueueRun &queue, std::int32_t entries) {
  queue.entries += entries;
  const auto flights = static_cast<std::int32_t>(queue.flights.size());
  if (queue.ended == flights)
    queue.entriesDone = queue.entries;
  else
    queue.open.emplace_back(queue.entries, flights);
}

void Simulation::signal(RoleId role, const Op &op, std::int32_t span) {
  QueueRun &queue = queues_[op.queue.index()];
  const auto arrivals = static_cast<std::int32_t>(op.count * warps(role));
  const auto flights = static_cast<std::int32_t>(queue.flights.size());
  if (queue.ended == flights) return count(slotOf(op), arrivals, 0, 0, span);
  queue.signals.push_back({.flights = flights, .slot = slotOf(op), .arrivals = arrivals});
}

/// A phase of a barrier is over when all have arrived and all bytes have landed.
void Simulation::count(std::int32_t slot, std::int64_t arrivals, std::int64_t expected,
                       std::int64_t landed, std::int32_t cause) {
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  run.missing -= arrivals;
  run.expected += expected;
  run.landed += landed;
  const Barrier &barrier = program_[model_.barrierOf(slot)];
  if (run.missing < 0 || (run.missing == 0 && run.landed > run.expected))
    return failOverfull(*out_.spans[static_cast<std::size_t>(cause)].op, "barrier", barrier.name);
  if (run.missing > 0 || run.landed < run.expected) return;
  run = {.phase = run.phase + 1, .missing = barrier.arrivals, .cause = cause};
}

} // namespace imbrex::schedule::timeline

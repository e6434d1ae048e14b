#include "backend/schedule/timeline/simulation.h"

// What goes on by itself, and the barriers that it ends at.
namespace imbrex::schedule::timeline {

void Simulation::send(RoleId role, const ScheduleOp &op) {
  const InFlightOp flight = {.role = role,
                             .op = &op,
                             .use = useOf(op.index),
                             .issued = now_,
                             .span = add(spanOf(TimelineSpan::Kind::Flight, role, op))};
  auto number = static_cast<std::int32_t>(flights_.size());
  if (freeFlights_.empty()) {
    flights_.push_back(flight);
  } else {
    number = freeFlights_.back();
    freeFlights_.pop_back();
    flights_[static_cast<std::size_t>(number)] = flight;
  }
  if (op.kind == ScheduleOpKind::Copy) return takeOff(number);
  QueueRun &queue = queues_[op.queue.index()];
  queue.flights.push_back(number);
  ++queue.issued;
  if (!program_[op.queue].grouped) close(queue, op.count);
  if (!program_[op.queue].serial || queue.flights.size() == 1) takeOff(number);
}

/// It asks for its resource now.
void Simulation::takeOff(std::int32_t number) {
  InFlightOp &flight = flights_[static_cast<std::size_t>(number)];
  const ScheduleOp &op = *flight.op;
  QueueRun *const queue = op.kind == ScheduleOpKind::Issue ? &queues_[op.queue.index()] : nullptr;
  const std::int32_t resource = resourceOf(op);
  std::int32_t cause = kNoSpan;                       // another one than that of its issue
  if (now_ > flight.issued) cause = queue->lastEnded; // behind another of a serial queue
  const std::int64_t start = freeFrom(resource);
  if (start > now_) cause = resources_[static_cast<std::size_t>(resource)].holder;
  flight.end = start + op.cost.cycles;
  take(resource, start, op.cost, flight.span);
  if (queue) {
    if (queue->started > 0 && queue->lastEnd > flight.end) {
      flight.end = queue->lastEnd;
      cause = queue->lastStarted;
    }
    queue->lastEnd = flight.end;
    queue->lastStarted = flight.span;
    ++queue->started;
  }
  if (TimelineSpan *const span = kept(flight.span)) {
    span->resource = resource;
    span->start = start;
    span->end = flight.end;
    if (cause != kNoSpan) span->cause = cause;
  }
  push({.time = flight.end, .wakes = false, .number = eventsMade_++, .which = number});
}

void Simulation::land(std::int32_t number) {
  const InFlightOp flight = flights_[static_cast<std::size_t>(number)];
  freeFlights_.push_back(number);
  const ScheduleOp &op = *flight.op;
  if (op.kind == ScheduleOpKind::Issue) return endOfQueue(op.queue, flight);
  count(op.barrier, flight.use,
        {.op = &op, .span = flight.span, .landed = op.bytes * warps(flight.role)});
}

void Simulation::endOfQueue(QueueId id, const InFlightOp &flight) {
  QueueRun &queue = queues_[id.index()];
  ++queue.ended;
  queue.flights.pop_front();
  queue.lastEnded = flight.span;
  while (!queue.open.empty() && queue.open.front().second <= queue.ended) {
    queue.entriesDone = queue.open.front().first;
    queue.open.pop_front();
  }
  while (!queue.signals.empty() && queue.signals.front().flights <= queue.ended) {
    const Signal signal = queue.signals.front();
    queue.signals.pop_front();
    count(signal.barrier, signal.use,
          {.op = flight.op, .span = flight.span, .arrivals = signal.arrivals});
  }
  if (program_[id].serial && !queue.flights.empty()) takeOff(queue.flights.front());
}

/// Entries of one operation are done together.
void Simulation::close(QueueRun &queue, std::int32_t entries) {
  queue.entries += entries;
  if (queue.flights.empty())
    queue.entriesDone = queue.entries;
  else
    queue.open.emplace_back(queue.entries, queue.issued);
}

void Simulation::signal(RoleId role, const ScheduleOp &op, std::int32_t span) {
  QueueRun &queue = queues_[op.queue.index()];
  const std::int64_t arrivals = op.count * warps(role), use = useOf(op.index);
  if (queue.flights.empty())
    return count(op.barrier, use, {.op = &op, .span = span, .arrivals = arrivals});
  queue.signals.push_back(
      {.flights = queue.issued, .barrier = op.barrier, .use = use, .arrivals = arrivals});
}

/// A phase of a barrier is over when all have arrived and all bytes have landed.
void Simulation::count(BarrierId id, std::int64_t use, const Arrival &arrival) {
  SlotRun &run = slotAt(id, use);
  run.missing -= arrival.arrivals;
  run.expected += arrival.expected;
  run.landed += arrival.landed;
  const Barrier &barrier = program_[id];
  if (run.missing < 0 || (run.missing == 0 && run.landed > run.expected))
    return failOverfull(*arrival.op, "barrier", barrier.name);
  const std::int32_t depth = program_.depthOf(barrier.ring);
  const std::int64_t now = run.phase * depth + check::slotOfUse(use, depth);
  BarrierRun &all = barriers_[id.index()];
  all.touched = std::max(all.touched, now + 1);
  if (run.missing > 0 || run.landed < run.expected) return;
  run = {.phase = run.phase + 1, .missing = barrier.arrivals, .cause = arrival.span};
  while (slotAt(id, all.over).phase > all.over / depth) ++all.over;
}

} // namespace imbrex::schedule::timeline

#include "runtime/aot/perform.h"

#include <chrono>
#include <new>

/// Streams, and events in them. On the host all that was launched has ended: there an event is a
/// time.
namespace imbrex::aot {
namespace {

using driver::Gpu;
using Clock = std::chrono::steady_clock;

Clock::time_point &timeOf(const imbrex_event &event) {
  return *static_cast<Clock::time_point *>(event.handle);
}

/// The default stream of its device.
imbrex_stream deviceOf(const imbrex_event &event) {
  return {.device = event.device, .number = event.number, .handle = nullptr};
}

int check(const imbrex_event *event) {
  return event != nullptr && event->handle != nullptr
             ? IMBREX_OK
             : fail(IMBREX_BAD_ARGUMENT, "there is no event");
}

/// An error where a stream, or another event, is of another device.
template <class Other>
int checkDevice(const imbrex_event &event, const Other &other) {
  if (event.device == other.device && event.number == other.number) return IMBREX_OK;
  return fail(IMBREX_BAD_ARGUMENT, "an event of one device is used with another's");
}

/// Of an event, as `perform` of a stream.
template <class OnGpu, class OnHost>
int performOn(const imbrex_event &event, const char *what, OnGpu onGpu, OnHost onHost) {
  const imbrex_stream device = deviceOf(event);
  return perform(&device, what, onGpu, onHost);
}

} // namespace
} // namespace imbrex::aot

using namespace imbrex::aot;

int imbrex_stream_make(const imbrex_stream *on, imbrex_stream *made) {
  *made = imbrex_stream{};
  void *handle = nullptr;
  const int status =
      perform(on, "make a stream", [&](const Gpu &gpu) { return gpu.makeStream(handle); }, isDone);
  if (status == IMBREX_OK) *made = {.device = on->device, .number = on->number, .handle = handle};
  return status;
}

int imbrex_stream_destroy(const imbrex_stream *stream) {
  return perform(
      stream, "destroy a stream",
      [&](const Gpu &gpu) { return gpu.destroyStream(stream->handle), 0; }, isDone);
}

int imbrex_stream_synchronise(const imbrex_stream *stream) {
  return perform(
      stream, "finish what is in a stream",
      [&](const Gpu &gpu) { return gpu.await(stream->handle); }, isDone);
}

int imbrex_stream_wait(const imbrex_stream *stream, const imbrex_event *event) {
  if (const int status = check(event); status != IMBREX_OK) return status;
  if (stream != nullptr && stream->device == IMBREX_HOST) return imbrex_event_synchronise(event);
  if (event->device == IMBREX_HOST) return imbrex::aot::check(stream);
  if (stream != nullptr && stream->device != event->device)
    return fail(IMBREX_BAD_ARGUMENT, "a stream can't wait for another vendor's event");
  return perform(
      stream, "wait for an event",
      [&](const Gpu &gpu) { return gpu.letAwait(stream->handle, event->handle); }, isDone);
}

int imbrex_event_make(const imbrex_stream *on, imbrex_event *made) {
  *made = imbrex_event{};
  void *handle = nullptr;
  const int status = perform(
      on, "make an event", [&](const Gpu &gpu) { return gpu.makeEvent(handle, on->handle); },
      [&] { return (handle = new (std::nothrow) Clock::time_point()) != nullptr; });
  if (status == IMBREX_OK) *made = {.device = on->device, .number = on->number, .handle = handle};
  return status;
}

int imbrex_event_destroy(const imbrex_event *event) {
  if (const int status = check(event); status != IMBREX_OK) return status;
  return performOn(
      *event, "destroy an event",
      [&](const Gpu &gpu) { return gpu.destroyEvent(event->handle), 0; },
      [&] { return delete &timeOf(*event), true; });
}

int imbrex_event_record(const imbrex_event *event, const imbrex_stream *in) {
  if (const int status = check(event); status != IMBREX_OK) return status;
  if (const int status = imbrex::aot::check(in); status != IMBREX_OK) return status;
  if (const int status = checkDevice(*event, *in); status != IMBREX_OK) return status;
  return performOn(
      *event, "record an event",
      [&](const Gpu &gpu) { return gpu.recordEvent(event->handle, in->handle); },
      [&] { return timeOf(*event) = Clock::now(), true; });
}

int imbrex_event_synchronise(const imbrex_event *event) {
  if (const int status = check(event); status != IMBREX_OK) return status;
  return performOn(
      *event, "wait for an event", [&](const Gpu &gpu) { return gpu.awaitEvent(event->handle); },
      isDone);
}

int imbrex_event_milliseconds(const imbrex_event *first, const imbrex_event *last,
                              double *milliseconds) {
  *milliseconds = 0;
  for (const imbrex_event *event : {first, last})
    if (const int status = check(event); status != IMBREX_OK) return status;
  if (const int status = checkDevice(*first, *last); status != IMBREX_OK) return status;
  for (const imbrex_event *event : {first, last})
    if (const int status = imbrex_event_synchronise(event); status != IMBREX_OK) return status;
  return performOn(
      *first, "tell the time between two events",
      [&](const Gpu &gpu) {
        return gpu.millisecondsBetween(first->handle, last->handle, *milliseconds);
      },
      [&] {
        using Milliseconds = std::chrono::duration<double, std::milli>;
        *milliseconds = Milliseconds(timeOf(*last) - timeOf(*first)).count();
        return true;
      });
}

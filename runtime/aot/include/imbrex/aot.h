#ifndef IMBREX_AOT_H
#define IMBREX_AOT_H

/* What C programs, and other languages, need to launch kernels that were compiled ahead of time.
   The functions of a library of kernels are in the header that was made with it; they and those
   below that give an int give an imbrex_status, and imbrex_error_text says what was wrong. None of
   them throws or aborts, and nothing is printed but the log and what kernels print. Any number of
   threads may call them at once. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shared library that links these functions offers them, too. */
#pragma GCC visibility push(default)

typedef enum imbrex_status {
  IMBREX_OK = 0,
  IMBREX_BAD_ARGUMENT = 1, /* a null or misaligned address, a negative extent, a wrong device */
  IMBREX_NO_DEVICE = 2,    /* no driver, or no such device */
  IMBREX_NO_CODE = 3,      /* the library has no code that the device runs */
  IMBREX_REFUSED = 4,      /* the driver's own error */
  IMBREX_CAPTURED = 5,     /* a stream is being captured, and the kernel is not loaded, or prints */
  IMBREX_NO_MEMORY = 6,
  IMBREX_UNMET = 7,   /* what the kernel requires of its arguments */
  IMBREX_ASSERTED = 8 /* an assert of the kernel failed; what it stored before stays stored */
} imbrex_status;

/* What the last function that failed on this thread has to say; empty where none has. Good until
   the next one fails. */
const char *imbrex_error_text(void);

/* A line about what is loaded and launched, without a newline, as IMBREX_LOG asks for it (info, or
   warn,load:debug); the level is 1 for an error, 2 a warning, 3 information, 4 debugging. The texts
   are good during the call. It is called by any thread, but by one at a time, and calls nothing of
   imbrex itself. */
typedef void imbrex_log_receiver(int32_t level, const char *topic, const char *text, void *own);
/* Where such lines go instead of to stderr; null brings that back. `own` is handed to it. */
void imbrex_set_log_receiver(imbrex_log_receiver *receiver, void *own);

typedef enum imbrex_device { IMBREX_HOST = 0, IMBREX_CUDA = 1, IMBREX_HIP = 2 } imbrex_device;

/* A queue of a device. `handle` is the driver's: a CUstream or cudaStream_t, a hipStream_t; null is
   the device's default stream. On the host every launch has ended when it returns, and there are no
   handles. */
typedef struct imbrex_stream {
  int32_t device; /* an imbrex_device */
  int32_t number; /* of the device, its driver's; of the host any */
  void *handle;
} imbrex_stream;

/* A launch of a kernel of a library, as a hook sees it: when it begins, and when it is in its
   stream (on the host, and where the kernel prints or asserts: has ended) or was refused. The names
   are good during the call. */
typedef struct imbrex_launch {
  const char *kernel, *library;
  imbrex_stream on;
  int32_t status; /* IMBREX_BEGINS, then an imbrex_status */
} imbrex_launch;
enum { IMBREX_BEGINS = -1 };

/* Called around every launch in a stream that there may be, by the thread that makes it, by several
   at once; `own` is what it was set with. It may not launch anything. */
typedef void imbrex_launch_hook(const imbrex_launch *launch, void *own);
/* Have launches from now on seen by this hook, and by no other; null ends that. One that was set
   before may still be called by a thread that has just begun a launch. */
void imbrex_set_launch_hook(imbrex_launch_hook *hook, void *own);

/* The blocks of a launch. One without blocks does nothing. */
typedef struct imbrex_grid {
  int64_t x, y, z;
} imbrex_grid;

enum { IMBREX_MOST_AXES = 5 };

/* An array in the device's memory, for a parameter view<T, rank>: the last axis last. */
typedef struct imbrex_array {
  void *data;
  int64_t extents[IMBREX_MOST_AXES];
  int64_t strides[IMBREX_MOST_AXES]; /* in elements */
} imbrex_array;

/* Memory of the device, for a parameter ptr<T>. Where the bytes are not known, -1, the kernel may
   run more slowly: nobody knows then that two arguments do not overlap. */
typedef struct imbrex_memory {
  void *data;
  int64_t bytes;
} imbrex_memory;

/* Pointers to memory of the device, for a parameter table<T>: so many in the device's memory, and a
   null one behind them. What they lead to is not looked at. `promises` are kept by the caller, or
   results are wrong; without them the kernel may run more slowly. */
typedef struct imbrex_table {
  const void *pointers;
  int64_t count;
  int32_t promises;
} imbrex_table;
enum {
  IMBREX_ALIGNED = 1, /* each of them is a multiple of 16 bytes */
  IMBREX_APART = 2    /* memory of this table is that of another argument only where both read */
};

/* An array that another library hands over, in the layout of DLPack's DLTensor (dlpack.h, version
   1): `(const imbrex_dltensor *)&theirs`. What it says of its memory, elements and axes is checked
   against the kernel's parameter and the stream. */
typedef struct imbrex_dltensor {
  void *data;
  int32_t device_type; /* a DLDeviceType: 1 the host, 2 CUDA, 10 ROCm */
  int32_t device_id;
  int32_t ndim;
  uint8_t code, bits; /* of an element, a DLDataType */
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides; /* in elements; null: row by row */
  uint64_t byte_offset;
} imbrex_dltensor;

/* The default stream of the first GPU, NVIDIA's before AMD's, that is there; else the host. Where
   IMBREX_DEVICE is set, that device's: cuda:N, hip:N or host. */
imbrex_stream imbrex_best_stream(void);

/* A stream of one's own, on the device of `on`; the host's is the host. */
int imbrex_stream_make(const imbrex_stream *on, imbrex_stream *made);
int imbrex_stream_destroy(const imbrex_stream *stream);
/* Wait for all that is in a stream. The error of what broke down there comes out here. */
int imbrex_stream_synchronise(const imbrex_stream *stream);

/* A place in a stream: what others wait for, and when it was reached. Of the device of the stream
   that it was made on. */
typedef struct imbrex_event {
  int32_t device; /* an imbrex_device */
  int32_t number; /* of the device, its driver's; of the host any */
  void *handle;   /* the driver's: a CUevent or cudaEvent_t, a hipEvent_t; the host's our own */
} imbrex_event;

int imbrex_event_make(const imbrex_stream *on, imbrex_event *made);
int imbrex_event_destroy(const imbrex_event *event);
/* From now on it is behind all that is in the stream, of the same device. */
int imbrex_event_record(const imbrex_event *event, const imbrex_stream *in);
/* Wait until it is reached. */
int imbrex_event_synchronise(const imbrex_event *event);
/* How long after the first the last was reached, both recorded, of one device, by its clock. It
   waits for both. */
int imbrex_event_milliseconds(const imbrex_event *first, const imbrex_event *last,
                              double *milliseconds);
/* What is put into the stream from now on waits for the event, of any device of the same vendor or
   of the host. No thread waits, but who waits on the host's stream. */
int imbrex_stream_wait(const imbrex_stream *stream, const imbrex_event *event);

/* Memory of the stream's device, at a multiple of 256 bytes. It is taken in the stream's order,
   where the driver has pools for that: another stream waits for this one before it uses the memory.
   What is taken in the default stream is there for all. It is given back when all that is in the
   stream has ended. */
int imbrex_allocate(const imbrex_stream *stream, int64_t bytes, void **memory);
int imbrex_release(const imbrex_stream *stream, void *memory);
/* Between the process's memory and the device's, behind what is in the stream; done on return. */
int imbrex_copy_in(const imbrex_stream *stream, void *to, const void *from, int64_t bytes);
int imbrex_copy_out(const imbrex_stream *stream, void *to, const void *from, int64_t bytes);

/* Memory of the process that GPUs copy from and to while they and the processor do other work. It
   is of all GPUs of the stream's vendor, and of the host's ordinary memory. Nothing may still use
   it when it is released. */
int imbrex_allocate_pinned(const imbrex_stream *stream, int64_t bytes, void **memory);
int imbrex_release_pinned(const imbrex_stream *stream, void *memory);
/* The same copies, put into the stream and not waited for: the process's memory has to stay as it
   is until the stream has come so far. Where it is not pinned the driver may wait all the same. */
int imbrex_start_copy_in(const imbrex_stream *stream, void *to, const void *from, int64_t bytes);
int imbrex_start_copy_out(const imbrex_stream *stream, void *to, const void *from, int64_t bytes);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
